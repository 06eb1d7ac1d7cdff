// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// Each answer is written as it comes, the whole turn at its end.
func TestTheMiddlewareRecordsATurnAsItGrows(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := newMemory(t, nil)
		drain(t, newRunner(newAgent(t, "a", threeCalls(), m.with, echoTool(t)), streaming, nil).Query(context.Background(), "hi"))
		var got [][]string
		for i, turn := range m.log.recorded() {
			require.Equal(t, "t1", turn.ID)
			require.Equal(t, i == 2, turn.Done)
			require.Equal(t, []int{0, 2, 0}[i], turn.First)
			got = append(got, lines(turn.Messages))
		}
		require.Equal(t, [][]string{
			{"user: hi", "assistant:  calls echo"},
			{"tool: echo:1", "assistant:  calls echo"},
			{"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo", "tool: echo:2", "assistant: done"},
		}, got)
		m.fine(t)
	}
}

func TestTurnsOfOneAgentFollowEachOther(t *testing.T) {
	m := newMemory(t, nil)
	agent := newAgent(t, "a", testkit.New(), m.with)
	history := say("one")
	for _, next := range []string{"two", "three"} {
		drain(t, newRunner(agent, false, nil).Run(context.Background(), history))
		history = append(history, schema.AssistantMessage("ok", nil), schema.UserMessage(next))
	}
	require.Equal(t, map[string][]string{"t1": {"user: one", "assistant: ok"}, "t2": {"user: two", "assistant: ok"}}, m.log.conversation(t))
	require.Equal(t, []string{"one", "two"}, m.backend.queries())
}

func TestWithoutALogNothingIsRecorded(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Log = nil })
	require.Nil(t, m.AgentMiddleware().AfterChatModel)
	chat := testkit.New()
	drain(t, m.WrapRunner(newRunner(newAgent(t, "a", chat, m.with), true, nil)).Query(context.Background(), "hi"))
	require.Equal(t, 1, notes(chat.Calls()[0]))
	require.NoError(t, m.Finish(context.Background(), say("hi")))
	m.fine(t)
}

// A run is recorded for whom it was searched, whatever its agents write into the
// session meanwhile.
func TestTheScopeOfARunStays(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{AgentID: "bot"} })
	change := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{BeforeChatModel: func(ctx context.Context, _ *adk.ChatModelAgentState) error {
			adk.AddSessionValue(ctx, "user_id", "eve")
			return nil
		}})
		m.with(cfg)
	}
	drain(t, m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), change), false, nil)).Query(context.Background(), "hi"))
	require.Equal(t, backends.Scope{AgentID: "bot"}, m.log.recorded()[0].Scope)
	require.Equal(t, backends.Scope{AgentID: "bot"}, m.backend.searches[0].Scope)
}

// The middleware is called by hand with what no agent gives it.
func TestTheMiddlewareTakesAnything(t *testing.T) {
	m := newMemory(t, nil)
	mw := m.AgentMiddleware()
	for _, msgs := range [][]*schema.Message{nil, {nil}, {nil, schema.UserMessage("hi"), nil}, {schema.SystemMessage(" ")}} {
		s := &adk.ChatModelAgentState{Messages: msgs}
		require.NoError(t, mw.BeforeChatModel(context.Background(), s))
		require.NoError(t, mw.AfterChatModel(context.Background(), s))
	}
	require.NoError(t, mw.BeforeChatModel(context.Background(), nil), "a panic in a hook is contained")
	stages, err := m.failures.seen()
	require.Equal(t, []string{hooks.StageSearch}, stages)
	require.ErrorContains(t, err, "panic")
}
