// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

var approved = []string{"user: hi", "assistant:  calls ask", "tool: approved", "assistant: done"}

func approvalModel() *testkit.Chat {
	return testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done"))
}

// An interrupted turn is completed under its id, in the same process or another:
// new hooks, a new agent, the same checkpoints and the same log.
func TestAnInterruptedTurnIsCompleted(t *testing.T) {
	for _, where := range []string{"same process", "new process"} {
		for _, how := range []string{"runner", "middleware", "both"} {
			for _, streaming := range []bool{false, true} {
				t.Run(where+", "+how, func(t *testing.T) {
					m := newMemory(t, nil)
					store, chat := &testkit.Checkpoints{}, approvalModel()
					start := func(m *memory) (run func() *adk.AsyncIterator[*adk.AgentEvent], resume func() (*adk.AsyncIterator[*adk.AgentEvent], error)) {
						change := m.with
						if how == "runner" {
							change = nil
						}
						inner := newRunner(newAgent(t, "a", chat, change, askTool(t)), streaming, store)
						ctx, cp := context.Background(), adk.WithCheckPointID("cp")
						if how == "middleware" {
							return func() *adk.AsyncIterator[*adk.AgentEvent] { return inner.Query(ctx, "hi", cp) },
								func() (*adk.AsyncIterator[*adk.AgentEvent], error) { return inner.Resume(ctx, "cp") }
						}
						r := m.WrapRunner(inner)
						return func() *adk.AsyncIterator[*adk.AgentEvent] { return r.Query(ctx, "hi", cp) },
							func() (*adk.AsyncIterator[*adk.AgentEvent], error) { return r.Resume(ctx, "cp") }
					}
					run, resume := start(m)
					require.Equal(t, []string{"assistant:  calls ask", "interrupted"}, drain(t, run()))
					require.Equal(t, approved[:2], m.log.turn(t), "what was said is in the log")
					for _, turn := range m.log.recorded() {
						require.False(t, turn.Done)
					}
					resumed := m
					if where == "new process" {
						resumed = newMemory(t, func(c *hooks.Config) {
							c.IDs = func() string { return "of the new process" }
							c.Log = m.log
						})
						_, resume = start(resumed)
					}
					it, err := resume()
					require.NoError(t, err)
					require.Equal(t, []string{"tool: approved", "assistant: done"}, drain(t, it))
					require.Equal(t, approved, m.log.turn(t))
					turns := m.log.recorded()
					require.True(t, turns[len(turns)-1].Done)
					require.Empty(t, m.log.shared.turns)
					require.Equal(t, []string{"hi"}, m.backend.queries())
					if where == "new process" {
						require.Empty(t, resumed.backend.queries(), "a resume searches for nothing")
					}
					require.Equal(t, 1, notes(chat.Calls()[1]), "the note is in the checkpoint")
					m.fine(t)
					resumed.fine(t)
				})
			}
		}
	}
}

