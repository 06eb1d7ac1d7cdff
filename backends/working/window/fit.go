// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// Fit returns messages with the core blocks, compacted if they do not fit. The messages
// passed are left as they are. When even the compacted ones do not fit it returns them
// with a compaction.OverError that says by how much.
//
// Without a scope that names a user or an agent there is no archive: then only what is
// derived is dropped. Core blocks that cannot be read are reported to Config.OnError, and
// left out or as they were.
func (w *Window) Fit(ctx context.Context, s backends.Scope, messages []*schema.Message) (*compaction.Result, error) {
	k, _, _ := session.KeyOf(s) // archives.Of has the error
	tag := k.Tag()
	r := &compaction.Request{Messages: own(w.withCore(ctx, s, messages), tag)}
	switch a, err := w.archives.Of(s); {
	case err == nil:
		r.Archive = &fitArchive{window: w, archive: a}
	case !errors.Is(err, backends.ErrNoScope):
		return nil, fmt.Errorf("fit: %w", err)
	}
	res, err := w.compactor.Compact(ctx, r)
	if res == nil {
		return nil, err
	}
	markSession(res.Messages, tag)
	for _, step := range res.Steps {
		if step.Err != nil {
			w.report(ctx, StageCompact, fmt.Errorf("step %s: %w", step.Step, step.Err))
		}
	}
	if res.Summary != nil {
		w.keep(ctx, s, res.Summary)
	}
	if w.cfg.OnFit != nil {
		if err := work.Catch("Config.OnFit", func() error { w.cfg.OnFit(ctx, s, res); return nil }); err != nil {
			w.report(ctx, StageCompact, err)
		}
	}
	return res, err
}

// keep stores a summary of the log's beginning with its session. The session may have
// been deleted meanwhile.
func (w *Window) keep(ctx context.Context, s backends.Scope, sum *compaction.Summary) {
	ctx, cancel := w.within(context.WithoutCancel(ctx)) // the model was paid for it
	defer cancel()
	err := work.Catch("Config.Redact", func() error {
		text := sum.Text
		if w.cfg.Redact != nil {
			text = w.cfg.Redact(text)
		}
		_, err := w.Sessions().KeepSummary(ctx, s, sum.Upto, text)
		return err
	})
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		w.report(ctx, StageSummary, err)
	}
}

// withCore returns messages with the core blocks as they are now, once, behind the leading
// system messages.
func (w *Window) withCore(ctx context.Context, s backends.Scope, messages []*schema.Message) []*schema.Message {
	if w.cfg.Core == nil || s.IsZero() {
		return messages
	}
	within, cancel := w.within(ctx)
	defer cancel()
	now, err := w.cfg.Core.Message(within, s)
	if err != nil {
		w.report(ctx, StageCompact, fmt.Errorf("core blocks: %w", err))
		return messages
	}
	out := slices.DeleteFunc(slices.Clone(messages), einox.IsCore)
	if now == nil {
		return out
	}
	at := 0
	for at < len(out) && out[at] != nil && out[at].Role == schema.System {
		at++
	}
	return slices.Insert(out, at, now)
}

func (w *Window) report(ctx context.Context, stage string, err error) {
	work.Report(ctx, w.cfg.OnError, stage, err)
}

// within returns ctx as one call of the store may use it.
func (w *Window) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.cfg.StoreTimeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, w.cfg.StoreTimeout)
}

// fitArchive is the archive of one call of Fit: a store that is unavailable delays it
// once, however many steps have something to archive.
type fitArchive struct {
	window      *Window
	archive     *archive.Archive
	unavailable atomic.Pointer[error] // nil as far as is known
}

// Put implements compaction.Archive.
func (f *fitArchive) Put(ctx context.Context, messages []*schema.Message) (ref string, err error) {
	if known := f.unavailable.Load(); known != nil {
		return "", *known
	}
	ctx, cancel := f.window.within(ctx)
	defer cancel()
	for range 2 { // one connection may have been cut
		err = work.Catch("archiving", func() error { ref, err = f.archive.Put(ctx, messages); return err })
		if !errors.Is(err, backends.ErrUnavailable) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		f.unavailable.Store(&err)
	}
	return ref, err
}

// Sequence numbers and references mean something in one session alone, and a caller may
// carry messages from one session to another. So every message that has one is marked with
// its session, and in another session it counts as what it says.

// markSession marks those of messages, a slice of the caller's own, that have a sequence
// number or a reference of the session.
func markSession(messages []*schema.Message, tag string) {
	for i, m := range messages {
		if einox.IsTied(m) && einox.SessionOf(m) == "" {
			messages[i] = einox.MarkSession(m, tag)
		}
	}
}

// own returns messages in which those of other sessions have no sequence number and no
// reference.
func own(messages []*schema.Message, tag string) []*schema.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		if foreign(m, tag) {
			out[i] = einox.Untie(m)
		}
	}
	return out
}

// foreign reports whether m is of another session.
func foreign(m *schema.Message, tag string) bool {
	s := einox.SessionOf(m)
	return s != "" && s != tag
}
