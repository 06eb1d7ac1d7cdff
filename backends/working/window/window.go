// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Window]. It is copied by [New].
type Config struct {
	// Budget says how much a context may hold; its Window is required.
	Budget compaction.Budget
	// Sessions keeps the log and the archives. Required. The log must be the one that
	// turns are appended to.
	Sessions store.Sessions

	// Model writes summaries when the steps that cost nothing do not suffice. Optional.
	// Without it what does not fit is archived and named.
	Model model.BaseChatModel
	// Steps makes contexts smaller, in this order. Optional. Defaults to
	// compaction.Default(Model), or to compaction.Free() without a Model.
	Steps []compaction.Step
	// Trigger is the share of the budget above which the steps begin. Optional. Defaults
	// to 1: only what does not fit is compacted.
	Trigger float64

	// StoreTimeout is how long one call of the store may delay a context. After one that
	// took longer, or that found the store unavailable, nothing more is archived for this
	// context: it fits without, or is over budget. Optional. Defaults to 2s; below 0
	// without limit.
	StoreTimeout time.Duration

	// NoHistory leaves it to the caller to pass what was said before.
	NoHistory bool
	// HistoryTokens is how much of the log one reply loads, in tokens as they were
	// appended; the compaction makes room for it. A turn counts as a quarter of it at
	// most, so that a large one does not hide what was said before. Optional. Defaults to
	// four times the budget's limit: large outputs of tools shrink without a model.
	HistoryTokens int

	// Core has the blocks that are always shown. Optional.
	Core *core.Blocks
	// Redact changes texts before they are archived, and summaries before they are kept.
	// Optional. Give the log's. Defaults to redact.Text.
	Redact func(string) string
	// Language is that of placeholders and notices. Optional. LanguageAuto follows the
	// last user message.
	Language backends.Language
	// NoTools is for agents that do not have grep_working_memory and
	// read_working_memory: placeholders do not name them then.
	NoTools bool
	// Clock says how old an open turn is, and when a session expires. Optional. Defaults
	// to backends.SystemClock.
	Clock backends.Clock

	// OnFit gets every context that was fitted: how full it is, and what was done. It
	// must return quickly, and be safe for concurrent use. Optional.
	OnFit func(ctx context.Context, scope backends.Scope, r *compaction.Result)
	// OnError gets what failed while a context was made to fit all the same: a model, an
	// archive that could not be written, a summary that could not be kept. stage is one
	// of the Stage constants. Must be safe for concurrent use. Optional; log/slog's
	// default logger gets it in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// The stages that Config.OnError gets.
const (
	StageCompact = "compact" // a step of the compaction failed
	StageSummary = "summary" // a summary could not be kept with its session
)

func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Sessions == nil {
		return Config{}, fmt.Errorf("%w: Config.Sessions is required", backends.ErrInvalid)
	}
	d := *c
	var err error
	if d.Budget, err = c.Budget.WithDefaults(); err != nil {
		return d, err
	}
	if d.HistoryTokens < 0 {
		return d, fmt.Errorf("%w: Config.HistoryTokens is %d", backends.ErrInvalid, d.HistoryTokens)
	}
	config.Default(&d.HistoryTokens, 4*d.Budget.Limit())
	config.Default(&d.StoreTimeout, 2*time.Second)
	config.Default(&d.Steps, compaction.Default(d.Model))
	d.Clock = work.Clock(d.Clock)
	config.Default(&d.Redact, redact.Text)
	return d, nil
}

// Window shows models what they may see of a session. One value serves any number of
// sessions, and is safe for concurrent use.
type Window struct {
	cfg       Config
	compactor *compaction.Compactor
	archives  *archive.Archives
}

// New returns a window, or ErrInvalid.
func New(cfg *Config) (*Window, error) {
	c, err := cfg.withDefaults()
	w := &Window{cfg: c}
	if err == nil {
		w.compactor, err = compaction.New(&compaction.Config{Budget: c.Budget, Steps: c.Steps, Trigger: c.Trigger, Language: c.Language, NoTools: c.NoTools})
	}
	if err == nil {
		w.archives, err = archive.New(&archive.Config{Sessions: c.Sessions, Redact: c.Redact})
	}
	if err != nil {
		return nil, fmt.Errorf("context window: %w", err)
	}
	return w, nil
}

// Archives returns where the window puts what leaves a context.
func (w *Window) Archives() *archive.Archives { return w.archives }

// Core returns the blocks that are always shown, or nil.
func (w *Window) Core() *core.Blocks { return w.cfg.Core }

