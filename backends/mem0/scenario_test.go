// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// The same life told to every mode, by tool and by JSON, in two languages.
func TestAPersonOverManySessions(t *testing.T) {
	type session struct{ says, want string }
	lives := map[string][]session{
		"english": {
			{"Hi, I live in Beijing", "The user lives in Beijing."},
			{"What is the weather like?", "The user lives in Beijing."},
			{"I moved to Shanghai last week", "The user lives in Shanghai."},
			{"I live in Shanghai, as I said", "The user lives in Shanghai."},
			{"Back in Beijing!", "The user lives in Beijing."},
		},
		"chinese": {
			{"你好，我住在北京", "用户住在北京。"},
			{"今天天气怎么样？", "用户住在北京。"},
			{"我上周搬到上海了", "用户住在上海。"},
			{"我说过，我住在上海", "用户住在上海。"},
			{"又回北京了", "用户住在北京。"},
		},
	}
	for name, life := range lives {
		for _, byTool := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by tool %t", name, byTool), func(t *testing.T) {
				var m model.BaseChatModel = resident(t)
				if !byTool {
					m = textual{m}
				}
				b := open(t, with(m))
				for i, s := range life {
					scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprintf("s%d", i)}
					add(t, b, scope, backends.Message{ID: "1", Turn: "1", Time: start.AddDate(0, i, 0), Message: schema.UserMessage(s.says)})
					require.Equal(t, []string{s.want}, facts(t, b, ann))
				}
				require.Len(t, list(t, b, ann, backends.KindEpisode), len(life), "every turn is kept as it was said")
			})
		}
	}
}

func TestD8_AFactNamesTheTurnThatTaughtIt(t *testing.T) {
	m := thinking(t, func(s shown) string {
		return operations(fmt.Sprintf(`{"op":"add","text":"The user has a parrot called Kiki.","said_by":"user","messages":[%d]}`, s.new[2].N))
	})
	b := open(t, with(m))
	add(t, b, ann, user("Good morning", "How are you?", "My parrot Kiki woke me up", "Bye")...)
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "What is the parrot called?", WithSources: true})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Hits[0].Kind)
	require.Len(t, resp.Hits[0].Sources, 1)
	require.Equal(t, "My parrot Kiki woke me up", resp.Hits[0].Sources[0].Text)
	require.Equal(t, []string{"m2"}, resp.Hits[0].Origin.MessageIDs)
}

func TestD8_AFactThatNamesManyTurnsDoesNotHideThem(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user talked about parrots."}`))))
	add(t, b, ann, user("parrots are blue", "parrots are red", "parrots are loud", "parrots are old", "parrots are wise")...)
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "parrots", TopK: 10}), 6)
}

func TestFactsOnlyKeepsNoTurns(t *testing.T) {
	b := open(t, with(resident(t)), factsOnly)
	add(t, b, ann, user("I live in Beijing")...)
	require.Equal(t, []string{"The user lives in Beijing."}, list(t, b, ann))
}

func TestAgentsOwnMemory(t *testing.T) {
	m := thinking(t, func(s shown) string {
		return operations(`{"op":"add","text":"I prefer short answers.","said_by":"assistant"}`)
	})
	b := open(t, with(m), factsOnly)
	helper := backends.Scope{AgentID: "helper"}
	resp := add(t, b, helper, backends.Message{Message: assistant("I will keep it short")})
	require.Equal(t, "assistant", resp.Items[0].Memory.Origin.Role)
	require.Len(t, facts(t, b, helper), 1)
	require.Empty(t, facts(t, b, backends.Scope{UserID: "ann", AgentID: "helper"}), "with a user it is the user's")
}

func TestFilterByAgentAndSession(t *testing.T) {
	b := open(t)
	for _, agent := range []string{"chef", "coach"} {
		for _, session := range []string{"s1", "s2"} {
			add(t, b, backends.Scope{UserID: "ann", AgentID: agent, SessionID: session}, user("tea with the "+agent+" in "+session)...)
		}
	}
	chef, second := backends.Eq("agent_id", "chef"), backends.Eq("session_id", "s2")
	both := backends.And(chef, second)
	for n, f := range map[int]*backends.Filter{4: nil, 2: &chef, 1: &both} {
		require.Len(t, search(t, b, backends.SearchRequest{Scope: backends.Scope{UserID: "ann", AgentID: "chef", SessionID: "s1"}, Query: "tea", Filter: f}), n,
			"the scope names the partition, the filter narrows it")
	}
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

func TestVerbatimFacts(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Kind: backends.KindFact, Verbatim: true})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Items[0].Memory.Kind)
	require.Equal(t, "verbatim", resp.Items[0].Memory.Origin.Author)
}

func TestConcurrentUpdatesAllHappen(t *testing.T) {
	b := open(t)
	id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		wg.Go(func() {
			_, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Metadata: map[string]any{key: true}})
			require.NoError(t, err)
		})
	}
	wg.Wait()
	m, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": true, "b": true, "c": true}, m.Metadata)
}

