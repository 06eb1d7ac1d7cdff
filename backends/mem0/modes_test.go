// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// everyMode runs a test without a model, and with one that answers one fact.
func everyMode(t *testing.T, test func(t *testing.T, asks bool, b *mem0.Backend)) {
	t.Run("verbatim", func(t *testing.T) { test(t, false, open(t)) })
	t.Run("by a model", func(t *testing.T) {
		test(t, true, open(t, with(thinking(t, func(shown) string { return operations(`{"op":"add","text":"Ann likes tea."}`) }))))
	})
}

func TestVerbatimKeepsEachMessage(t *testing.T) {
	b := open(t)
	named := schema.UserMessage("I live in Beijing.")
	named.Name = "Ann"
	resp := add(t, b, ann,
		backends.Message{Message: schema.SystemMessage("You are helpful.")},
		backends.Message{ID: "a", Turn: "t1", Time: start, Message: named},
		backends.Message{ID: "b", Turn: "t1", Time: start, Message: schema.AssistantMessage("Noted: Beijing.", nil)},
		backends.Message{Message: schema.ToolMessage("dump", "call")},
		backends.Message{Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "call"}})},
	)
	require.Len(t, resp.Items, 2)
	require.Equal(t, []string{"I live in Beijing.", "Noted: Beijing."}, list(t, b, ann))
	m := resp.Items[0].Memory
	require.Equal(t, backends.KindEpisode, m.Kind)
	require.Equal(t, backends.Origin{Session: "s1", Turn: "t1", MessageIDs: []string{"a"}, Role: "user", Speaker: "Ann", Author: "verbatim"}, m.Origin)
	require.Equal(t, "assistant", resp.Items[1].Memory.Origin.Role)
	require.Zero(t, resp.Usage)
}

func TestVerbatimFacts(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Kind: backends.KindFact, Verbatim: true})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Items[0].Memory.Kind)
	require.Equal(t, "verbatim", resp.Items[0].Memory.Origin.Author)
}

func TestVerbatimDoesNotWaitForTheModel(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	m := thinking(t, func(shown) string { close(asked); <-answer; return operations() })
	b := open(t, with(m))
	done := make(chan error, 1)
	go func() {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("slow")})
		done <- err
	}()
	<-asked
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("fast"), Verbatim: true})
	require.NoError(t, err)
	require.Equal(t, []string{"fast"}, list(t, b, ann))

	impatient, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Add(impatient, &backends.AddRequest{Scope: ann, Messages: user("third")})
	require.ErrorIs(t, err, context.Canceled, "one call at a time learns for a partition")
	close(answer)
	require.NoError(t, <-done)
	require.Equal(t, []string{"fast", "slow"}, list(t, b, ann))
}

// What an agent writes down is its statement: no episode repeats it.
func TestAnAuthorWritesFactsAlone(t *testing.T) {
	everyMode(t, func(t *testing.T, _ bool, b *mem0.Backend) {
		r := &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Author: "agent"}
		resp, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Len(t, resp.Items, 1)
		require.Equal(t, []string{"Ann likes tea."}, list(t, b, ann))
		require.Equal(t, []string{"Ann likes tea."}, facts(t, b, ann))
		require.Equal(t, "agent", resp.Items[0].Memory.Origin.Author)
		require.Equal(t, "agent", historyOf(t, b, resp.Items[0].Memory.ID)[0].Actor)

		again, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(again, backends.KindFact))
		said := add(t, b, ann, user("Ann likes tea.")...)
		require.Contains(t, outcomes(said, backends.KindEpisode), backends.OutcomeAdded, "what is said is kept as ever")
	})
}

func TestAnAuthorMayAskForEpisodes(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Author: "import", Kind: backends.KindEpisode})
	require.NoError(t, err)
	require.Equal(t, backends.KindEpisode, resp.Items[0].Memory.Kind)
	require.Equal(t, "import", resp.Items[0].Memory.Origin.Author)
}

func TestOtherKindsAreRefused(t *testing.T) {
	b := open(t, with(answering("")))
	for _, verbatim := range []bool{true, false} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Kind: backends.KindTool, Messages: user("tea"), Verbatim: verbatim})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// What an agent did is written down by the model, with what its tools returned.
func TestProcedure(t *testing.T) {
	helper := backends.Scope{AgentID: "helper"}
	did := []backends.Message{
		{ID: "1", Message: schema.UserMessage("Deploy it")},
		{ID: "2", Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "deploy", Arguments: `{"env":"prod"}`}}})},
		{ID: "3", Message: schema.ToolMessage("build 77 failed: disk full", "c")},
		{ID: "4", Message: assistant("It failed.")},
	}
	m := answering("```\n1. deploy(prod): build 77 failed: disk full\n```")
	b := open(t, with(m))
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, backends.KindProcedure, resp.Items[0].Memory.Kind)
	require.Equal(t, "1. deploy(prod): build 77 failed: disk full", resp.Items[0].Memory.Text)
	prompt := m.Calls()[0][1].Content
	require.Contains(t, prompt, "disk full")
	require.Contains(t, prompt, `deploy({\"env\":\"prod\"})`)

	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrInvalid, "an agent did it")
	b = open(t, with(answering("``` \n```", "<think>hm</think>")))
	_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrModel)
	_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: []backends.Message{{Message: schema.ToolMessage("\xff", "c")}}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	resp, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: []backends.Message{{}, {Message: schema.SystemMessage("Be brief.")}}})
	require.NoError(t, err)
	require.Empty(t, resp.Items, "nothing was done")
}
