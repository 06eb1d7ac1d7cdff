// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// returning is a tool that returns always the same, or fails.
func returning(t testing.TB, name, text string, err error) tool.BaseTool {
	t.Helper()
	tl, failed := utils.InferTool(name, name, func(context.Context, query) (string, error) { return text, err })
	require.NoError(t, failed)
	return tl
}

// What one run leaves in the log, and what the next one is shown of it.
func TestWhatARunLeavesBehind(t *testing.T) {
	down := errors.New("down")
	thinking := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		m := schema.AssistantMessage("done", nil)
		m.ReasoningContent = "because"
		return m, nil
	}
	for name, c := range map[string]struct {
		script  []testkit.Reply
		tools   []tool.BaseTool
		logged  []string // of every door, when no door has its own
		by      map[string][]string
		shown   int  // messages of the next run; 0: as many as are logged
		limited bool // to two iterations
		fails   bool
	}{
		"reasoning": {script: []testkit.Reply{thinking}, logged: []string{"user: hi", "assistant: done"}},
		"an empty result": {script: []testkit.Reply{testkit.Call("c", "empty", "{}"), testkit.Text("done")}, tools: []tool.BaseTool{returning(t, "empty", "", nil)},
			logged: []string{"user: hi", "assistant:  calls empty", "tool: ", "assistant: done"}},
		"an empty answer": {script: []testkit.Reply{testkit.Text("")}, logged: []string{"user: hi"}},
		"a tool that fails": {script: []testkit.Reply{testkit.Call("c", "bad", "{}")}, tools: []tool.BaseTool{returning(t, "bad", "", down)},
			logged: []string{"user: hi", "assistant:  calls bad"}, shown: 3, fails: true},
		"a model that fails":        {script: []testkit.Reply{testkit.Fail(down)}, logged: []string{"user: hi"}, fails: true},
		"a model that fails midway": {script: []testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`), testkit.Fail(down)}, tools: []tool.BaseTool{echoTool(t)}, logged: []string{"user: hi", "assistant:  calls echo", "tool: echo:1"}, fails: true},
		"too many iterations": {script: []testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`)}, tools: []tool.BaseTool{echoTool(t)}, limited: true, fails: true,
			by: map[string][]string{
				"runner": {"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo", "tool: echo:1"},
				"both":   {"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo", "tool: echo:1"},
				// The model is not called again, so that nobody sees the last result.
				"middleware": {"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo"},
			}, shown: 5},
		"a call that is repeated under one id": {script: []testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`), testkit.Call("c", "echo", `{"q":"2"}`), testkit.Text("done")}, tools: []tool.BaseTool{echoTool(t)},
			logged: []string{"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo", "tool: echo:2", "assistant: done"}},
	} {
		for by, d := range doors {
			for _, streaming := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", by, " ", streaming), func(t *testing.T) {
					x := newDesk(t, setting{})
					chat := testkit.New(c.script...)
					r := x.enter(d, chat, nil, streaming, c.tools...)
					if c.limited {
						r = x.limited(d, chat, 2, c.tools...)
					}
					out := drain(t, r.Query(context.Background(), "hi"))
					failed := false
					for _, o := range out {
						failed = failed || len(o) > 6 && o[:6] == "error:"
					}
					require.Equal(t, c.fails, failed, out)
					want := c.logged
					if want == nil {
						want = c.by[by]
					}
					require.Equal(t, want, x.logged())
					_, done := x.turns()
					require.Equal(t, done == 0, c.fails, "a turn that failed is not done")
					n := c.shown
					if n == 0 {
						n = len(want)
					}
					next := x.nextMessages()
					if name == "reasoning" && !streaming { // which the scripted model does not stream
						require.Equal(t, "because", next[1].ReasoningContent)
					}
					require.Len(t, shown(next), n, outline(next))
					x.fine()
				})
			}
		}
	}
}

// limited enters an agent that may call its model so many times.
func (d *desk) limited(by door, chat *testkit.Chat, iterations int, tools ...tool.BaseTool) runner {
	inner := newRunner(newAgent(d.t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
		if by.middleware {
			d.with(cfg)
		}
		cfg.MaxIterations = iterations
	}, tools...), false, nil)
	if by.runner {
		return d.WrapRunner(inner)
	}
	return inner
}

// A tool that returns directly ends the turn without the model. Only a runner sees
// its result: with the middleware alone the turn stays open.
func TestAToolThatReturnsDirectly(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{})
			chat := testkit.New(testkit.Call("c", "echo", `{"q":"1"}`))
			inner := newRunner(newAgent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
				cfg.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true}
				if by.middleware {
					d.with(cfg)
				}
			}, echoTool(t)), false, nil)
			var r runner = inner
			if by.runner {
				r = d.WrapRunner(inner)
			}
			require.Equal(t, []string{"assistant:  calls echo", "tool: echo:1"}, drain(t, r.Query(context.Background(), "hi")))
			next := d.next()
			require.Len(t, next, 3)
			_, done := d.turns()
			if by.runner {
				require.Equal(t, []string{"user: hi", "assistant:  calls echo", "tool: echo:1"}, next)
				require.Equal(t, 1, done)
			} else {
				require.Equal(t, []string{"user: hi", "assistant:  calls echo"}, d.logged())
				require.Zero(t, done)
			}
			d.fine()
		})
	}
}

func TestARunThatIsCancelledIsInTheLogAsFarAsItGot(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{})
			ctx, cancel := context.WithCancel(context.Background())
			chat := testkit.New(testkit.Call("c", "echo", `{"q":"1"}`), func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
				cancel()
				return nil, ctx.Err()
			})
			drain(t, d.enter(by, chat, nil, false, echoTool(t)).Query(ctx, "hi"))
			require.Equal(t, []string{"user: hi", "assistant:  calls echo", "tool: echo:1"}, d.logged())
			_, done := d.turns()
			require.Zero(t, done)
			require.Equal(t, d.logged(), d.next())
			d.fine()
		})
	}
}

// A user who sends several messages at once, or one after a turn that failed.
func TestSeveralMessagesOfTheUser(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{})
			drain(t, d.enter(by, testkit.New(testkit.Fail(errors.New("down"))), nil, false).Query(context.Background(), "first"))
			chat := testkit.New(testkit.Text("ok"))
			drain(t, d.enter(by, chat, nil, false).Run(context.Background(), say("second", "third")))
			d.sane(chat)
			require.Equal(t, []string{"user: first", "user: second", "user: third"}, shown(chat.Calls()[0]))
			require.Equal(t, []string{"user: first", "user: second", "user: third", "assistant: ok"}, d.logged())
			all, done := d.turns()
			require.Equal(t, []int{2, 1}, []int{all, done})
			require.Equal(t, d.logged(), d.next())
			d.fine()
		})
	}
}

// What never fits fails the run, is in the log, and does not fail the runs after it.
func TestAQuestionThatNeverFits(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: 1500})
			chat := testkit.New(testkit.Text("ok"))
			events := d.enter(by, chat, nil, false).Query(context.Background(), page(1, 600))
			e, ok := events.Next()
			require.True(t, ok)
			var over *compaction.OverError
			require.ErrorAs(t, e.Err, &over)
			require.Greater(t, over.Tokens-over.Limit, 500)
			_, ok = events.Next()
			require.False(t, ok)
			require.Empty(t, chat.Calls())
			require.Equal(t, []string{"user: " + page(1, 600)}, d.logged())
			for n := range 3 {
				require.Equal(t, []string{"assistant: ok"}, drain(t, d.enter(by, chat, nil, false).Query(context.Background(), fmt.Sprint("again ", n))))
			}
			d.sane(chat)
			d.fine()
		})
	}
}

// Without a session there is no history: turns of one user have nothing to do with
// each other. What leaves a context is kept all the same.
func TestARunWithoutASession(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: 2500, hooks: func(c *hooks.Config) { c.Scope.SessionID = "" }})
			for range 2 {
				script, _ := readPages(0, 12, 120, testkit.Text("done"))
				chat := testkit.New(script...)
				out := drain(t, d.enter(by, chat, nil, false, readTool(t, 120)).Query(context.Background(), "read"))
				require.Equal(t, "assistant: done", out[len(out)-1])
				d.sane(chat)
				require.Equal(t, []string{"user: read"}, shown(chat.Calls()[0]))
			}
			d.fine()
		})
	}
}

// Nobody says whose it is: no history and no log, and the run goes on; what does
// not fit is refused.
func TestARunOfNobody(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: 1500, hooks: func(c *hooks.Config) { c.Scope.UserID, c.Scope.AgentID = "", "" }})
			chat := testkit.New(testkit.Text("ok"))
			require.Equal(t, []string{"assistant: ok"}, drain(t, d.enter(by, chat, nil, false).Query(context.Background(), "hi")))
			require.Equal(t, []string{"user: hi"}, shown(chat.Calls()[0]))
			stages, _ := d.failures.seen()
			require.Contains(t, stages, hooks.StageScope)
			events := d.enter(by, chat, nil, false).Query(context.Background(), page(1, 600))
			e, _ := events.Next()
			require.ErrorIs(t, e.Err, compaction.ErrOver)
			for _, ok := events.Next(); ok; _, ok = events.Next() {
			}
		})
	}
}