func TestMemoriesAreTheCallersOwn(t *testing.T) {
	b := open(t)
	metadata := map[string]any{"tags": []any{"x"}}
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Metadata: metadata})
	require.NoError(t, err)
	metadata["tags"].([]any)[0] = "mine"
	id := resp.Items[0].Memory.ID
	want := map[string]any{"tags": []any{"x"}}
	for range 2 {
		got, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann})
		require.NoError(t, err)
		found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
		require.NoError(t, err)
		known, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
		require.NoError(t, err)
		for _, m := range []*backends.Memory{got, &page.Memories[0], &found.Hits[0].Memory, &known.Items[0].Memory} {
			require.Equal(t, want, m.Metadata)
			m.Metadata["tags"].([]any)[0] = "changed"
			m.Origin.MessageIDs[0] = "changed"
		}
	}
}

func TestC1_01_DeleteAllInSeveralWrites(t *testing.T) {
	b := open(t)
	var dump strings.Builder
	for i := range 5100 {
		fmt.Fprintf(&dump, "{\"id\":\"m%d\",\"kind\":\"fact\",\"text\":\"fact %d\"}\n", i, i)
	}
	n, err := b.Load(ctx, ann, strings.NewReader(dump.String()))
	require.NoError(t, err)
	require.Equal(t, 5100, n)
	n, err = b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann})
	require.NoError(t, err)
	require.Equal(t, 5100, n)
	require.Empty(t, list(t, b, ann))
}

func TestExpiredFactsAreNotShownToTheModel(t *testing.T) {
	now := start
	m := thinking(t, func(s shown) string {
		if len(s.memories) > 0 {
			return operations(`{"op":"supersede","index":0,"text":"old news"}`)
		}
		return operations(`{"op":"add","text":"The user is in Rome this week."}`)
	})
	b := open(t, with(m), factsOnly, func(c *mem0.Config) { c.Clock = func() time.Time { return now } })
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("in Rome"), Expires: now.Add(time.Hour)})
	require.NoError(t, err)
	now = now.Add(2 * time.Hour)
	resp := add(t, b, ann, user("in Rome again")...)
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp, backends.KindFact))
	require.Len(t, facts(t, b, ann), 1)
}

func TestManyToolCallsAreOneAnswer(t *testing.T) {
	m := func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		require.NotNil(t, o.ToolChoice)
		require.Equal(t, schema.ToolChoiceForced, *o.ToolChoice)
		require.Len(t, o.Tools, 1)
		call := func(text string) schema.ToolCall {
			return schema.ToolCall{Function: schema.FunctionCall{Name: o.Tools[0].Name, Arguments: operations(fmt.Sprintf(`{"op":"add","text":%q}`, text))}}
		}
		return schema.AssistantMessage("I call it twice", []schema.ToolCall{call("A"), call("B")}), nil
	}
	b := open(t, with(scripted(m)), factsOnly)
	add(t, b, ann, user("x")...)
	require.Equal(t, []string{"A", "B"}, facts(t, b, ann))
}

func TestToolSchemasAreValid(t *testing.T) {
	seen := map[string]bool{}
	m := func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		js, err := o.Tools[0].ToJSONSchema()
		require.NoError(t, err)
		raw, err := js.MarshalJSON()
		require.NoError(t, err)
		require.LessOrEqual(t, tokens(string(raw)+o.Tools[0].Name+o.Tools[0].Desc), 300, "with the prompt's 1200 it makes 1500")
		seen[o.Tools[0].Name] = true
		return schema.AssistantMessage(`{"facts":["The user likes tea."]}`, nil), nil
	}
	for _, mode := range []mem0.Mode{mem0.Reconcile, mem0.Additive, mem0.TwoStep} {
		b := open(t, in(mode), with(scripted(m)), factsOnly)
		add(t, b, ann, user("x")...)
		add(t, b, ann, user("y")...)
	}
	require.Len(t, seen, 3)
}

func TestSaidAgainAfterADeletion(t *testing.T) {
	for _, b := range []*mem0.Backend{open(t), open(t, with(answering(`{"facts":["tea"]}`)), factsOnly)} {
		first := add(t, b, ann, user("tea")...).Items[0].Memory
		require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: first.ID}))
		again := add(t, b, ann, user("tea")...)
		require.Equal(t, backends.OutcomeAdded, again.Items[0].Outcome)
		require.Equal(t, []string{"tea"}, list(t, b, ann))
		events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: again.Items[0].Memory.ID})
		require.NoError(t, err)
		var types []backends.EventType
		for _, e := range events {
			types = append(types, e.Type)
		}
		require.Equal(t, []backends.EventType{backends.EventAdded, backends.EventDeleted, backends.EventAdded}, types)
	}
}

func TestATextChangedByHandIsStillKnown(t *testing.T) {
	b := open(t)
	id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
	text := "green tea"
	_, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
	require.NoError(t, err)
	require.Equal(t, backends.OutcomeUnchanged, add(t, b, ann, user("green tea")...).Items[0].Outcome)
	back := add(t, b, ann, user("tea")...).Items[0]
	require.Equal(t, backends.OutcomeAdded, back.Outcome, "it is not known as such any more")
	require.NotEqual(t, id, back.Memory.ID)
	require.Equal(t, []string{"green tea", "tea"}, list(t, b, ann))
}
