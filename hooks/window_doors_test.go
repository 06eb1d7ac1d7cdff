// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
)

// Three long turns of one session, through every door: the model sees what was
// said before, every context is valid and fits, and the log has every word.
func TestALongSessionThroughEveryDoor(t *testing.T) {
	const words, pages = 120, 12
	for name, by := range doors {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprint(name, streaming), func(t *testing.T) {
				d := newDesk(t, setting{tokens: 3000})
				var want []string
				for turn := range 3 {
					script, said := readPages(turn*pages, (turn+1)*pages, words, testkit.Text(fmt.Sprint("answer ", turn)))
					chat := testkit.New(script...)
					out := drain(t, d.enter(by, chat, nil, streaming, readTool(t, words)).Query(context.Background(), fmt.Sprint("question ", turn)))
					require.Equal(t, append(said, fmt.Sprint("assistant: answer ", turn)), out)
					d.sane(chat)
					require.Len(t, chat.Calls(), pages+1)
					for _, call := range chat.Calls() {
						require.Equal(t, 1, recalled(call))
						require.Equal(t, "You are a.", call[0].Content[:10])
						require.Contains(t, text(call...), fmt.Sprint("question ", turn))
					}
					if turn > 0 {
						require.Contains(t, text(chat.Calls()[0]...), fmt.Sprint("question ", turn-1), "what was said before")
					}
					want = append(append(append(want, fmt.Sprint("user: question ", turn)), said...), fmt.Sprint("assistant: answer ", turn))
					require.Equal(t, want, d.logged())
					all, done := d.turns()
					require.Equal(t, []int{turn + 1, turn + 1}, []int{all, done})
				}
				d.fine()
			})
		}
	}
}

// graphOf is an agent as somebody writes it who has no agent: a model and tools in
// a loop, Prepare before every call of the model, Finish at the end.
func graphOf(t *testing.T, d *desk, chat model.ToolCallingChatModel, tools ...tool.BaseTool) compose.Runnable[[]*schema.Message, *schema.Message] {
	t.Helper()
	ctx := context.Background()
	type state struct{ messages []*schema.Message }
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	require.NoError(t, g.AddChatModelNode("model", chat,
		compose.WithStatePreHandler(func(ctx context.Context, in []*schema.Message, s *state) (_ []*schema.Message, err error) {
			s.messages, err = d.Prepare(ctx, append(s.messages, in...))
			return s.messages, err
		}),
		compose.WithStatePostHandler(func(ctx context.Context, out *schema.Message, s *state) (*schema.Message, error) {
			s.messages = append(s.messages, out)
			if len(out.ToolCalls) > 0 {
				return out, nil
			}
			return out, d.Finish(ctx, s.messages)
		})))
	node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	require.NoError(t, g.AddToolsNode("tools", node))
	require.NoError(t, g.AddEdge(compose.START, "model"))
	require.NoError(t, g.AddBranch("model", compose.NewGraphBranch(func(_ context.Context, m *schema.Message) (string, error) {
		if len(m.ToolCalls) > 0 {
			return "tools", nil
		}
		return compose.END, nil
	}, map[string]bool{"tools": true, compose.END: true})))
	require.NoError(t, g.AddEdge("tools", "model"))
	r, err := g.Compile(ctx, compose.WithMaxRunSteps(200))
	require.NoError(t, err)
	return r
}

func TestALongSessionInAGraph(t *testing.T) {
	const words, pages = 120, 12
	d := newDesk(t, setting{tokens: 3000})
	var want []string
	for turn := range 3 {
		script, said := readPages(turn*pages, (turn+1)*pages, words, testkit.Text(fmt.Sprint("answer ", turn)))
		chat := testkit.New(script...)
		_, err := graphOf(t, d, chat, readTool(t, words)).Invoke(context.Background(), append([]*schema.Message{schema.SystemMessage("You read.")}, say(fmt.Sprint("question ", turn))...))
		require.NoError(t, err)
		d.sane(chat)
		for _, call := range chat.Calls() {
			require.Equal(t, 1, recalled(call))
		}
		want = append(append(append(want, fmt.Sprint("user: question ", turn)), said...), fmt.Sprint("assistant: answer ", turn))
		require.Equal(t, want, d.logged(), "also what left the context before Finish was called")
		all, done := d.turns()
		require.Equal(t, []int{turn + 1, turn + 1}, []int{all, done})
	}
	d.fine()
}