func TestATurnInterruptedTwiceIsCompleted(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New(testkit.Call("c1", "ask", "{}"), testkit.Call("c2", "ask", "{}"), testkit.Text("done"))
	r := m.WrapRunner(newRunner(newAgent(t, "a", chat, nil, askTool(t)), false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	for range 2 {
		it, err := r.ResumeWithParams(context.Background(), "cp", &adk.ResumeParams{})
		require.NoError(t, err)
		drain(t, it)
	}
	require.Equal(t, []string{"user: hi", "assistant:  calls ask", "tool: approved", "assistant:  calls ask", "tool: approved", "assistant: done"}, m.log.turn(t))
	turns := m.log.recorded()
	require.Len(t, turns, 3)
	require.True(t, turns[2].Done)
	require.Empty(t, m.log.shared.turns)
	m.fine(t)
}

func TestAResumeThatFailsCanBeRepeated(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New(testkit.Call("c", "ask", "{}"), testkit.Fail(errors.New("down")), testkit.Text("done"))
	r := m.WrapRunner(newRunner(newAgent(t, "a", chat, nil, askTool(t)), false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	out := drain(t, it)
	require.Contains(t, out[len(out)-1], "error: ")
	it, err = r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	got := m.log.turn(t)
	require.Equal(t, "user: hi", got[0])
	require.Equal(t, "assistant: done", got[len(got)-1])
	m.fine(t)
}

func TestInterruptsOfParallelAgentsAreOneTurn(t *testing.T) {
	m := newMemory(t, nil)
	par, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
		SubAgents: []adk.Agent{newAgent(t, "a1", approvalModel(), nil, askTool(t)), newAgent(t, "a2", testkit.New(testkit.Text("meanwhile")), nil)}})
	require.NoError(t, err)
	r := m.WrapRunner(newRunner(par, false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	require.ElementsMatch(t, append([]string{"assistant: meanwhile"}, approved...), m.log.turn(t))
	m.fine(t)
}

func TestAnInterruptWithoutACheckpointLeavesAnOpenTurn(t *testing.T) {
	m := newMemory(t, nil)
	drain(t, m.WrapRunner(newRunner(newAgent(t, "a", approvalModel(), nil, askTool(t)), false, nil)).Query(context.Background(), "hi"))
	require.Equal(t, approved[:2], m.log.turn(t))
	require.False(t, m.log.recorded()[0].Done)
	require.Empty(t, m.log.shared.turns)
}

func TestAResumeWithoutAnOpenTurnRecordsWhatItSees(t *testing.T) {
	m := newMemory(t, nil)
	store := &testkit.Checkpoints{}
	agent := newAgent(t, "a", approvalModel(), nil, askTool(t))
	drain(t, newRunner(agent, false, store).Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := m.WrapRunner(newRunner(agent, false, store)).Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	require.Equal(t, approved[2:], m.log.turn(t))
	m.fine(t)
}

// The history is compacted while a run waits: its middleware searches again.
func TestANoteThatVanishedWhileTheRunWaitedIsRestored(t *testing.T) {
	m := newMemory(t, nil)
	chat := approvalModel()
	change := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			s.Messages = slices.DeleteFunc(slices.Clone(s.Messages), func(msg *schema.Message) bool { return len(chat.Calls()) > 0 && einox.IsNote(msg) })
			return nil
		}})
		m.with(cfg)
	}
	r := m.WrapRunner(newRunner(newAgent(t, "a", chat, change, askTool(t)), false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	require.Equal(t, 1, notes(chat.Calls()[1]))
	require.Equal(t, approved, m.log.turn(t))
	m.fine(t)
}

// The interrupted run may have been a user's: what it says does not go to the
// agent's memory because the resume names nobody.
func TestAResumeThatNamesNoUserRecordsNothingOfATurnItDoesNotKnow(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{AgentID: "bot"} })
	r := m.WrapRunner(newRunner(newAgent(t, "a", approvalModel(), nil, askTool(t)), false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp"), hooks.WithScopeOption(ann)))
	before := len(m.log.recorded())
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	drain(t, it)
	require.Len(t, m.log.recorded(), before)
	stages, err := m.failures.seen()
	require.Equal(t, []string{hooks.StageScope}, stages)
	require.ErrorIs(t, err, backends.ErrNoScope)
}

// Eino panics where a checkpoint does not fit the agent (issue 1246).
func TestAPanicOfResumeIsAnError(t *testing.T) {
	m := newMemory(t, nil)
	store := &testkit.Checkpoints{}
	a := &scripted{asks: true, resume: func() { panic("does not fit") }}
	r := m.WrapRunner(newRunner(a, false, store))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	require.Len(t, m.log.shared.turns, 1)
	_, err := r.Resume(context.Background(), "cp")
	require.ErrorContains(t, err, "panic")
	require.Len(t, m.log.shared.turns, 1, "the turn waits for a resume that works")
	_, err = r.Resume(context.Background(), "no such checkpoint")
	require.Error(t, err)
	_, err = m.WrapRunner(newRunner(a, false, nil)).Resume(context.Background(), "cp")
	require.ErrorContains(t, err, "store is nil")
	_, err = r.ResumeWithParams(context.Background(), "cp", nil)
	require.Error(t, err)
}
