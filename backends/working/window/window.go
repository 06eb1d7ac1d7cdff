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
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Window]. [New] copies it.
type Config struct {
	// Budget says how much a context may hold; its Window is required.
	Budget compaction.Budget
	// Sessions keeps the log and the archives. Required. It must have the log that turns are
	// appended to.
	Sessions store.Sessions

	// Model writes summaries if the free steps are too little. Optional. If it is nil, messages
	// that exceed the budget are archived and named.
	Model model.BaseChatModel
	// Steps makes contexts smaller, in this order. Optional. Defaults to
	// compaction.Default(Model), or to compaction.Free() if Model is nil.
	Steps []compaction.Step
	// Trigger is the share of the budget above which the steps begin. Optional. Defaults to 1:
	// only a context above its budget is compacted.
	Trigger float64

	// delay is how long one call of the store may delay a context: 2 s by default, any time
	// below 0. After a slower call, or one that found the store unavailable, archiving stops
	// for this context: it fits by other steps, or is over budget. A middleware gives its
	// SearchTimeout.
	delay time.Duration

	// NoHistory says that the caller passes the earlier messages: History returns none.
	NoHistory bool
	// HistoryTokens is how much of the log one reply loads, in tokens as counted at their
	// append; the compaction makes room for it. One turn counts as at most a quarter of it, so
	// that a large turn leaves older ones visible. Optional. Defaults to four times the budget's
	// limit: large outputs of tools shrink without a model.
	HistoryTokens int

	// Core has the blocks that are always shown. Optional.
	Core *core.Blocks
	// Redact changes texts before they are archived, and summaries before they are kept.
	// Optional. Pass the function of the log. Defaults to redact.Text.
	Redact func(string) string
	// Language is the language of placeholders and notices. Optional. LanguageAuto follows the
	// last user message.
	Language backends.Language
	// NoTools is for agents that lack grep_working_memory and read_working_memory: placeholders
	// leave these names out, and Tools returns none.
	NoTools bool
	// Clock tells the age of an open turn, the end of a session for [Sessions.Expire], and the
	// date in a prompt. Optional. Defaults to backends.SystemClock.
	Clock backends.Clock

	// OnFit gets every fitted context: how full it is, and the steps taken. It must return
	// quickly, and be safe for concurrent use. Optional.
	OnFit func(ctx context.Context, scope backends.Scope, r *compaction.Result)
	// OnError gets failures that a context survived: of a model, of a write to an archive, of
	// keeping a summary. stage is one of the Stage constants. Must be safe for concurrent use.
	// Optional; log/slog's default logger gets them in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// The stages that Config.OnError gets.
const (
	StageCompact = "compact" // a step of the compaction failed
	StageSummary = "summary" // keeping a summary with its session failed
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
	work.Default(&d.HistoryTokens, 4*d.Budget.Limit())
	work.Default(&d.delay, 2*time.Second)
	work.Default(&d.Steps, compaction.Default(d.Model))
	d.Clock = work.Clock(d.Clock)
	work.Default(&d.Redact, redact.Text)
	return d, nil
}

// Window shows models their part of a session. One value serves any number of sessions, and is
// safe for concurrent use.
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

// Archives returns the archives in which the window puts the messages that leave a context.
func (w *Window) Archives() *archive.Archives { return w.archives }

// Core returns the blocks that are always shown, or nil.
func (w *Window) Core() *core.Blocks { return w.cfg.Core }

// Usage measures a context as it is, and gives its limit.
func (w *Window) Usage(messages []*schema.Message) compaction.Usage {
	return w.cfg.Budget.Usage(messages)
}

// Sessions returns the conversations that the window shows.
func (w *Window) Sessions() *Sessions { return &Sessions{&w.cfg} }

// DeleteSession erases the scope's session: its log, its archives, its interrupted turns, and
// its own core blocks. Memories learnt from it stay. For a scope that lacks a session, it erases
// the messages outside sessions; these have no blocks. Deleting a missing session succeeds.
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

// turnShare is the divisor of Config.HistoryTokens that bounds the count of one turn.
const turnShare = 4

// History returns the earlier messages of the scope's session, to go in front of the new ones.
// It returns none under Config.NoHistory, and for a scope that lacks a session: such turns are
// unrelated. The result may go into a checkpoint of Eino: lists and objects in the Extra of a
// message's parts are left out. See [Sessions.Load].
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

// Restore returns messages with every placeholder replaced by its originals: the context before
// [Window.Fit]. A placeholder of another session is ErrNotFound, since its reference has another
// meaning here.
func (w *Window) Restore(ctx context.Context, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
	isPlaceholder := func(m einox.Marked) bool { return m.Ref != "" }
	marked := einox.Decode(messages)
	if !slices.ContainsFunc(marked, isPlaceholder) {
		return messages, nil
	}
	a, err := w.archives.Of(s)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	k, _, _ := session.KeyOf(s) // archives.Of has the error
	if slices.ContainsFunc(marked, func(m einox.Marked) bool { return isPlaceholder(m) && foreign(m, k.Tag()) }) {
		return nil, fmt.Errorf("restore: %w: a placeholder is of another session: give that session's scope", backends.ErrNotFound)
	}
	return a.Restore(ctx, messages)
}

// errDeleted says that a session was deleted while it was read.
var errDeleted = errors.New("it was deleted while it was read")

// Fit returns messages with the core blocks, compacted if they exceed the budget. The messages
// passed stay unchanged. If even the compacted ones exceed the budget, Fit returns them with a
// compaction.OverError that says by how much.
//
// An archive needs a user or an agent in the scope. For any other scope, compaction only drops
// derived messages. If reading the core blocks fails, Fit reports it to Config.OnError, and
// leaves out the blocks or keeps their former message.
func (w *Window) Fit(ctx context.Context, s backends.Scope, messages []*schema.Message) (*compaction.Result, error) {
	k, _, _ := session.KeyOf(s) // archives.Of has the error
	tag := k.Tag()
	begin := func(of context.Context) context.Context {
		ctx = w.begin(of, k.Partition)
		return ctx
	}
	if w.cfg.Core != nil { // otherwise a context that fits needs no store
		begin(ctx)
	}
	marked := w.withCore(ctx, s, einox.Decode(messages))
	untie(marked, tag)
	r := &compaction.Request{Messages: einox.Encode(marked), Begin: begin}
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
	marked = einox.Decode(res.Messages)
	tie(marked, tag)
	res.Messages = einox.Encode(marked)
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

// begin is store.Begin within the time of one call, unless ctx already has an epoch of p. If it
// fails, so does archiving.
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
	return store.WithEpoch(ctx, p, store.Began(begun, p))
}

// keep stores a summary of the log's beginning with its session. A session deleted meanwhile is
// no failure.
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

// withCore returns messages with the present core blocks, once, behind the leading system
// messages.
func (w *Window) withCore(ctx context.Context, s backends.Scope, messages []einox.Marked) []einox.Marked {
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
	out := slices.DeleteFunc(messages, func(m einox.Marked) bool { return m.Kind == einox.Core })
	if now == nil {
		return out
	}
	at := 0
	for at < len(out) && out[at].Message != nil && out[at].Role == schema.System {
		at++
	}
	return slices.Insert(out, at, einox.DecodeOne(now))
}

func (w *Window) report(ctx context.Context, stage string, err error) {
	work.Report(ctx, w.cfg.OnError, stage, err)
}

// within returns ctx with the time limit for one call of the store.
func (w *Window) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.cfg.delay < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, w.cfg.delay)
}

// fitArchive is the archive of one call of Fit. An unavailable store delays the call once,
// however many steps archive messages.
type fitArchive struct {
	window      *Window
	archive     *archive.Archive
	unavailable error // nil as far as known
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

// Sequence numbers and references are valid in one session only, and a caller may carry messages
// from one session to another. So every message that has one is marked with its session. In
// another session it counts as an ordinary message.

// tie marks the messages that have a sequence number or a reference of the session.
func tie(messages []einox.Marked, tag string) {
	for i := range messages {
		if m := &messages[i]; (m.Seq > 0 || m.Ref != "") && m.Session == "" {
			m.Session = tag
		}
	}
}

// untie takes from messages of other sessions their sequence numbers and references.
func untie(messages []einox.Marked, tag string) {
	for i := range messages {
		if m := &messages[i]; foreign(*m, tag) {
			m.Seq, m.Ref, m.Session = 0, "", ""
		}
	}
}

// foreign reports whether m is of another session.
func foreign(m einox.Marked, tag string) bool { return m.Session != "" && m.Session != tag }