// reactOf is a react agent, and what its state ends with.
func reactOf(t *testing.T, cfg *react.AgentConfig, tools ...tool.BaseTool) *react.Agent {
	t.Helper()
	cfg.ToolsConfig = compose.ToolsNodeConfig{Tools: tools}
	cfg.MaxStep = 300
	a, err := react.NewAgent(context.Background(), cfg)
	require.NoError(t, err)
	return a
}

// generate runs a react agent and returns all that it produced.
func generate(t *testing.T, a *react.Agent, in []*schema.Message) []*schema.Message {
	t.Helper()
	opt, future := react.WithMessageFuture()
	_, err := a.Generate(context.Background(), in, opt, agent.WithComposeOptions())
	require.NoError(t, err)
	var out []*schema.Message
	for it := future.GetMessages(); ; {
		m, ok, err := it.Next()
		require.NoError(t, err)
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

// flow/agent/react, in the three ways that its configuration allows; the turn is
// recorded by Finish, from what the agent was given and what it produced.
func TestALongSessionInReact(t *testing.T) {
	const words, pages = 120, 12
	for name, configure := range map[string]func(d *desk, chat *testkit.Chat) *react.AgentConfig{
		"rewriter": func(d *desk, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: chat, MessageRewriter: d.MessageRewriter(nil)}
		},
		"rewriter and system prompt": func(d *desk, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: chat, MessageRewriter: d.MessageRewriter(nil),
				MessageModifier: func(_ context.Context, in []*schema.Message) []*schema.Message {
					return append([]*schema.Message{schema.SystemMessage("You.")}, in...)
				}}
		},
		"modifier and model": func(d *desk, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: d.WrapModel(chat), MessageModifier: d.MessageModifier(nil)}
		},
		"model": func(d *desk, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: d.WrapModel(chat)}
		},
	} {
		for _, prepared := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", prepared ", prepared), func(t *testing.T) {
				d := newDesk(t, setting{tokens: 3000})
				var want []string
				for turn := range 3 {
					script, said := readPages(turn*pages, (turn+1)*pages, words, testkit.Text(fmt.Sprint("answer ", turn)))
					chat := testkit.New(script...)
					in := say(fmt.Sprint("question ", turn))
					if prepared {
						var err error
						in, err = d.Prepare(context.Background(), in)
						require.NoError(t, err)
					}
					made := generate(t, reactOf(t, configure(d, chat), readTool(t, words)), in)
					require.NoError(t, d.Finish(context.Background(), append(in, made...)))
					if name != "rewriter and system prompt" { // which adds to what was fitted
						d.sane(chat)
					}
					want = append(append(append(want, fmt.Sprint("user: question ", turn)), said...), fmt.Sprint("assistant: answer ", turn))
					require.Equal(t, want, d.logged())
					all, done := d.turns()
					require.Equal(t, []int{turn + 1, turn + 1}, []int{all, done}, "each turn once")
					if turn > 0 && (prepared || name[0] == 'r') {
						require.Contains(t, text(chat.Calls()[0]...), fmt.Sprint("question ", turn-1), "what was said before")
					}
				}
				d.fine()
			})
		}
	}
}

// A graph that calls the model once: history in front, and the answer recorded.
func TestAChainWithAWrappedModelIsWithinBudget(t *testing.T) {
	d := newDesk(t, setting{tokens: 1000})
	chat := testkit.New(testkit.Text("ok"))
	c := compose.NewChain[[]*schema.Message, *schema.Message]()
	c.AppendChatModel(d.WrapModel(chat))
	r, err := c.Compile(context.Background())
	require.NoError(t, err)
	var in []*schema.Message
	for n := range 40 {
		in = append(in, schema.UserMessage(page(n, 30)), schema.AssistantMessage(page(n+100, 30), nil))
	}
	_, err = r.Invoke(context.Background(), append(in, say("hi")...))
	require.NoError(t, err)
	d.sane(chat)
	require.Less(t, len(chat.Calls()[0]), 40)
	require.Empty(t, d.entries(ann), "a model alone records nothing")
	d.fine()
}
