// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

// Reply is one reply under way: whom it is for, what was asked, and what memory
// has to say to it. It is used by one goroutine at a time.
type Reply struct {
	Turn  string         // the id of the turn; empty when the input holds none or nothing says whose it is
	Scope backends.Scope // whose memory it is

	Query string          // what was searched for; empty when nothing was
	Hits  []backends.Hit  // what was found
	Note  *schema.Message // what the model is shown of it; nil when nothing was found

	Said     []*schema.Message // what the user said in this turn, unmarked
	Messages []*schema.Message // what to run the agent with
}

// BeforeReply is the first half of the on_reply hook. It takes the whole input of
// a run: the turn is what the user said behind the last answer, and searching for
// that gives the note in [Reply.Messages]. messages and what they point to are
// left as they are.
//
// It never fails: without a scope, and after a search that failed or took too
// long, the reply goes on without memories, and Config.OnError is told.
func (h *Hooks) BeforeReply(ctx context.Context, messages []*schema.Message) *Reply {
	return h.prepare(ctx, messages, true)
}

// AfterReply is the second half of the on_reply hook: the turn, which is what the
// user said and what was produced since [Hooks.BeforeReply], goes to the log. done
// tells that the turn is complete; one that failed or was interrupted is not.
func (h *Hooks) AfterReply(ctx context.Context, r *Reply, produced []*schema.Message, done bool) {
	if r == nil || r.Turn == "" || !h.records() {
		return
	}
	h.write(ctx, &working.Turn{Scope: r.Scope, ID: r.Turn, Messages: slices.Concat(r.Said, produced), Time: h.cfg.Clock(), Done: done})
}

// prepare finds the turn of messages, stamps it, searches for it once, and puts
// the note in its place. With fresh set it is a new turn even if it looks like
// one that is under way.
func (h *Hooks) prepare(ctx context.Context, messages []*schema.Message, fresh bool) *Reply {
	r := &Reply{Messages: messages}
	if !h.cfg.Plan.Search && !h.records() && h.cfg.Window == nil {
		return r
	}
	user, id := lastUser(messages), ""
	if user >= 0 && !fresh {
		id = einox.TurnOf(messages[user])
	}
	switch {
	case id != "":
	case user >= 0 && !answered(messages, user):
		fresh, id = true, h.cfg.IDs()
	case fresh: // an approval, the result of a call
		return r
	default:
		return h.goOn(ctx, r)
	}
	var err error
	if err = safely("scope", func() error { r.Scope, err = h.ResolveScope(ctx); return err }); err != nil {
		h.report(ctx, StageScope, err)
		return r
	}
	r.Turn = id
	r.Messages = h.withoutStaleNotes(messages, id)
	user = lastUser(r.Messages)
	h.join(r, user, fresh)
	if fresh {
		user = h.open(ctx, r, user)
	}
	if h.cfg.Plan.Search {
		h.recall(ctx, r, user)
	}
	return r
}

// join stamps the messages of the turn and collects what was said in it.
func (h *Hooks) join(r *Reply, user int, fresh bool) {
	start := turnStart(r.Messages, user)
	if fresh {
		for i := start; i < len(r.Messages); i++ {
			if said(r.Messages[i]) {
				r.Messages[i] = einox.Unmark(r.Messages[i])
			}
		}
	}
	stamp(r.Messages, start, r.Turn)
	if h.cfg.Window != nil {
		carry(r.Messages, r.Turn)
	}
	for _, m := range r.Messages[start:] {
		if said(m) {
			r.Said = append(r.Said, einox.Unmark(m))
		}
	}
}

// recall searches for the turn and injects the note, unless that was done: the
// model is called many times in a turn (trap T2). A note that was there and is
// gone, because somebody compacted the history, is injected again.
func (h *Hooks) recall(ctx context.Context, r *Reply, user int) {
	name := h.cfg.Note.Name
	searched, found := einox.SearchOf(r.Messages[user], name)
	there := slices.ContainsFunc(r.Messages, h.cfg.Note.owns)
	if there || searched && !found {
		return
	}
	if r.Query = queryOf(r.Messages[turnStart(r.Messages, user):]); r.Query == "" {
		return
	}
	r.Hits = h.search(ctx, r.Scope, r.Query)
	h.inject(r, user, h.cfg.Note.build(r.Hits))
}

// inject puts the note in its place and marks the user's message.
func (h *Hooks) inject(r *Reply, user int, note *schema.Message) {
	r.Messages[user] = einox.MarkSearch(r.Messages[user], h.cfg.Note.Name, note != nil)
	if note == nil {
		return
	}
	r.Note = einox.MarkTurn(note, r.Turn)
	r.Messages = h.cfg.Note.place(r.Messages, user, r.Note)
}

// withoutStaleNotes returns a copy of messages without the notes of former turns.
func (h *Hooks) withoutStaleNotes(messages []*schema.Message, turn string) []*schema.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool {
		return h.cfg.Note.owns(m) && einox.TurnOf(m) != turn
	})
}

// writeTimeout bounds a write that outlives the cancellation of its run.
const writeTimeout = 30 * time.Second

// write hands a turn to the log. What was said is kept even if the run was
// cancelled. The handlers of the agent's run are dropped: the backend's own model
// calls would become events of the agent, or panic after its end (trap T3).
//
// Where the next run loads what was said, the turn is in the log when its own run
// ends. A store that takes longer than Config.SearchTimeout gets it later: then write
// reports that the store is away.
func (h *Hooks) write(ctx context.Context, t *working.Turn) (away bool) {
	ctx = einox.Detach(ctx, "Memory", backends.ComponentOfMemory)
	if h.cfg.Window == nil && !h.cfg.AwaitWrite {
		if err := h.record(ctx, t); err != nil {
			h.report(ctx, StageRecord, fmt.Errorf("record turn %s: %w", t.ID, err))
		}
		return false
	}
	if err := h.append(ctx, t); err != nil {
		if away = later(err); away {
			err = errors.Join(err, h.recordSoon(ctx, t))
		}
		h.report(ctx, StageRecord, fmt.Errorf("append turn %s: %w", t.ID, err))
		return away
	}
	if !t.Done || !h.cfg.AwaitWrite {
		return false
	}
	if err := safely("consolidate", func() error { _, err := h.cfg.Log.Consolidate(ctx, t.Scope); return err }); err != nil {
		h.report(ctx, StageConsolidate, fmt.Errorf("learn from turn %s: %w", t.ID, err))
	}
	return false
}

func (h *Hooks) record(ctx context.Context, t *working.Turn) error {
	return safely("record", func() error { return h.cfg.Log.Record(ctx, t) })
}

// later reports whether what could not be appended goes in when the store is back.
// Canceled is how a store tells that the time for an earlier turn was over.
func later(err error) bool {
	return errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// recordSoon is record, for no longer than append even if the queue is full.
func (h *Hooks) recordSoon(ctx context.Context, t *working.Turn) error {
	ctx, cancel := h.patiently(ctx)
	defer cancel()
	return h.record(ctx, t)
}

func (h *Hooks) append(ctx context.Context, t *working.Turn) error {
	ctx, cancel := h.patiently(ctx)
	defer cancel()
	return safely("append", func() error { return h.cfg.Log.Append(ctx, t) })
}

// patiently returns ctx for one write, which outlives the cancellation of its run.
func (h *Hooks) patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := writeTimeout
	if !h.cfg.AwaitWrite && h.cfg.SearchTimeout > 0 {
		patience = h.cfg.SearchTimeout
	}
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
