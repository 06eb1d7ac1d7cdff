// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
)

// recorder listens to the events of one run and writes its turn.
type recorder struct {
	hooks      *Hooks
	run        *run
	checkpoint func() string // the id of the run's checkpoint, or ""

	heard       []*utterance
	streams     sync.WaitGroup    // those still being read
	reading     atomic.Int64      // how many those are
	judged      int               // how many of those heard were looked at while the run goes on,
	answers     []*schema.Message // what of them belongs to the turn,
	written     int               // and how many messages of it the log was given
	away        bool              // a write found the store away: the rest of the run waits for none
	failed      bool              // the run told of an error
	interrupted bool
	saved       int // how many utterances the open turn was saved with, plus one

	turn *working.Turn // the turn as far as it was known when the run started
}

// forward hands on the events of a run as they come and lets rec hear them. The
// goroutine ends with the run: the iterator takes any number of events, so that
// nobody needs to read them.
func (h *Hooks) forward(ctx context.Context, events *adk.AsyncIterator[*adk.AgentEvent], rec *recorder) *adk.AsyncIterator[*adk.AgentEvent] {
	out, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	go func() {
		defer gen.Close()
		h.harmless(ctx, StageRecord, func() { rec.progress(ctx) }) // the question
		for {
			e, ok := events.Next()
			if !ok {
				break
			}
			h.harmless(ctx, StageRecord, func() { rec.hear(ctx, e) })
			gen.Send(e)
			h.harmless(ctx, StageRecord, func() { rec.progress(ctx) })
		}
		h.harmless(ctx, StageRecord, func() { rec.finish(ctx) })
	}()
	return out
}

// hear takes note of an event and leaves it as it is, except that its stream is
// one of two copies.
func (r *recorder) hear(ctx context.Context, e *adk.AgentEvent) {
	if e == nil {
		return
	}
	if e.Err != nil {
		r.failed = true
	}
	if e.Output != nil && e.Output.MessageOutput != nil {
		r.listen(e)
	}
	if e.Action != nil && e.Action.Interrupted != nil {
		r.interrupted = true
		// Saved before the event leaves: whoever gets it may resume at once.
		r.finish(ctx)
	}
}

// listen keeps the message of an event. A stream is read beside the run, so that
// its first word is not held up.
func (r *recorder) listen(e *adk.AgentEvent) {
	u := &utterance{path: pathOf(e.RunPath)}
	r.heard = append(r.heard, u)
	v := e.Output.MessageOutput
	if !v.IsStreaming {
		u.message = v.Message
		return
	}
	if v.MessageStream == nil {
		return
	}
	copies := v.MessageStream.Copy(2)
	for _, c := range copies {
		c.SetAutomaticClose()
	}
	v.MessageStream = copies[0]
	r.reading.Add(1)
	r.streams.Go(func() {
		defer r.reading.Add(-1)
		// A stream that fails was no answer: the model is asked again, or the run fails.
		_ = safely("stream", func() (err error) {
			u.message, err = schema.ConcatMessageStream(copies[1])
			return err
		})
	})
}

// progress writes what the turn has come to while the run goes on: a long task
// must not be lost with its process. What is still being said is written later.
func (r *recorder) progress(ctx context.Context) {
	if r.hooks.cfg.Window == nil || r.run.resumed || r.saved > 0 || r.reading.Load() > 0 {
		return
	}
	for ; r.judged < len(r.heard); r.judged++ {
		if ofConversation(r.heard, r.judged) {
			r.answers = append(r.answers, r.heard[r.judged].message)
		}
	}
	said := slices.Concat(r.run.reply.Said, r.answers)
	if len(said) <= r.written {
		return
	}
	t := &working.Turn{Scope: r.run.scope(), ID: r.run.reply.Turn, First: r.written, Messages: said[r.written:], Time: r.hooks.cfg.Clock()}
	if !r.away {
		r.away, r.written = r.hooks.write(ctx, t), len(said)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel() // what the queue has no room for is tried again with what comes next
	if r.hooks.record(ctx, t) == nil {
		r.written = len(said)
	}
}

// finish writes what is known of the turn. It is called at the end of the run,
// and before that when the run is interrupted.
func (r *recorder) finish(ctx context.Context) {
	r.streams.Wait()
	if r.saved == len(r.heard)+1 {
		return // an interrupt, and nothing behind it
	}
	if r.turn == nil {
		if r.turn = r.start(ctx); r.turn == nil {
			return
		}
	}
	r.saved = len(r.heard) + 1
	t := *r.turn
	t.Time = r.hooks.cfg.Clock()
	t.Messages = slices.Concat(t.Messages, conversation(r.heard))
	t.Done = !r.failed && !r.interrupted
	if len(t.Messages) == 0 {
		return
	}
	if !t.Done && (r.interrupted || r.run.resumed) {
		r.suspend(ctx, &t)
	}
	r.hooks.write(ctx, &t)
}

// start returns the turn as it was before the run: what the user said, or what
// was saved when the run was interrupted.
func (r *recorder) start(ctx context.Context) *working.Turn {
	if !r.run.resumed {
		return &working.Turn{Scope: r.run.scope(), ID: r.run.reply.Turn, Messages: r.run.reply.Said}
	}
	scope := r.run.scope()
	if scope.IsZero() {
		_, err := r.hooks.ResolveScope(ctx)
		r.hooks.report(ctx, StageScope, fmt.Errorf("resume: %w", err))
		return nil
	}
	var t *working.Turn
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := safely("take the open turn", func() (err error) {
		t, err = r.hooks.cfg.Log.TakeOpenTurn(ctx, scope, r.checkpoint())
		return err
	})
	switch {
	case err != nil:
		r.hooks.report(ctx, StageRecord, fmt.Errorf("take the open turn of checkpoint %q: %w", r.checkpoint(), err))
		return nil
	case t != nil:
		return t
	case scope.UserID == "":
		// The run may have been a user's whom this call does not name.
		r.hooks.report(ctx, StageScope, fmt.Errorf("resume: %w: no open turn for checkpoint %q, and no user: resume with the scope of the run",
			backends.ErrNoScope, r.checkpoint()))
		return nil
	}
	return &working.Turn{Scope: scope, ID: r.hooks.cfg.IDs()}
}

// suspend keeps the turn for a Resume.
func (r *recorder) suspend(ctx context.Context, t *working.Turn) {
	id := r.checkpoint()
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := safely("save the open turn", func() error { return r.hooks.cfg.Log.SaveOpenTurn(ctx, t.Scope, id, t) })
	if err != nil {
		r.hooks.report(ctx, StageRecord, fmt.Errorf("save the open turn of checkpoint %q: %w", id, err))
	}
}
