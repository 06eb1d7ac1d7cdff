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
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/work"
)

// Runner is an adk.Runner with memory: the same methods, the same events in the
// same order, at the same time. It is safe for concurrent use as far as the
// agent in it is.
type Runner struct {
	hooks *Hooks
	inner *adk.Runner
}

// WrapRunner returns r with memory around each run, whatever the agent tree in it. Every agent sees
// the note, because it is part of the run's input. The turn is recorded from the run's events when
// its iterator ends, and with Config.Window while the run goes on, too.
//
// An interrupted turn is kept under its checkpoint id and completed by Resume, in this process or
// another. Resume needs the scope as Run did: an interrupt loses the context. A resumed run whose turn
// is unknown in its scope, or forgotten, stays out of the log.
//
// A run that a tool of another run makes recalls and stays out of the log: a model asked for it.
func (h *Hooks) WrapRunner(r *adk.Runner) *Runner { return &Runner{hooks: h, inner: r} }

// Run starts a run with messages, as adk.Runner.Run does.
func (r *Runner) Run(ctx context.Context, messages []adk.Message, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	h := r.hooks
	ctx = h.withOptions(ctx, opts)
	current := &run{hooks: h, turn: &turn{messages: einox.Unfold(messages)}, checkpoint: func() string { return adkx.CheckpointID(ctx, opts) }}
	h.guard(ctx, StageSearch, func() { current.turn = h.recall(ctx, current.turn.messages, true) })
	t := current.turn
	recorded := t.id != "" && h.records() && !nested(ctx)
	ctx = t.inEpoch(ctx)
	input, err := h.fit(ctx, t.scope, t.messages)
	if err != nil {
		if recorded { // the user said it all the same
			h.write(ctx, h.turnPart(t, part{messages: einox.Encode(t.said)}, false))
		}
		events, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
		gen.Send(&adk.AgentEvent{Err: err})
		gen.Close()
		return events
	}
	events := r.inner.Run(context.WithValue(ctx, runKey(h.cfg.NoteName), current), input, opts...)
	if !recorded {
		return events
	}
	return current.forward(ctx, events)
}

// Query starts a run with what a user says, as adk.Runner.Query does.
func (r *Runner) Query(ctx context.Context, query string, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	return r.Run(ctx, []adk.Message{schema.UserMessage(query)}, opts...)
}

// Resume goes on with an interrupted run, as adk.Runner.Resume does: see
// [Runner.ResumeWithParams].
func (r *Runner) Resume(ctx context.Context, checkPointID string, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error) {
	return r.ResumeWithParams(ctx, checkPointID, &adk.ResumeParams{}, opts...)
}

// ResumeWithParams goes on with an interrupted run, as adk.Runner.ResumeWithParams does. It skips
// the search: the note is in the checkpoint. It returns an error if Eino panics because the
// checkpoint does not fit the agent.
func (r *Runner) ResumeWithParams(ctx context.Context, checkPointID string, params *adk.ResumeParams, opts ...adk.AgentRunOption) (events *adk.AsyncIterator[*adk.AgentEvent], err error) {
	h := r.hooks
	ctx = h.withOptions(ctx, opts)
	current := &run{hooks: h, turn: &turn{}, resumed: true, checkpoint: func() string { return checkPointID }}
	if h.records() {
		// begun reports an error of the scope: by then the run may have named its user.
		current.turn.scope = h.quietScope(ctx)
	}
	err = work.Catch("resume", func() (err error) {
		events, err = r.inner.ResumeWithParams(context.WithValue(ctx, runKey(h.cfg.NoteName), current), checkPointID, params, opts...)
		return err
	})
	if err != nil || !h.records() || nested(ctx) {
		return events, err
	}
	return current.forward(ctx, events), nil
}

