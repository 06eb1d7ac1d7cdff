// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/modes"
)

func prepare(t *testing.T, m *memory, in []*schema.Message) []*schema.Message {
	t.Helper()
	out, err := m.Prepare(context.Background(), in)
	require.NoError(t, err)
	return out
}

func TestPrepareAndFinish(t *testing.T) {
	m := newMemory(t, nil)
	in := []*schema.Message{schema.SystemMessage("base"), schema.UserMessage("hi")}
	msgs := prepare(t, m, in)
	require.Equal(t, 1, notes(msgs))
	require.Len(t, in, 2)
	msgs = append(msgs, schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f"}}}), schema.ToolMessage("r", "c"))
	msgs = prepare(t, m, msgs)
	require.Equal(t, 1, notes(msgs))
	msgs = append(msgs, schema.AssistantMessage("done", nil))
	for range 2 {
		require.NoError(t, m.Finish(context.Background(), msgs))
	}
	require.Equal(t, []string{"user: hi", "assistant:  calls f", "tool: r", "assistant: done"}, m.log.turn(t))
	require.Equal(t, []string{"hi"}, m.backend.queries())

	next := prepare(t, m, append(msgs, schema.UserMessage("and now?")))
	require.Equal(t, 1, notes(next), "the former note is gone")
	require.NoError(t, m.Finish(context.Background(), append(next, schema.AssistantMessage("now", nil))))
	require.Len(t, m.log.conversation(t), 2)
	require.Equal(t, []string{"hi", "and now?"}, m.backend.queries())
	m.fine(t)
}

func TestAfterACompactionPlacesStayApart(t *testing.T) {
	m := newMemory(t, nil)
	call := func(id string) *schema.Message {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: id}}})
	}
	msgs := prepare(t, m, say("hi"))
	msgs = prepare(t, m, append(msgs, call("f"), schema.ToolMessage("1", "f"), call("g"), schema.ToolMessage("2", "g")))
	compacted := []*schema.Message{msgs[0], msgs[1], msgs[4], msgs[5]} // the note, the user, and the last call
	compacted = prepare(t, m, compacted)
	require.NoError(t, m.Finish(context.Background(), append(compacted, schema.AssistantMessage("done", nil))))
	turns := m.log.recorded()
	require.Len(t, turns, 1)
	require.Equal(t, 3, turns[0].First)
	require.Equal(t, []string{"assistant:  calls g", "tool: 2", "assistant: done"}, lines(turns[0].Messages))
}

func TestFinishTakesMessagesThatWereNeverPrepared(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Plan = modes.Plan{Record: true} })
	old := []*schema.Message{schema.UserMessage("old"), schema.AssistantMessage("old", nil)}
	require.NoError(t, m.Finish(context.Background(), append(old, schema.UserMessage("hi"), schema.AssistantMessage("done", nil))))
	require.Equal(t, []string{"user: hi", "assistant: done"}, m.log.turn(t))
	require.NoError(t, m.Finish(context.Background(), nil))
	require.NoError(t, m.Finish(context.Background(), []*schema.Message{nil, schema.SystemMessage("x")}))
	require.Len(t, m.log.recorded(), 1)
	m.fine(t)
}

func TestFinishWithoutAScopeIsReported(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{} })
	require.NoError(t, m.Finish(context.Background(), say("hi")))
	stages, err := m.failures.seen()
	require.Equal(t, []string{hooks.StageScope}, stages)
	require.ErrorIs(t, err, backends.ErrNoScope)
	require.Empty(t, m.log.recorded())
}

func TestMessageModifierShowsTheNoteAtEveryCall(t *testing.T) {
	m := newMemory(t, nil)
	chat := threeCalls()
	agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: chat, ToolsConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{echoTool(t)}},
		MessageModifier: m.MessageModifier(func(_ context.Context, in []*schema.Message) []*schema.Message {
			return append([]*schema.Message{schema.SystemMessage("persona")}, in...)
		}),
	})
	require.NoError(t, err)
	out, err := agent.Generate(context.Background(), say("hi"))
	require.NoError(t, err)
	require.Equal(t, "done", out.Content)
	for _, call := range chat.Calls() {
		require.Equal(t, 1, notes(call))
		require.Equal(t, "persona", call[0].Content)
		require.True(t, einox.IsNote(call[1]))
	}
	m.fine(t)
}

func TestMessageModifierIsIdempotentAndChangesNothing(t *testing.T) {
	m := newMemory(t, nil)
	modify := m.MessageModifier(nil)
	in := say("hi")
	once := modify(context.Background(), in)
	require.Equal(t, 1, notes(once))
	require.Equal(t, 1, notes(modify(context.Background(), once)))
	require.Equal(t, say("hi"), in)

	m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("down") }
	require.Equal(t, say("hi"), modify(context.Background(), say("hi")))
	require.Empty(t, modify(context.Background(), nil))

	nobody := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{} })
	require.Equal(t, say("hi"), nobody.MessageModifier(nil)(context.Background(), say("hi")))
	stages, _ := nobody.failures.seen()
	require.Equal(t, []string{hooks.StageScope}, stages)
}

func TestAGraphRemembers(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New()
	chain := compose.NewChain[[]*schema.Message, *schema.Message]().
		AppendLambda(compose.InvokableLambda(m.Prepare)).AppendChatModel(chat)
	r, err := chain.Compile(context.Background())
	require.NoError(t, err)
	_, err = r.Invoke(context.Background(), say("hi"))
	require.NoError(t, err)
	require.Equal(t, 1, notes(chat.Calls()[0]))
}

// A handler of the agent calls Prepare and Finish inside a run that is wrapped.
func TestPrepareAndFinishLeaveAWrappedRunAlone(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New()
	own := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{
			BeforeChatModel: func(ctx context.Context, s *adk.ChatModelAgentState) (err error) {
				s.Messages, err = m.Prepare(ctx, s.Messages)
				return err
			},
			AfterChatModel: func(ctx context.Context, s *adk.ChatModelAgentState) error { return m.Finish(ctx, s.Messages) },
		}}
	}
	drain(t, m.WrapRunner(newRunner(newAgent(t, "a", chat, own), false, nil)).Query(context.Background(), "hi"))
	require.Equal(t, 1, notes(chat.Calls()[0]))
	require.Equal(t, []string{"hi"}, m.backend.queries())
	require.Len(t, m.log.recorded(), 1)
	m.fine(t)
}

func TestAQuestionThatIsNotUTF8IsSearchedFor(t *testing.T) {
	m := newMemory(t, nil)
	require.Equal(t, 1, notes(prepare(t, m, say("What \xff\xfe tea?"))))
	require.Equal(t, []string{"What \uFFFD tea?"}, m.backend.queries())
	m.fine(t)
}