// Usage measures a context as it is, and says how much it may hold.
func (w *Window) Usage(messages []*schema.Message) compaction.Usage {
	return w.cfg.Budget.Usage(messages)
}

// Sessions returns the conversations that the window shows.
func (w *Window) Sessions() *Sessions { return &Sessions{&w.cfg} }

// DeleteSession erases the scope's session: its log, its archives, its interrupted turns,
// and the core blocks that are its own. What was learnt from it stays. Without a session
// in the scope it erases what was said without one, which has no blocks. A session that
// does not exist is no error.
func (w *Window) DeleteSession(ctx context.Context, s backends.Scope) error {
	return on(s, "deleting", func(k session.Key) error {
		if w.cfg.Core != nil && k.ID != "" {
			if err := w.cfg.Core.DeleteSession(ctx, s); err != nil {
				return err
			}
		}
		return w.cfg.Sessions.Delete(ctx, k.Partition, k.ID)
	})
}

// turnShare is the part of Config.HistoryTokens that one turn counts as, at most.
const turnShare = 4

// History returns what was said in the scope's session before, to go in front of what is
// said now; nothing under Config.NoHistory, and where the scope names no session: turns
// without one have nothing to do with each other. It may go into a checkpoint of Eino:
// lists and objects in the Extra of a message's parts are left out. See [Sessions.Load].
func (w *Window) History(ctx context.Context, s backends.Scope) ([]*schema.Message, error) {
	if w.cfg.NoHistory || strings.TrimSpace(s.SessionID) == "" {
		return nil, nil
	}
	most := w.cfg.HistoryTokens
	h, err := w.Sessions().load(ctx, s, limits{tokens: most, turn: max(most/turnShare, 1), messages: defaultMessages})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	einox.Portable(h.Messages)
	return h.Messages, nil
}

// Restore returns messages with every placeholder replaced by what it stands for: the
// context as it was before [Window.Fit]. A placeholder of another session is ErrNotFound:
// its reference means something else here.
func (w *Window) Restore(ctx context.Context, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
	isPlaceholder := func(m *schema.Message) bool { return einox.RefOf(m) != "" }
	if !slices.ContainsFunc(messages, isPlaceholder) {
		return messages, nil
	}
	a, err := w.archives.Of(s)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	k, _, _ := session.KeyOf(s) // archives.Of has the error
	if slices.ContainsFunc(messages, func(m *schema.Message) bool { return isPlaceholder(m) && foreign(m, k.Tag()) }) {
		return nil, fmt.Errorf("restore: %w: a placeholder is of another session: give that session's scope", backends.ErrNotFound)
	}
	return a.Restore(ctx, messages)
}

// errDeleted is returned where a session was deleted while it was read.
var errDeleted = errors.New("it was deleted while it was read")

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
	begin := func(of context.Context) context.Context {
		ctx = w.begin(of, k.Partition)
		return ctx
	}
	if w.cfg.Core != nil { // else what fits touches no store
		begin(ctx)
	}
	r := &compaction.Request{Messages: own(w.withCore(ctx, s, messages), tag), Begin: begin}
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

// begin is store.Begin within the time of one call, unless ctx has a life of p. Without one what
// is archived fails.
func (w *Window) begin(ctx context.Context, p backends.Partition) context.Context {
	if store.Began(ctx, p) != "" {
		return ctx
	}
	within, cancel := w.within(ctx)
	defer cancel()
	begun, err := store.Begin(within, w.cfg.Sessions, p)
	if err != nil {
		return ctx
	}
	return store.WithLife(ctx, p, store.Began(begun, p))
}

// keep stores a summary of the log's beginning with its session. The session may have
// been deleted meanwhile.
func (w *Window) keep(ctx context.Context, s backends.Scope, sum *compaction.Summary) {
	ctx, cancel := w.within(context.WithoutCancel(ctx)) // the model was paid for it
	defer cancel()
	err := work.Catch("Config.Redact", func() error {
		_, err := w.Sessions().KeepSummary(ctx, s, sum.Upto, w.cfg.Redact(sum.Text))
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
	unavailable error // nil as far as is known
}

// Put implements compaction.Archive.
func (f *fitArchive) Put(ctx context.Context, messages []*schema.Message) (ref string, err error) {
	if f.unavailable != nil {
		return "", f.unavailable
	}
	ctx, cancel := f.window.within(ctx)
	defer cancel()
	for range 2 { // one connection may have been cut
		ref, err = f.archive.Put(ctx, messages)
		if !errors.Is(err, backends.ErrUnavailable) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		f.unavailable = err
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
