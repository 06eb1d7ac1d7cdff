// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/work"
)

// The on_reply hook has two halves: recall before the model is called, and record after its answer.
// Both report their failures instead of failing the reply.

// recall finds or begins the turn that messages end with, and stamps it. It puts the session's
// history in front of a turn that begins, searches for it once, and injects the note. With fresh
// set the turn is new, even if it looks like one that is under way. messages and the values that
// they point to stay unchanged.
//
// The turn has an empty id, and the given messages, if the messages ask nothing or the scope is
// missing.
func (h *Hooks) recall(ctx context.Context, messages []einox.Marked, fresh bool) *turn {
	none := &turn{messages: messages, user: -1}
	if !h.plan.Search && !h.records() && h.window == nil {
		return none
	}
	t := h.find(messages)
	if fresh = fresh || t.id == ""; fresh && !t.asks() {
		return none
	}
	scope, err := h.ResolveScope(ctx)
	if err != nil {
		h.report(ctx, StageScope, err)
		return none
	}
	t.scope = scope
	own := t.id
	if fresh {
		own = "" // a note of an earlier run with these messages is stale, too
	}
	t.dropNotes(func(m einox.Marked) bool { return h.ownsNote(m) && (own == "" || m.Turn != own) })
	h.withhold(ctx, t.messages)
	if fresh {
		t.begin(h.cfg.IDs())
		begun := h.beginEpoch(ctx, scope)
		defer func() {
			t.epoch = begun()
			t.stamp(h.window != nil)
		}()
	}
	t.stamp(h.window != nil)
	if fresh {
		h.loadHistory(ctx, t)
	}
	if h.plan.Search {
		h.inject(ctx, t)
	}
	return t
}

// inject searches for the turn once and puts the note in its place: Eino calls the model many times
// in a turn (trap T2). If another middleware compacted the note away, inject puts it back.
func (h *Hooks) inject(ctx context.Context, t *turn) {
	if t.user < 0 || h.hasNote(t.messages) {
		return
	}
	found, searched := t.messages[t.user].Found[h.cfg.NoteName]
	query := t.query()
	if searched && !found || query == "" {
		return
	}
	note := h.search(ctx, t.scope, query, t)
	if t.id != "" { // else each call stands alone
		user := &t.messages[t.user]
		user.Found = einox.With(user.Found, h.cfg.NoteName, note != nil)
	}
	if note != nil {
		t.note, note.Turn = note, t.id
		t.insert(h.noteAt(t.user), *note) // the messages before it stay cacheable
	}
}

// search returns the note for the user's words in a turn, or nil. It takes at most
// Config.SearchTimeout, even with a backend that ignores its context. A failure is reported, and
// gives nil.
func (h *Hooks) search(ctx context.Context, s backends.Scope, query string, t *turn) *einox.Marked {
	if err := h.hangs(); err != nil {
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply: %w", err))
		return nil
	}
	within, cancel := h.within(ctx)
	defer cancel()
	shown, before := t.visible(), t.before() // a search that is given up goes on, while t changes
	resp, err := work.Await(within, "backend", func() (*backends.SearchResponse, error) {
		resp, _, err := h.answer(within, s, query, before, shown)
		return resp, err
	})
	switch {
	case err != nil && within.Err() != nil:
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply: %w: %w", backends.ErrUnavailable, within.Err()))
		return nil
	case err != nil:
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply: %w", err))
		return nil
	case resp.Degraded != nil:
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply, answered in part: %w", resp.Degraded))
	}
	n := h.note(ctx, s, query, resp)
	if c, ok := backends.As[backends.UseCounter](h.cfg.Backend); ok {
		c.Used(ctx, s, n.Hits)
	}
	if h.cfg.OnNote != nil {
		h.guard(ctx, StageSearch, func() { h.cfg.OnNote(ctx, n) })
	}
	return h.message(n)
}

// answer returns the memories for the note of a request, and the bar that they had to reach. A
// greeting asks for nothing. All memories may stand in the note of a personal request if they fit.
func (h *Hooks) answer(ctx context.Context, s backends.Scope, query string, before []string, shown visible) (resp *backends.SearchResponse, least float64, err error) {
	q := &backends.SearchRequest{Scope: s, Query: query, TopK: cmp.Or(h.cfg.TopK, h.bullets()), Brief: h.cfg.WholeTokens, Context: before}
	greets := speech.Classify(query) == speech.Filler
	switch {
	case greets:
		q.Brief, q.TopK = -1, 1
	case q.Brief > 0 && speech.Personal(query):
		q.Brief = max(q.Brief, h.cfg.NoteTokens)
	}
	resp, err = h.lookUp(ctx, q, shown)
	switch {
	case resp == nil || err != nil:
	case greets:
		resp.Hits = nil
	case !resp.Whole:
		least = h.bar(query, resp.Hits)
		resp.Hits = h.gate(query, resp.Hits)
	}
	return resp, least, err
}

