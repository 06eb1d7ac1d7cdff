// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

const likesTea = "Ann likes tea."

// supersedes has a learning model put a statement in the place of the first one that it is shown.
func supersedes(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{
		Name: "remember", Arguments: `{"operations":[{"op":"supersede","index":0,"text":"Ann likes coffee.","said_by":"user","messages":[0]}]}`,
	}}}), nil
}

// consenting is a memory of ann's with every tool, which asks before each change.
func consenting(t *testing.T, db store.Store, cfg *middleware.Config, learner testkit.Reply) (*middleware.MemoryMiddleware, *mem0.Backend) {
	t.Helper()
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: testkit.New(learner), FactsOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	cfg.Backend, cfg.UpdateTool, cfg.DeleteTool, cfg.Scope = b, true, true, ann
	cfg.Window = &window.Config{Budget: compaction.Budget{Window: 8000}}
	cfg.Core = &core.Config{Blocks: []core.Block{{Name: "human", Initial: "Ann."}}}
	return open(t, cfg), b
}

// state is what a consenting memory knows.
func state(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend) string {
	t.Helper()
	blocks, err := mem.Window().(*window.Window).Core().Get(t.Context(), ann)
	require.NoError(t, err)
	out := []string{blocks[0].Text}
	for _, m := range listed(t, b, ann, backends.KindFact) {
		if m.Active() {
			out = append(out, m.Text)
		}
	}
	return strings.Join(out, "|")
}

// described is a change in one line, as a program would show it.
func described(c backends.Change) string {
	out := c.Tool + " " + c.Scope.UserID
	for _, e := range c.Update {
		out += fmt.Sprintf(" %q->%q", e.Old.Text, e.New.Text)
	}
	for _, m := range append(c.Retract, c.Delete...) {
		out += fmt.Sprintf(" -%q", m.Text)
	}
	return out
}

// Each tool asks before it changes anything. The question interrupts the run; another process
// resumes it with the answer: yes is carried out once, no changes nothing, and the model reads
// which it was.
func TestToolsAskBeforeTheyChangeAnything(t *testing.T) {
	for name, c := range map[string]struct{ arguments, asked, after, told string }{
		"update_memory":       {`{"id":"%s","content":"Ann likes cocoa."}`, `"Ann likes tea."->"Ann likes cocoa."`, "Ann.|Ann likes cocoa.", "Updated memory"},
		"delete_memory":       {`{"id":"%s"}`, `-"Ann likes tea."`, "Ann.", "Deleted memory"},
		"add_memory":          {`{"thinking":"t","content":["Ann likes coffee."]}`, `"Ann likes tea."->"Ann likes coffee."`, "Ann.|Ann likes coffee.", "replaced an older memory"},
		"core_memory_append":  {`{"block":"human","text":"Is 30."}`, `"Ann."->"Ann.\nIs 30."`, "Ann.\nIs 30.|" + likesTea, "Added to core memory"},
		"core_memory_replace": {`{"block":"human","old_text":"Ann","new_text":"Bo"}`, `"Ann."->"Bo."`, "Bo.|" + likesTea, "Replaced in core memory"},
	} {
		for answer, want := range map[string]struct{ state, told string }{"yes": {c.after, c.told}, "no": {"Ann.|" + likesTea, "declined"}} {
			t.Run(name+"/"+answer, func(t *testing.T) {
				db, points := testkit.SQLite(t), testkit.Checkpoints(t.TempDir())
				var failures testkit.Failures
				confirm := func(ctx context.Context, ch backends.Change) (bool, error) {
					if asked, _, _ := tool.GetInterruptState[any](ctx); !asked {
						return false, tool.Interrupt(ctx, described(ch))
					}
					_, _, said := tool.GetResumeContext[string](ctx)
					return said == "yes", nil
				}
				mem, b := consenting(t, db, &middleware.Config{Confirm: confirm, OnError: failures.Add}, supersedes)
				m, err := b.Remember(t.Context(), ann, likesTea)
				require.NoError(t, err)
				arguments := c.arguments
				if strings.Contains(arguments, "%s") {
					arguments = fmt.Sprintf(arguments, m.Memory.ID)
				}
				chat := testkit.New(testkit.Call("c", name, arguments), testkit.Text("done"))
				run := func(mem *middleware.MemoryMiddleware) *adk.Runner {
					return testkit.Runner(testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
						testkit.Attach(cfg, mem)
					}), false, points)
				}
				var question *adk.InterruptCtx
				events := run(mem).Query(t.Context(), "go on", adk.WithCheckPointID("cp"))
				for e, ok := events.Next(); ok; e, ok = events.Next() {
					require.NoError(t, e.Err)
					if e.Action != nil && e.Action.Interrupted != nil {
						for _, x := range e.Action.Interrupted.InterruptContexts {
							if x.IsRootCause {
								question = x
							}
						}
					}
				}
				require.NotNil(t, question, "the run waits for an answer")
				require.Equal(t, name+" ann "+c.asked, question.Info)
				require.Equal(t, "Ann.|"+likesTea, state(t, mem, b), "nothing is changed until then")

				other, b := consenting(t, db, &middleware.Config{Confirm: confirm, OnError: failures.Add}, supersedes)
				resumed, err := run(other).ResumeWithParams(t.Context(), "cp", &adk.ResumeParams{Targets: map[string]any{question.ID: answer}})
				require.NoError(t, err)
				require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(resumed)))
				calls := chat.Calls()
				require.Contains(t, calls[1][len(calls[1])-1].Content, want.told)
				require.Equal(t, want.state, state(t, other, b))
				require.NoError(t, failures.Err(), "neither is a failure")
			})
		}
	}
}

