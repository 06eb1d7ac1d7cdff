// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// M01 to M31 number the tests that AgentScope has of its mem0 middleware, called
// upstream here: a test of that name keeps the behaviour, or its comment says what
// the row becomes in Go and Eino, and where and why ours differs.
//
// The rows M01 to M08: what is searched for, and what of an answer is used.

// asked has messages prepared and finished, and returns what was searched for and
// how often the backend was to learn.
func asked(t *testing.T, messages []*schema.Message) (queries []string, adds int) {
	t.Helper()
	f := &fake{}
	mem := open(t, &middleware.Config{Backend: f, Mode: modes.StaticControl, AwaitWrite: true})
	got, err := mem.Prepare(asAnn(), messages)
	require.NoError(t, err)
	require.NoError(t, mem.Finish(asAnn(), got))
	searched, added := f.seen()
	for _, s := range searched {
		queries = append(queries, s.Query)
	}
	return queries, len(added)
}

func TestM01_NoInputNoQuery(t *testing.T) {
	for _, messages := range [][]*schema.Message{nil, {}, {schema.SystemMessage("be kind"), nil}} {
		queries, adds := asked(t, messages)
		require.Empty(t, queries)
		require.Zero(t, adds)
	}
	queries, _ := asked(t, []*schema.Message{schema.UserMessage(" ")})
	require.Empty(t, queries, "an input without text asks nothing")
}

func TestM02_OneUserMessageIsTheQuery(t *testing.T) {
	queries, _ := asked(t, []*schema.Message{schema.UserMessage("where do I live?")})
	require.Equal(t, []string{"where do I live?"}, queries)
}

func TestM03_UserMessagesAreJoinedByNewline(t *testing.T) {
	queries, _ := asked(t, []*schema.Message{
		schema.UserMessage("before"), schema.AssistantMessage("yes", nil), // an earlier turn
		schema.UserMessage("hello"), schema.UserMessage("where do I live?"),
	})
	require.Equal(t, []string{"hello\nwhere do I live?"}, queries)
}

// In Eino a person's approval resumes a run instead of starting one: what reaches
// memory then ends with an answer or a tool's result, and asks nothing new. Unlike
// upstream, the turn that it completes is recorded.
func TestM04_AnApprovalIsNoQuery(t *testing.T) {
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "pay", Arguments: "{}"}}})
	approval := schema.ToolMessage("approved", "1")
	for name, c := range map[string]struct {
		messages []*schema.Message
		adds     int
	}{
		"the approval alone":       {[]*schema.Message{call, approval}, 0},
		"the end of a turn":        {[]*schema.Message{schema.UserMessage("pay"), call, approval, schema.AssistantMessage("paid", nil)}, 1},
		"what another agent said":  {[]*schema.Message{schema.UserMessage("For context: [planner] said: pay the bill")}, 0},
		"what another agent asked": {[]*schema.Message{schema.UserMessage("For context: [planner] called tool: `pay` with arguments: {}.")}, 0},
	} {
		queries, adds := asked(t, c.messages)
		require.Empty(t, queries, name)
		require.Equal(t, c.adds, adds, name)
	}
}

// shown returns the bullets of the note for a search that answers resp.
func shown(t *testing.T, resp *backends.SearchResponse) []string {
	t.Helper()
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return resp, nil }}
	mem := open(t, &middleware.Config{Backend: f, Mode: modes.StaticControl})
	a := newAgent(t, mem, testkit.Text("ok"))
	require.Equal(t, "ok", a.reply(asAnn(), "hi"))
	var out []string
	for _, at := range a.notes(0) {
		for line := range strings.Lines(a.model.Calls()[0][at].Content) {
			if bullet, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "- "); ok {
				out = append(out, bullet)
			}
		}
	}
	return out
}

// Upstream normalises three shapes of answer; here the contract has one.
func TestM05_MemoriesAreShownInOrder(t *testing.T) {
	require.Equal(t, []string{"[id-b] b", "[id-a] a", "[id-c] c"}, shown(t, hits("b", "a", "c")))
}

// Upstream's bare list has no ids; ours may lack everything but the text.
func TestM06_AMemoryNeedsOnlyItsText(t *testing.T) {
	got := shown(t, &backends.SearchResponse{Hits: []backends.Hit{{Memory: backends.Memory{Text: "likes tea"}}}})
	require.Equal(t, []string{"likes tea"}, got)
}

func TestM07_TextsAreShownUnchanged(t *testing.T) {
	const text = `安 likes "green" tea {hot} 100% — 茶 🍵`
	require.Equal(t, []string{"[id-" + text + "] " + text}, shown(t, hits(text)))
}

func TestM08_AnAnswerWithoutMemoriesIsEmpty(t *testing.T) {
	require.Empty(t, shown(t, nil))
	require.Empty(t, shown(t, &backends.SearchResponse{}))
	require.Empty(t, shown(t, hits("")), "a memory without text is none")
}