// Search searches the backend as the search for a note does. It covers messages that wait to be
// learnt from, too. It applies Config.Threshold, and keeps to the scope's agent where
// Config.ScopeSearchByAgent is set. It returns errors, as [backends.Backend] does.
func (h *Hooks) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("search: %w: no request", backends.ErrInvalid)
	}
	return h.lookUp(ctx, r, visible{})
}

// lookUp is Search minus the hits that a context shows.
func (h *Hooks) lookUp(ctx context.Context, r *backends.SearchRequest, v visible) (*backends.SearchResponse, error) {
	q := *r
	q.TopK = cmp.Or(q.TopK, h.cfg.TopK, defaultTopK)
	topK := q.TopK
	least := q.Threshold
	if least == 0 {
		if least = max(0, h.cfg.Threshold); q.Brief == 0 { // a note is filled
			q.Threshold = least / 2 // hits beside one that reaches least
		}
	}
	if *h.cfg.ScopeSearchByAgent && q.Scope.AgentID != "" && q.Scope.UserID != "" {
		byAgent := backends.Eq("agent_id", q.Scope.AgentID)
		if q.Filter != nil {
			byAgent = backends.And(byAgent, *q.Filter)
		}
		q.Filter = &byAgent
	}
	if h.plan.Record && h.log != nil {
		var open string
		var err error
		if q.Beside, open, err = h.log.Unlearnt(ctx, q.Scope); err != nil && ctx.Err() != nil {
			return nil, err
		}
		if v.turns == nil && open != "" { // a tool searches, and its agent has the question before it
			v.turns = map[string]bool{open: true}
		}
		if err != nil {
			h.report(ctx, StageSearch, fmt.Errorf("search without what is not learnt yet: %w", err))
		}
	}
	q.Beside = slices.DeleteFunc(q.Beside, func(m backends.Memory) bool { return v.turns[m.Origin.Turn] })
	q.TopK = min(maxTopK, q.TopK+max(0, len(v.turns)-1)) // the turn under way is still unlearnt
	for {
		resp, err := h.cfg.Backend.Search(ctx, &q)
		if err != nil || resp == nil {
			return &backends.SearchResponse{}, err
		}
		out := *resp
		if out.Hits = v.fitting(resp, least); !out.Whole {
			out.Hits = out.Hits[:min(len(out.Hits), topK)]
		}
		if len(out.Hits) > 0 || out.Whole {
			return &out, nil
		}
		if q.Query = speech.Asked(q.Query); q.Query == "" { // words beside a question may be about anything
			return &out, nil
		}
	}
}

// fitting returns the hits that an answer may have. Any answer but a whole one (resp.Whole) is empty
// if its best hit scores below least. A hit that states nothing stays only if it scores best.
func (v visible) fitting(resp *backends.SearchResponse, least float64) []backends.Hit {
	best := 0.0
	hits := slices.DeleteFunc(slices.Clone(resp.Hits), func(hit backends.Hit) bool {
		refused, _ := v.refuses(&hit, resp.Whole, least)
		if refused == "" {
			best = max(best, hit.Score)
		}
		return refused != ""
	})
	if best > 0 && best < least && !resp.Whole {
		return nil
	}
	return slices.DeleteFunc(hits, func(hit backends.Hit) bool { return statesNothing(&hit) && hit.Score < best })
}

// refuses returns the reason to leave a hit out, whatever the others are, and the score that would
// let it in. The context has it; it is a user's bare question; it is delicate, which takes twice
// least, unless its backend gives no scores; or, in a whole answer, it is an episode of the
// assistant below least.
func (v visible) refuses(hit *backends.Hit, whole bool, least float64) (reason string, needs float64) {
	switch {
	case v.shows(hit):
		return "shown", 0
	case statesNothing(hit) && hit.Origin.Role == string(schema.User):
		return "question", 0
	case hit.Delicate && (hit.Score > 0 || whole) && hit.Score < 2*least:
		return "delicate", 2 * least
	case whole && hit.Origin.Role == string(schema.Assistant) && hit.Kind == backends.KindEpisode && hit.Score < least:
		return "assistant", least
	}
	return "", 0
}

// statesNothing reports whether the ranking put a hit back because it states nothing.
func statesNothing(hit *backends.Hit) bool { return hit.Parts.Signals[backends.SignalStates] < 0 }

// defaultTopK is the number of memories in the answer to a search that serves no note.
const defaultTopK = 10

// bullets returns how many memories may fit into a note: a short one with its date and speaker
// takes 20 tokens.
func (h *Hooks) bullets() int { return min(maxTopK, max(1, h.cfg.NoteTokens/20)) }

// maxTopK is the most memories that a search gives: see [backends.SearchRequest].
const maxTopK = 1000

