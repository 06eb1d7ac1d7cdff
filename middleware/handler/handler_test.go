// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package handler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/middleware/handler"
	"github.com/einomem/einomem/modes"
)

// The tests of agents in packages hooks and middleware run with this handler as well: see
// testdata. Here is what they do not have: other handlers, and tools of every sort.

var ann = middleware.Scope{UserID: "ann", SessionID: "s1", Workspace: "lab"}

// recorder is a backend that knows one thing of every user, and learns how tools behave.
type recorder struct {
	*testkit.Backend
	mu    sync.Mutex
	calls []string
}

func (r *recorder) RecordCalls(_ context.Context, in *backends.RecordCallsRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range in.Calls {
		r.calls = append(r.calls, fmt.Sprintf("%s %s %s%.20s", c.Tool, c.Arguments, c.Error, c.Result))
	}
	return nil
}

func (*recorder) Flush(context.Context) error { return nil }

// open returns a memory with a window of so many tokens, 0 for none.
func open(t *testing.T, db store.Sessions, tokens int) (*middleware.MemoryMiddleware, *recorder) {
	t.Helper()
	b := &recorder{Backend: testkit.Knowing("Ann reads fast.")}
	cfg := &middleware.Config{Backend: b, Sessions: db, Mode: modes.Both, AwaitWrite: true, Scope: ann}
	if tokens > 0 {
		cfg.Window = &window.Config{Budget: compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1}}
	}
	mem, err := middleware.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	return mem, b
}

type chain = []adk.ChatModelAgentMiddleware

// run runs an agent with handlers once.
func run(t *testing.T, chat *testkit.Chat, handlers chain, streaming bool, tools ...tool.BaseTool) string {
	t.Helper()
	a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { cfg.Handlers = handlers }, tools...)
	return testkit.Last(testkit.Drain(testkit.Runner(a, streaming, nil).Query(t.Context(), "Read everything.")))
}

// An agent that has neither instruction nor tools is given both, with the note and the log.
func TestTheHandlerIsAllThatAnAgentNeeds(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		db := testkit.SQLite(t)
		mem, b := open(t, db, 0)
		chat := testkit.New(testkit.Call("c", "search_memory", `{"keywords":["reads"]}`), testkit.Text("Fast."))
		a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { cfg.Instruction, cfg.Handlers = "", chain{handler.New(mem)} })
		for range 2 {
			out := testkit.Drain(testkit.Runner(a, streaming, nil).Query(t.Context(), "How do I read?"))
			require.Equal(t, "assistant: Fast.", testkit.Last(out))
		}
		require.Equal(t, 1, testkit.Notes(chat.Calls()[0]))
		require.Equal(t, "system: "+mem.Instruction(), testkit.Lines(chat.Calls()[0])[0])
		require.Len(t, chat.Offered(), 2)
		require.Equal(t, [2]int{2, 2}, testkit.Turns(t, db, ann))
		require.Len(t, b.Adds(), 2)
	}
}

// Older releases call no middleware then.
func TestATurnThatEndsWithAToolIsLearntAtOnce(t *testing.T) {
	db := testkit.SQLite(t)
	mem, b := open(t, db, 0)
	a := testkit.Agent(t, "a", testkit.New(testkit.Call("c", "echo", `{"q":"1"}`)), func(cfg *adk.ChatModelAgentConfig) {
		cfg.Handlers = chain{handler.New(mem)}
		cfg.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true}
	}, testkit.Echo(t))
	testkit.Drain(testkit.Runner(a, false, nil).Query(t.Context(), "Say one."))
	require.Equal(t, []string{"user: Say one.", "assistant:  calls echo", "tool: echo:1"}, testkit.Logged(t, db, ann))
	require.Equal(t, [2]int{1, 1}, testkit.Turns(t, db, ann))
	require.Len(t, b.Adds(), 1)
}

const pages, words = 8, 200

// shrinking returns Eino's own handlers that shrink a context, one in each way.
func shrinking(t *testing.T) map[string]adk.ChatModelAgentMiddleware {
	t.Helper()
	out := map[string]adk.ChatModelAgentMiddleware{}
	add := func(name string, h adk.ChatModelAgentMiddleware, err error) {
		require.NoError(t, err)
		out[name] = h
	}
	h, err := summarization.New(t.Context(), &summarization.Config{Model: testkit.New(testkit.Text("Some pages were read.")),
		Trigger: &summarization.TriggerCondition{ContextTokens: 1e6, ContextMessages: 8}})
	add("summarization", h, err)
	h, err = reduction.New(t.Context(), &reduction.Config{SkipTruncation: true, MaxTokensForClear: 1000})
	add("clearing", h, err)
	h, err = reduction.New(t.Context(), &reduction.Config{SkipClear: true, MaxLengthForTrunc: 400, Backend: filesystem.NewInMemoryBackend()})
	add("truncation", h, err)
	return out
}

