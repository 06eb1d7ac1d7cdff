// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
)

// Fit returns messages with the core blocks, compacted if they do not fit. The
// messages passed are left as they are. When even the compacted ones do not fit
// it returns them with a compaction.OverError that says by how much.
//
// Without a scope that names a user or an agent there is nowhere to keep what
// would leave: then only what is derived is dropped. A core block that cannot be read is reported, and left out
// or as it was.
func (w *Window) Fit(ctx context.Context, s backends.Scope, messages []*schema.Message) (*compaction.Result, error) {
	tag := session.Tag(s)
	r := &compaction.Request{Messages: untied(w.withCore(ctx, s, messages), tag)}
	switch a, err := w.archives.Of(s); {
	case err == nil:
		r.Archive = &patient{window: w, inner: a}
	case !errors.Is(err, backends.ErrNoScope):
		return nil, fmt.Errorf("fit: %w", err)
	}
	res, err := w.compactor.Compact(ctx, r)
	if res == nil {
		return nil, err
	}
	res.Messages = tagged(res.Messages, tag)
	for _, step := range res.Steps {
		if step.Err != nil {
			w.report(ctx, StageCompact, fmt.Errorf("step %s: %w", step.Step, step.Err))
		}
	}
	if res.Summary != nil {
		w.harmless(ctx, "Redact", func() { w.keep(ctx, s, res.Summary) })
	}
	w.harmless(ctx, "OnFit", func() { w.cfg.OnFit(ctx, s, res) })
	return res, err
}

// keep writes a summary of the log's beginning to its session. One that covers
// less than the session's is not needed.
func (w *Window) keep(ctx context.Context, s backends.Scope, sum *compaction.Summary) {
	ctx, cancel := w.within(context.WithoutCancel(ctx))
	defer cancel()
	text := sum.Text
	if w.cfg.Redact != nil {
		text = w.cfg.Redact(text)
	}
	_, err := w.sessions.KeepSummary(ctx, s, sum.Upto, text)
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		w.report(ctx, StageSummary, fmt.Errorf("keeping the summary up to message %d: %w", sum.Upto, err))
	}
}

// withCore returns messages with the core blocks as they are now behind the
// leading system messages.
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
	at := slices.IndexFunc(messages, einox.IsCore)
	if at >= 0 && now != nil && messages[at].Content == now.Content && !slices.ContainsFunc(messages[at+1:], einox.IsCore) {
		return messages
	}
	out := slices.DeleteFunc(slices.Clone(messages), einox.IsCore)
	if now == nil {
		return out
	}
	at = 0
	for at < len(out) && out[at] != nil && out[at].Role == schema.System {
		at++
	}
	return slices.Insert(out, at, now)
}

func (w *Window) report(ctx context.Context, stage string, err error) {
	slog.WarnContext(ctx, "memory: "+stage+" failed", "err", err)
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "memory: window: Config.OnError panicked", "panic", p)
		}
	}()
	w.cfg.OnError(ctx, stage, err)
}

// harmless keeps a panic of a function of the configuration from the caller, who
// would go on with a context that was not made to fit.
func (w *Window) harmless(ctx context.Context, name string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			w.report(ctx, StageCompact, fmt.Errorf("panic of Config.%s: %v", name, p))
		}
	}()
	f()
}