// within returns ctx with Config.SearchTimeout, for calls that hold up a reply.
func (h *Hooks) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.cfg.SearchTimeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, h.cfg.SearchTimeout)
}

// record writes the turn that messages end with, stamped, and returns it. It returns nil if there
// is none, or if it belongs to another recorder: a wrapped run records itself, and in an agent that
// another one calls as a tool a model wrote the question.
//
// The new part of an unfinished turn is written. A question that is still open is only queued, so
// that the model starts at once. A finished turn is written as a whole: message ids make the repeat
// harmless, and the repeat repairs a write that was lost on the way. With adopt set, messages that
// Prepare never saw are a turn as well, and the originals replace their placeholders.
func (h *Hooks) record(ctx context.Context, messages []einox.Marked, done, adopt bool) *turn {
	if !h.records() || nested(ctx) || running(ctx, h) != nil {
		return nil
	}
	t := h.find(messages)
	if t.id == "" {
		if !adopt || t.user < 0 {
			return nil
		}
		t.id = h.cfg.IDs()
	}
	h.withhold(ctx, t.messages)
	var err error
	if t.scope, err = h.ResolveScope(ctx); err != nil {
		h.report(ctx, StageScope, err)
		return nil
	}
	if t.epoch == "" {
		t.epoch = h.beginEpoch(ctx, t.scope)()
	}
	t.stamp(h.window != nil)
	ctx = t.inEpoch(ctx)
	parts := t.parts()
	if adopt {
		parts = h.restored(ctx, t).parts()
	} else if len(parts) > 1 {
		parts = parts[len(parts)-1:] // earlier parts were written before they left the context
	}
	for i, p := range parts {
		last := i == len(parts)-1
		if !done {
			p = p.news()
		}
		written := h.turnPart(t, p, done && last)
		if done || h.window != nil || !t.asks() {
			h.write(ctx, written)
		} else if err := h.offer(ctx, written); err != nil {
			h.report(ctx, StageRecord, fmt.Errorf("record the question of turn %s: %w", t.id, err))
		}
	}
	return t
}

// offer queues a part of an unfinished turn at once. If the queue is full, a later part brings
// these messages.
func (h *Hooks) offer(ctx context.Context, t *working.Turn) error {
	ctx, cancel := context.WithCancel(detach(ctx))
	cancel()
	return h.log.Record(ctx, t)
}

// turnPart returns a part of a turn in the form that the log takes.
func (h *Hooks) turnPart(t *turn, p part, done bool) *working.Turn {
	return &working.Turn{Scope: t.scope, ID: t.id, First: p.offset, Messages: h.spoken(p.messages), Time: h.cfg.Clock(), Done: done}
}

// writeTimeout bounds a write that outlives the cancellation of its run.
const writeTimeout = 30 * time.Second

// write passes a part of a turn to the log, and reports whether the store is away. It keeps the
// words even of a cancelled run. It drops the handlers of the agent's run: the backend's own model
// calls would panic after its end (trap T3).
//
// With a Window the next run loads the session, so the turn is in the log when its own run ends. A
// store that takes longer than Config.SearchTimeout gets it later, from the log's queue.
func (h *Hooks) write(ctx context.Context, t *working.Turn) (away bool) {
	ctx = detach(ctx)
	if t.Done && h.ended != nil {
		defer h.ended(t.Scope)
	}
	if h.window == nil && !h.cfg.AwaitWrite {
		if err := h.log.Record(ctx, t); err != nil {
			h.report(ctx, StageRecord, fmt.Errorf("record turn %s: %w", t.ID, err))
		}
		return false
	}
	var err error
	if !h.cfg.AwaitWrite {
		err = h.hangs()
	}
	if err == nil {
		err = h.inTime(ctx, t, h.log.Append)
	}
	if err != nil {
		// It can succeed once the store is back, which returns Canceled if an earlier turn took the time.
		if away = errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); away {
			err = errors.Join(err, h.inTime(ctx, t, h.log.Record))
		}
		h.report(ctx, StageRecord, fmt.Errorf("append turn %s: %w", t.ID, err))
		return away
	}
	if t.Done && h.cfg.AwaitWrite {
		if _, err := h.log.Consolidate(ctx, t.Scope); err != nil {
			h.report(ctx, working.StageConsolidate, fmt.Errorf("learn from turn %s: %w", t.ID, err))
		}
	}
	return false
}

// inTime makes one write, which outlives the cancellation of its run. It takes at most
// Config.SearchTimeout, or writeTimeout if the program waits for writes or sets no limit.
func (h *Hooks) inTime(ctx context.Context, t *working.Turn, write func(context.Context, *working.Turn) error) error {
	timeout := writeTimeout
	if !h.cfg.AwaitWrite && h.cfg.SearchTimeout > 0 {
		timeout = h.cfg.SearchTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return write(ctx, t)
}