// A Confirm that fails changes nothing: the model reads so, and the program. What adds without
// changing anything does not ask.
func TestAConfirmThatFails(t *testing.T) {
	var failures testkit.Failures
	asked := 0
	mem, b := consenting(t, testkit.SQLite(t), &middleware.Config{OnError: failures.Add, Confirm: func(context.Context, backends.Change) (bool, error) {
		asked++
		return true, errors.New("no line")
	}}, func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "remember", Arguments: `{"operations":[{"op":"add","text":"Ann has a dog.","messages":[0]}]}`}}}), nil
	})
	m, err := b.Remember(t.Context(), ann, likesTea)
	require.NoError(t, err)
	_, chat := ask(t, t.Context(), mem, "go on", testkit.Call("c", "delete_memory", `{"id":"`+m.Memory.ID+`"}`), testkit.Call("d", "add_memory", `{"thinking":"t","content":["Ann has a dog."]}`), testkit.Text("done"))
	require.Contains(t, chat.Calls()[1][len(chat.Calls()[1])-1].Content, "no line")
	require.Equal(t, []string{"delete_memory"}, failures.Stages())
	require.ErrorContains(t, failures.Err(), "no line")
	require.Equal(t, 1, asked)
	require.Equal(t, "Ann.|"+likesTea+"|Ann has a dog.", state(t, mem, b))
}

// What is learnt from turns asks the middleware's Confirm before it retracts anything.
func TestLearningAsksBeforeItRetracts(t *testing.T) {
	retracts := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "remember", Arguments: `{"operations":[{"op":"retract","index":0,"messages":[0]}]}`}}}), nil
	}
	for allowed, want := range map[bool]string{true: "Ann.", false: "Ann.|" + likesTea} {
		var asked []string
		mem, b := consenting(t, testkit.SQLite(t), &middleware.Config{AwaitWrite: true, Confirm: func(_ context.Context, c backends.Change) (bool, error) {
			asked = append(asked, described(c))
			return allowed, nil
		}}, retracts)
		_, err := b.Remember(t.Context(), ann, likesTea)
		require.NoError(t, err)
		ask(t, t.Context(), mem, "I do not like tea any more", testkit.Text("noted"))
		require.Equal(t, []string{` ann -"Ann likes tea."`}, asked)
		require.Equal(t, want, state(t, mem, b))
	}
}

// Nothing that a model writes in a private turn is kept, and it reads why; it still finds what
// is known, and deletes.
func TestToolsWriteNothingDownInAPrivateTurn(t *testing.T) {
	for name, c := range map[string]struct {
		ctx            context.Context
		question, says string
	}{
		"asked for":            {t.Context(), "Don't remember this: my PIN is 9911", "not to be remembered"},
		"asked for in Chinese": {t.Context(), "这个别记：我的密码是9911", "not to be remembered"},
		"incognito":            {middleware.Incognito(t.Context()), "My PIN is 9911", "not to be remembered"},
		"a marked message":     {t.Context(), "", "not to be remembered"},
		"not private":          {t.Context(), "Remember this: my PIN is 9911", ""},
	} {
		for _, by := range []string{"middleware", "middleware and runner", "runner"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				mem, b := consenting(t, testkit.SQLite(t), &middleware.Config{}, supersedes)
				m, err := b.Remember(t.Context(), ann, likesTea)
				require.NoError(t, err)
				chat := testkit.New(testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Call("2", "update_memory", `{"id":"`+m.Memory.ID+`","content":"PIN 9911"}`),
					testkit.Call("3", "add_memory", `{"thinking":"t","content":["PIN 9911"]}`), testkit.Call("4", "core_memory_append", `{"block":"human","text":"PIN 9911"}`), testkit.Text("done"))
				input := []*schema.Message{schema.UserMessage(c.question)}
				if c.question == "" {
					input[0] = middleware.Private(schema.UserMessage("My PIN is 9911"))
				}
				switch r := agent(t, mem, chat); by {
				case "middleware":
					testkit.Drain(r.Run(c.ctx, input))
				case "runner": // the agent has the tools alone
					tools, err := mem.Tools(c.ctx)
					require.NoError(t, err)
					r = testkit.Runner(testkit.Agent(t, "a", chat, nil, tools...), false, nil)
					fallthrough
				default:
					testkit.Drain(mem.WrapRunner(r).Run(c.ctx, input))
				}
				calls := chat.Calls()
				require.Contains(t, calls[1][len(calls[1])-1].Content, likesTea, "what is known is found")
				if c.says == "" {
					require.NotEqual(t, "Ann.|"+likesTea, state(t, mem, b))
					return
				}
				for _, call := range calls[2:] {
					require.Contains(t, call[len(call)-1].Content, c.says)
				}
				require.Equal(t, "Ann.|"+likesTea, state(t, mem, b))
			})
		}
	}
}