// run is one run through a [Runner]. It travels in the context, so that the
// middleware of an agent in the run knows that its work is done already; and it
// collects the events of the run and writes its turn.
type run struct {
	hooks      *Hooks
	turn       *turn
	resumed    bool
	checkpoint func() string // the id of the run's checkpoint, or ""

	mu sync.Mutex // guards turn.scope

	outputs     []*output
	streams     sync.WaitGroup // the streams under way
	reading     atomic.Int64   // the number of them
	judged      int            // the number of outputs that progress has judged,
	answers     []einox.Marked // the ones among them that belong to the turn,
	written     int            // and the number of messages that the log has
	away        bool           // a write found the store away: the rest of the run queues its writes
	failed      bool           // the run reported an error
	interrupted bool
	saved       int           // the number of outputs that the turn was saved with, plus one
	open        *working.Turn // the turn as it was when the run began; nil until finish needs it
}

// output is one message of a run's events.
type output struct {
	path    []adk.RunStep   // the agents from the root to the one that spoke
	message *schema.Message // nil when it failed
}

// scope returns the scope whose memory the run uses; the zero scope while it is unknown.
func (r *run) scope() backends.Scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn.scope
}

// offerScope names the run's user if the session values alone do. A resumed run gets those from its
// checkpoint, and they are readable only inside it.
func (r *run) offerScope(ctx context.Context) {
	if !r.resumed || r.scope().UserID != "" {
		return
	}
	if s := r.hooks.quietScope(ctx); s.UserID != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.turn.scope = s
	}
}

// forward passes the events of a run on as they come, and collects them. The goroutine ends with
// the run, even if nobody reads: the iterator takes any number of events.
func (r *run) forward(ctx context.Context, events *adk.AsyncIterator[*adk.AgentEvent]) *adk.AsyncIterator[*adk.AgentEvent] {
	out, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	guard := func(f func(context.Context)) { r.hooks.guard(ctx, StageRecord, func() { f(ctx) }) }
	go func() {
		defer gen.Close()
		guard(r.progress) // the question
		for e, ok := events.Next(); ok; e, ok = events.Next() {
			guard(func(ctx context.Context) { r.collect(ctx, e) })
			gen.Send(e)
			guard(r.progress)
		}
		guard(r.finish)
	}()
	return out
}

// collect keeps the message of an event. The event stays as it is, except for printed calls and its
// stream, which is one of two copies. collect reads the other beside the run, so that the first word
// leaves at once.
func (r *run) collect(ctx context.Context, e *adk.AgentEvent) {
	if e == nil {
		return
	}
	r.failed = r.failed || e.Err != nil
	if e.Output != nil && e.Output.MessageOutput != nil {
		v := e.Output.MessageOutput
		r.hooks.unprint(v)
		o := &output{path: slices.Clone(e.RunPath), message: v.Message}
		r.outputs = append(r.outputs, o)
		if v.IsStreaming && v.MessageStream != nil {
			copies := v.MessageStream.Copy(2)
			for _, c := range copies {
				c.SetAutomaticClose()
			}
			v.MessageStream = copies[0]
			r.read(o, copies[1])
		}
	}
	if e.Action != nil && e.Action.Interrupted != nil {
		r.interrupted = true
		r.finish(ctx) // before the event leaves: its receiver may resume at once
	}
}

func (r *run) read(o *output, stream *schema.StreamReader[*schema.Message]) {
	r.reading.Add(1)
	r.streams.Go(func() {
		defer r.reading.Add(-1)
		// A stream that fails is no answer: the model is asked again, or the run fails.
		_ = work.Catch("stream", func() (err error) {
			o.message, err = schema.ConcatMessageStream(stream)
			return err
		})
	})
}

// progress writes the turn so far while the run goes on: a long task outlives its process. It
// leaves a message that is still streaming for later.
func (r *run) progress(ctx context.Context) {
	h := r.hooks
	if h.window == nil || r.resumed || r.saved > 0 || r.reading.Load() > 0 {
		return
	}
	r.answers, r.judged = append(r.answers, answers(r.outputs, r.judged)...), len(r.outputs)
	said := slices.Concat(r.turn.said, r.answers)
	h.withhold(ctx, said)
	if len(said) <= r.written {
		return
	}
	t := h.turnPart(r.turn, part{offset: r.written, messages: einox.Encode(said[r.written:])}, false)
	if !r.away {
		r.away, r.written = h.write(ctx, t), len(said)
		return
	}
	if h.offer(ctx, t) == nil {
		r.written = len(said)
	}
}