// What the log holds of a turn, and what was learnt from its calls, beside a handler that
// shrinks the context, in front of it and behind it.
func TestMemoryBesideHandlersThatShrinkTheContext(t *testing.T) {
	script, read := testkit.ReadPages(0, pages, words, testkit.Text("I have read everything."))
	all := slices.Concat([]string{"user: Read everything."}, read, []string{"assistant: I have read everything."})
	isResult := func(s string) bool { return strings.HasPrefix(s, "tool: ") }
	for _, c := range []struct {
		other  string
		first  bool // memory
		window int
		want   string
		called string // the result of a call, as it is learnt from
	}{
		{"clearing", true, 0, "all", "page0word0 page0word"},
		{"clearing", false, 3000, "all", "page0word0 page0word"},
		{"truncation", true, 0, "truncated results", "<persisted-output>\nO"},
		{"truncation", false, 3000, "truncated results", "page0word0 page0word"},
		{"summarization", true, 3000, "all", "page0word0 page0word"},
		{"summarization", false, 3000, "not all results", "page0word0 page0word"},
		{"summarization", true, 0, "the beginning", "page0word0 page0word"}, // no message is left that carries the turn
		{"summarization, wrapped", false, 0, "all", "page0word0 page0word"},
	} {
		t.Run(fmt.Sprintf("%s, memory first %v, window %d", c.other, c.first, c.window), func(t *testing.T) {
			db := testkit.SQLite(t)
			mem, b := open(t, db, c.window)
			name, wrapped := strings.CutSuffix(c.other, ", wrapped")
			handlers := chain{handler.New(mem), shrinking(t)[name]}
			if !c.first {
				slices.Reverse(handlers)
			}
			chat := testkit.New(script...)
			a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { cfg.Handlers = handlers }, testkit.Reader(t, words))
			var r testkit.Run = testkit.Runner(a, false, nil)
			if wrapped {
				r = mem.WrapRunner(testkit.Runner(a, false, nil))
			}
			require.Equal(t, "assistant: I have read everything.", testkit.Last(testkit.Drain(r.Query(t.Context(), "Read everything."))))
			got := testkit.Logged(t, db, ann)
			switch c.want {
			case "all":
				require.Equal(t, all, got)
			case "truncated results":
				require.Len(t, got, len(all))
				require.Contains(t, got[2], "Output too large")
			case "not all results":
				require.Less(t, len(got), len(all))
				require.Equal(t, slices.DeleteFunc(slices.Clone(all), isResult), slices.DeleteFunc(got, isResult))
			case "the beginning":
				require.Equal(t, all[:len(got)], got)
				require.Less(t, len(got), len(all))
			}
			require.Equal(t, `read {"n":0} `+c.called, b.calls[0])
			require.Len(t, b.calls, pages)
			for _, in := range chat.Calls() {
				require.NoError(t, transcript.Check(in))
				if c.first && c.window > 0 {
					require.Equal(t, 1, testkit.Notes(in))
					require.LessOrEqual(t, mem.Window().(*window.Window).Usage(in).Over(), 0)
				}
			}
		})
	}
}

// With a window the next turn is shown what the session holds, in a context that fits.
func TestAWindowKeepsTheSession(t *testing.T) {
	db := testkit.SQLite(t)
	mem, _ := open(t, db, 3000)
	script, _ := testkit.ReadPages(0, 3, 50, testkit.Text("I have read everything."))
	run(t, testkit.New(script...), chain{handler.New(mem)}, false, testkit.Reader(t, 50))
	mem, _ = open(t, db, 3000) // another process
	chat := testkit.New()
	require.Equal(t, "assistant: ok", run(t, chat, chain{handler.New(mem)}, true))
	in := chat.Calls()[0]
	require.Contains(t, testkit.Lines(in), "assistant: I have read everything.")
	require.LessOrEqual(t, mem.Window().(*window.Window).Usage(in).Over(), 0)
	require.Equal(t, [2]int{2, 2}, testkit.Turns(t, db, ann))
}

// Tools of every sort are called as without memory, and each call is learnt from.
func TestCallsOfToolsOfEverySort(t *testing.T) {
	parts := func(s string) *schema.ToolResult {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s}}}
	}
	two := func(q testkit.Query) []string { return []string{"one " + q.Q, " two"} }
	streamed, err := utils.InferStreamTool("streamed", "d", func(_ context.Context, q testkit.Query) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray(two(q)), nil
	})
	require.NoError(t, err)
	enhanced, err := utils.InferEnhancedTool("enhanced", "d", func(_ context.Context, q testkit.Query) (*schema.ToolResult, error) { return parts("one " + q.Q), nil })
	require.NoError(t, err)
	both, err := utils.InferEnhancedStreamTool("both", "d", func(_ context.Context, q testkit.Query) (*schema.StreamReader[*schema.ToolResult], error) {
		return schema.StreamReaderFromArray([]*schema.ToolResult{parts("one " + q.Q)}), nil
	})
	require.NoError(t, err)
	broken := testkit.Tool(t, "broken", func(context.Context, testkit.Query) (string, error) { return "", errors.New("down") })
	for name, want := range map[string]string{"echo": "echo:1", "streamed": "one 1 two", "enhanced": "one 1", "both": "one 1", "broken": "down"} {
		for _, streaming := range []bool{false, true} {
			db := testkit.SQLite(t)
			mem, b := open(t, db, 0)
			said := run(t, testkit.New(testkit.Call("c", name, `{"q":"1"}`), testkit.Text("done")), chain{handler.New(mem)}, streaming, testkit.Echo(t), streamed, enhanced, both, broken)
			require.Len(t, b.calls, 1, name)
			require.Contains(t, b.calls[0], name+` {"q":"1"} `)
			require.Contains(t, b.calls[0], want)
			require.Equal(t, name != "broken", said == "assistant: done", said)
		}
	}
}
