// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package adkx holds the workarounds that need Eino's agent development kit; the
// others are in package einox above it.
package adkx

import (
	"context"
	"slices"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
)

// SessionValues returns the session values that a run with these options would start with. Eino
// keeps them in an option of an unexported type, so a probe reads them where they arrive: in an
// agent that only looks. It stores nothing, and leaves the options as they are.
func SessionValues(ctx context.Context, opts []adk.AgentRunOption) map[string]any {
	if len(opts) == 0 {
		return nil
	}
	p := &probe{}
	drain(adk.NewRunner(ctx, adk.RunnerConfig{Agent: p}).Run(ctx, nil, opts...))
	return p.values
}

// CheckpointID returns the id under which a run with these options saves its checkpoint, or "". It
// interrupts a probe, whose store sees the id and drops the checkpoint.
func CheckpointID(ctx context.Context, opts []adk.AgentRunOption) string {
	if len(opts) == 0 {
		return ""
	}
	s := &idStore{}
	r := adk.NewRunner(ctx, adk.RunnerConfig{Agent: &probe{interrupt: true}, CheckPointStore: s})
	// Session values would be encoded into the checkpoint, which may fail.
	drain(r.Run(ctx, nil, append(opts[:len(opts):len(opts)], adk.WithSessionValues(nil))...))
	return s.seen()
}

// Messages returns the messages of the agent whose tool is called under ctx, or nil outside of
// agents.
func Messages(ctx context.Context) (out []adk.Message) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s *adk.State) error { // fails outside of agents
		out = slices.Clone(s.Messages)
		return nil
	})
	return out
}

func drain(it *adk.AsyncIterator[*adk.AgentEvent]) {
	for {
		if _, ok := it.Next(); !ok {
			return
		}
	}
}

// probe is an agent that looks at its run and ends it.
type probe struct {
	interrupt bool
	values    map[string]any
}

// Name implements adk.Agent.
func (p *probe) Name(context.Context) string { return "einomem_probe" }

// Description implements adk.Agent.
func (p *probe) Description(context.Context) string { return "reads the options of a run" }

// Run implements adk.Agent.
func (p *probe) Run(ctx context.Context, _ *adk.AgentInput, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	p.values = adk.GetSessionValues(ctx)
	it, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	if p.interrupt {
		gen.Send(adk.Interrupt(ctx, "probe"))
	}
	gen.Close()
	return it
}

// idStore is a checkpoint store that remembers the last id alone.
type idStore struct {
	mu sync.Mutex
	id string
}

// Get implements adk.CheckPointStore.
func (s *idStore) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

// Set implements adk.CheckPointStore.
func (s *idStore) Set(_ context.Context, id string, _ []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
	return nil
}

func (s *idStore) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}