// finish writes the known messages of the turn. It is called at the end of the run, and before that
// when the run is interrupted.
func (r *run) finish(ctx context.Context) {
	r.streams.Wait()
	if r.saved == len(r.outputs)+1 {
		return // an interrupt, and then the end
	}
	if r.open == nil {
		if r.open = r.begun(ctx); r.open == nil {
			return
		}
	}
	r.saved = len(r.outputs) + 1
	t := *r.open
	t.Time = r.hooks.cfg.Clock()
	said := append(einox.Decode(t.Messages), answers(r.outputs, 0)...)
	r.hooks.withhold(ctx, said)
	t.Messages = einox.Encode(said)
	t.Done = !r.failed && !r.interrupted
	if len(t.Messages) == 0 {
		return
	}
	if !t.Done && (r.interrupted || r.resumed) {
		r.suspend(ctx, &t)
	}
	r.hooks.write(ctx, &t)
}

// begun returns the turn as it was before the run: the user's words, or the turn that the interrupt
// saved.
func (r *run) begun(ctx context.Context) *working.Turn {
	h, scope, id := r.hooks, r.scope(), r.checkpoint
	if !r.resumed {
		return h.turnPart(r.turn, part{messages: einox.Encode(r.turn.said)}, false)
	}
	if scope.IsZero() {
		_, err := h.ResolveScope(ctx)
		h.report(ctx, StageScope, fmt.Errorf("resume: %w", err))
		return nil
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	t, err := h.log.TakeOpenTurn(within, scope, id())
	if err == nil && t == nil { // it was another's or is forgotten, and so is what is said of it now
		err = fmt.Errorf("%w: resume wrapped runs in their own scope; what was forgotten meanwhile stays forgotten", backends.ErrNotFound)
	}
	if err != nil {
		h.report(ctx, StageRecord, fmt.Errorf("take the open turn of checkpoint %q: %w", id(), err))
		return nil
	}
	return t
}

// suspend keeps the turn for a Resume.
func (r *run) suspend(ctx context.Context, t *working.Turn) {
	id := r.checkpoint()
	if id == "" {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := r.hooks.log.SaveOpenTurn(within, t.Scope, id, t); err != nil {
		r.hooks.report(ctx, StageRecord, fmt.Errorf("save the open turn of checkpoint %q: %w", id, err))
	}
}

// answers returns the outputs that belong to the turn, from an index on: the words of the tree's
// agents and the results of their tools do; agents inside tools and transfers do not.
func answers(outputs []*output, from int) (out []einox.Marked) {
	for i := from; i < len(outputs); i++ {
		m := einox.DecodeOne(outputs[i].message)
		if said(m) && m.Role != schema.User && !isTransfer(m.Message) && !insideTool(outputs, i) {
			out = append(out, m)
		}
	}
	return out
}

// isTransfer reports whether m only hands the conversation over to another agent.
func isTransfer(m *schema.Message) bool {
	if m.Role == schema.Tool {
		return m.ToolName == adk.TransferToAgentToolName
	}
	return m.Content == "" && len(m.ToolCalls) > 0 && !slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool {
		return c.Function.Name != adk.TransferToAgentToolName
	})
}

// insideTool reports whether an output comes from an agent that runs inside a tool of another. The
// path of such an agent looks like a sub-agent's, but it speaks while an agent above it waits for a
// tool.
func insideTool(outputs []*output, i int) bool {
	above := func(o *output) bool {
		path, below := o.path, outputs[i].path
		return o.message != nil && len(path) < len(below) && slices.Equal(path, below[:len(path)])
	}
	waiting := map[string]bool{} // by the id of the tool call
	called := map[string]bool{}
	for n, o := range outputs {
		if o.message == nil {
			continue
		}
		for _, c := range o.message.ToolCalls {
			called[c.ID] = true
			if n < i && above(o) {
				waiting[c.ID] = true
			}
		}
		if n < i && above(o) {
			delete(waiting, o.message.ToolCallID)
		}
	}
	// In a resumed run the call was made before the interrupt: only its result is here.
	return len(waiting) > 0 || slices.ContainsFunc(outputs[i:], func(o *output) bool {
		return above(o) && o.message.Role == schema.Tool && !called[o.message.ToolCallID]
	})
}
