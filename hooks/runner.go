// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox/adkx"
)

// Runner is an adk.Runner with memory: the same methods, the same events in the
// same order, at the same time. It is safe for concurrent use as far as the
// agent in it is.
type Runner struct {
	hooks *Hooks
	inner *adk.Runner
}

// WrapRunner returns r with memory around each run, whatever the agent tree in
// it: every agent sees the note, because it is part of the run's input, and the
// turn is recorded from the run's events when its iterator ends, and with
// Config.Window while the run goes on, too.
//
// An interrupted turn is kept under its checkpoint id and completed by Resume, in
// this process or another. Resume needs the scope as Run did: contexts do not
// survive an interrupt.
//
// A run that a tool of another run makes recalls and is not recorded: a model
// asked for it.
func (h *Hooks) WrapRunner(r *adk.Runner) *Runner { return &Runner{hooks: h, inner: r} }

// Run starts a run with messages, as adk.Runner.Run does.
func (r *Runner) Run(ctx context.Context, messages []adk.Message, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	ctx = r.hooks.withOptions(ctx, opts)
	reply := r.hooks.beforeReply(ctx, messages)
	fitted, err := r.hooks.fit(ctx, r.hooks.orResolved(ctx, reply.Scope), reply.Messages)
	if err != nil && !nested(ctx) {
		r.hooks.AfterReply(ctx, reply, nil, false) // it was said all the same
	}
	if err != nil {
		return failed(err)
	}
	reply.Messages = fitted
	current := &run{reply: reply}
	events := r.inner.Run(r.hooks.withRun(ctx, current), reply.Messages, opts...)
	if reply.Turn == "" || !r.hooks.records() || nested(ctx) {
		return events
	}
	return r.hooks.forward(ctx, events, &recorder{
		hooks: r.hooks, run: current,
		checkpoint: func() string { return adkx.CheckpointID(ctx, opts) },
	})
}

// failed returns the events of a run that could not start.
func failed(err error) *adk.AsyncIterator[*adk.AgentEvent] {
	out, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	gen.Send(&adk.AgentEvent{Err: err})
	gen.Close()
	return out
}

// Query starts a run with what a user says, as adk.Runner.Query does.
func (r *Runner) Query(ctx context.Context, query string, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	return r.Run(ctx, []adk.Message{schema.UserMessage(query)}, opts...)
}

// Resume goes on with an interrupted run, as adk.Runner.Resume does. Where that
// panics, because the checkpoint does not fit the agent, Resume returns an error.
func (r *Runner) Resume(ctx context.Context, checkPointID string, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error) {
	return r.resume(ctx, checkPointID, opts, func(ctx context.Context) (*adk.AsyncIterator[*adk.AgentEvent], error) {
		return r.inner.Resume(ctx, checkPointID, opts...)
	})
}

// ResumeWithParams goes on with an interrupted run, as
// adk.Runner.ResumeWithParams does, with the care of [Runner.Resume].
func (r *Runner) ResumeWithParams(ctx context.Context, checkPointID string, params *adk.ResumeParams, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error) {
	return r.resume(ctx, checkPointID, opts, func(ctx context.Context) (*adk.AsyncIterator[*adk.AgentEvent], error) {
		return r.inner.ResumeWithParams(ctx, checkPointID, params, opts...)
	})
}

// resume searches for nothing: the note is in the checkpoint.
func (r *Runner) resume(ctx context.Context, checkPointID string, opts []adk.AgentRunOption,
	start func(context.Context) (*adk.AsyncIterator[*adk.AgentEvent], error),
) (events *adk.AsyncIterator[*adk.AgentEvent], err error) {
	ctx = r.hooks.withOptions(ctx, opts)
	reply := &Reply{}
	if r.hooks.records() {
		// An error is told of when the turn is looked for: by then the run may
		// have said whose it is.
		_ = safely("scope", func() error { reply.Scope, err = r.hooks.ResolveScope(ctx); return err })
	}
	current := &run{resumed: true, reply: reply}
	err = safely("resume", func() (err error) {
		events, err = start(r.hooks.withRun(ctx, current))
		return err
	})
	if err != nil || !r.hooks.records() || nested(ctx) {
		return events, err
	}
	return r.hooks.forward(ctx, events, &recorder{
		hooks: r.hooks, run: current,
		checkpoint: func() string { return checkPointID },
	}), nil
}

// beforeReply is BeforeReply with the run protected from it.
func (h *Hooks) beforeReply(ctx context.Context, messages []*schema.Message) *Reply {
	reply := &Reply{Messages: messages}
	h.harmless(ctx, StageSearch, func() { reply = h.BeforeReply(ctx, messages) })
	return reply
}

type runOptions struct{ scope backends.Scope }

// WithScopeOption says on whose behalf one run through a [Runner] is made. Its
// parts come before those of the context and of the session values.
func WithScopeOption(s backends.Scope) adk.AgentRunOption {
	return adk.WrapImplSpecificOptFn(func(o *runOptions) { o.scope = s })
}

// withOptions puts what the run's options say of its scope into the context: the
// explicit scope first, then the context's own, then the session values.
func (h *Hooks) withOptions(ctx context.Context, opts []adk.AgentRunOption) context.Context {
	if len(opts) == 0 {
		return ctx
	}
	given := adk.GetImplSpecificOptions[runOptions](nil, opts...).scope
	carried, _ := backends.ScopeFrom(ctx)
	var session backends.Scope
	err := safely("session values", func() (err error) {
		session, err = h.cfg.SessionKeys.scope(adkx.SessionValues(ctx, opts))
		return err
	})
	if err != nil {
		return context.WithValue(ctx, badScope{}, fmt.Errorf("memory: %w", err))
	}
	if s := given.Or(carried).Or(session); !s.IsZero() {
		ctx = backends.WithScope(ctx, s)
	}
	return ctx
}
