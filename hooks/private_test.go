// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

// secret is what must not be found where memory keeps things.
const secret = "zebra77"

// vault is a store in files of its own.
type vault struct {
	*sqlitestore.Store
	t   testing.TB
	dir string
}

func newVault(t testing.TB) *vault {
	v := &vault{t: t, dir: t.TempDir()}
	var err error
	v.Store, err = sqlitestore.Open(context.Background(), filepath.Join(v.dir, "m.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// holds reports whether any file of the store has the text.
func (v *vault) holds(text string) bool {
	files, err := filepath.Glob(filepath.Join(v.dir, "*"))
	require.NoError(v.t, err)
	require.NotEmpty(v.t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(v.t, err)
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

// learnt is all that the backend was ever given to learn from, searched for beside included.
func learnt(m *memory) string {
	_, err := m.log.Consolidate(context.Background(), ann)
	require.NoError(m.t, err)
	var told []string
	for _, r := range m.backend.Adds() {
		for _, msg := range append(r.Messages, r.Context...) {
			told = append(told, testkit.Line(msg.Message))
		}
	}
	for _, r := range m.backend.Searches() {
		for _, beside := range r.Beside {
			told = append(told, beside.Text)
		}
	}
	return strings.Join(told, "\n")
}

// logLines is what ann's session says.
func logLines(m *memory) (out []string) {
	for _, e := range testkit.Entries(m.t, m.db, ann) {
		if e.Content != "" || len(e.ToolCalls) > 0 {
			out = append(out, testkit.Line(e.Message.Message))
		}
	}
	return out
}

func notTool(_ context.Context, m *schema.Message) bool { return m.ToolName != "echo" }

// Whatever says that something is private, through any door: neither the store nor the backend
// gets a word of it, nor of what the agent says behind it in the turn. The turns around it are
// remembered, and the next run gets a conversation that providers take.
func TestWhatIsPrivateIsNeitherLoggedNorLearnt(t *testing.T) {
	user, private, zh := "user: [Private: not kept.]", "assistant: [Private: not kept.]", "user: [私密内容，未保留。]"
	called := []string{"assistant:  calls echo", "tool: [Private: not kept.]"}
	for name, c := range map[string]struct {
		ask   *schema.Message
		learn func(context.Context, *schema.Message) bool
		ctx   func(context.Context) context.Context
		want  []string // of the private turn in the log
	}{
		"asked for":            {ask: schema.UserMessage("Do NOT remember: PIN zebra77"), want: append(append([]string{user}, called...), private)},
		"asked for in Chinese": {ask: schema.UserMessage("不要记住：我的密码是zebra77"), want: append(append([]string{zh}, called...), private)},
		"a marked message":     {ask: einox.Mark{Private: einox.Private}.On(schema.UserMessage("PIN zebra77")), want: append(append([]string{user}, called...), private)},
		"a refused message": {ask: schema.UserMessage("PIN zebra77"), learn: func(_ context.Context, m *schema.Message) bool {
			return !strings.Contains(m.Content, secret)
		}, want: append(append([]string{user}, called...), private)},
		"a refused tool": {ask: schema.UserMessage("What is my code?"), learn: notTool, want: append(append([]string{"user: What is my code?"}, called...), private)},
		"incognito":      {ask: schema.UserMessage("PIN zebra77"), ctx: backends.Incognito},
	} {
		for entrance, by := range doors {
			for _, tokens := range []int{0, 4000} {
				t.Run(name+"/"+entrance, func(t *testing.T) {
					files := newVault(t)
					m := newMemory(t, func(s *setup) { s.db, s.Learn, s.tokens = files, c.learn, tokens })
					ctx := t.Context()
					if c.ctx != nil {
						ctx = c.ctx(ctx)
					}
					argument := `{"q":"zebra77"}`
					if name == "a refused tool" {
						argument = `{"q":"zebra` + `\u00377"}` // not the word itself
					}
					testkit.Drain(m.enter(by, testkit.New(testkit.Text("Hello Ann")), nil, false).Query(t.Context(), "I am Ann"))
					chat := testkit.New(testkit.Call("c", "echo", argument), testkit.Text("your PIN zebra77 is fine"))
					answers := testkit.Drain(m.enter(by, chat, nil, true, testkit.Echo(t)).Run(ctx, []*schema.Message{c.ask}))
					require.Equal(t, "assistant: your PIN zebra77 is fine", testkit.Last(answers), "the reply goes on")
					require.Contains(t, strings.Join(testkit.Lines(chat.Calls()[1]), "\n"), "tool: echo:zebra77", "the model sees what it is to answer")
					last := testkit.New(testkit.Text("yes"))
					testkit.Drain(m.enter(by, last, nil, false).Query(t.Context(), "I like tea"))
					m.sane(chat, last)

					want := append(append([]string{"user: I am Ann", "assistant: Hello Ann"}, c.want...), "user: I like tea", "assistant: yes")
					require.Equal(t, want, logLines(m))
					told := learnt(m)
					require.NotContains(t, told, secret)
					require.NotContains(t, told, "assistant: [Private", "what says nothing is not learnt from")
					require.Contains(t, told, "user: I am Ann\nassistant: Hello Ann")
					require.Contains(t, told, "user: I like tea\nassistant: yes")
					require.Equal(t, name == "a refused tool", strings.Contains(told, "my code"), "what is not private is learnt")
					require.NotContains(t, strings.Join(testkit.Lines(last.Calls()[0]), "\n"), secret)
					require.False(t, files.holds(secret), "no file has it")
					m.fine()
				})
			}
		}
	}
}

// "Don't remember that" is about what was said before: in the same turn, and of the turn
// before what is not learnt yet.
func TestAnOrderThatStandsAloneIsAboutWhatWasSaidBefore(t *testing.T) {
	for name, by := range doors {
		for _, order := range []string{"Please don't remember that.", "刚才那句别记。"} {
			for _, turns := range [][][]string{{{"My PIN is zebra77", order}}, {{"My PIN is zebra77"}, {order}}} {
				t.Run(name, func(t *testing.T) {
					files := newVault(t)
					m := newMemory(t, windowed(4000, on(files)))
					say := func(answer string, texts ...string) {
						testkit.Drain(m.enter(by, testkit.New(testkit.Text(answer)), nil, false).Run(t.Context(), testkit.Say(texts...)))
					}
					say("Hello", "I am Ann")
					for _, texts := range turns {
						say("ok zebra77", texts...)
					}
					say("Noted", "I like tea")
					require.NotContains(t, strings.Join(logLines(m), "\n"), secret)
					require.NotContains(t, strings.Join(m.next(), "\n"), secret)
					_, err := m.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "PIN"})
					require.NoError(t, err)
					told := learnt(m)
					require.NotContains(t, told, secret)
					require.NotContains(t, told, "[Private", "nor is a placeholder searched")
					require.Contains(t, told, "user: I am Ann\nassistant: Hello")
					require.Contains(t, told, "user: I like tea\nassistant: Noted")
					say("ok", order)
					require.Contains(t, logLines(m), "user: I like tea", "what is learnt from is not the rule's any more")
					m.fine()
				})
			}
		}
	}
}

// A turn that is interrupted and resumed stays private, also in another process.
func TestAPrivateTurnStaysPrivateWhenItIsResumed(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			files, points := newVault(t), testkit.Checkpoints(t.TempDir())
			chat := testkit.New(testkit.Call("c1", "ask", "{}"), testkit.Text("fine, zebra77"))
			m := newMemory(t, on(files))
			testkit.Drain(m.enter(by, chat, points, false, testkit.Approval(t)).Query(t.Context(), "Don't remember this: zebra77", adk.WithCheckPointID("cp")))
			require.False(t, files.holds(secret), "an open turn does not have it either")
			other := newMemory(t, on(files))
			testkit.Resume(t, t.Context(), other.enter(by, chat, points, false, testkit.Approval(t)), "cp")
			require.Equal(t, []string{"user: [Private: not kept.]", "assistant:  calls ask", "tool: [Private: not kept.]", "assistant: [Private: not kept.]"}, logLines(other))
			require.Empty(t, learnt(other))
			require.False(t, files.holds(secret))
			other.fine()
		})
	}
}

// Another middleware may put a summary in the place of what made the turn private.
func TestAPrivateTurnStaysPrivateBehindASummary(t *testing.T) {
	m := newMemory(t, windowed(4000))
	now := m.prepare([]*schema.Message{schema.SystemMessage("You read."), schema.UserMessage("Don't remember this: zebra77")})
	now = m.prepare(append(now, testkit.PageRead(0, 10)...))
	summary := schema.UserMessage("They said zebra77.")
	summary.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
	now = m.prepare(append([]*schema.Message{now[0], summary}, testkit.PageRead(1, 10)...))
	require.NoError(t, m.Finish(t.Context(), append(now, schema.AssistantMessage("zebra77 it is", nil))))
	said := logLines(m)
	require.Len(t, said, 6)
	require.NotContains(t, strings.Join(said, "\n"), secret)
	require.NotContains(t, strings.Join(said, "\n"), "page", "nothing of the turn")
	m.fine()
}

// What leaves a context that is too large goes to archives and summaries without a private
// word: of the running turn, and of one before it that the caller passes.
func TestWhatIsPrivateIsNeitherArchivedNorSummarised(t *testing.T) {
	for name, by := range doors {
		for _, past := range []string{"My PIN is zebra77. Please do not remember it.", "别记：zebra77"} {
			t.Run(name, func(t *testing.T) {
				files := newVault(t)
				var summariser *testkit.Chat
				m := newMemory(t, windowed(3000, on(files), func(s *setup) {
					summariser = everything(t, s)
					s.Learn = notTool
				}))
				input := append(testkit.Turn(past, strings.Repeat("PIN zebra77 noted ", 60)), testkit.Turn("and?", strings.Repeat("more words ", 300))...)
				chat := testkit.New(
					testkit.Call("c1", "echo", `{"q":"`+strings.Repeat("zebra77 ", 700)+`"}`), testkit.Call("c2", "read", `{"n":1}`), testkit.Call("c3", "read", `{"n":2}`), testkit.Text("done"))
				r := m.enter(by, chat, nil, false, testkit.Echo(t), testkit.Reader(t, 700))
				require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(r.Run(t.Context(), append(input, testkit.Say("Read it all.")...)))))
				shown, err := json.Marshal(summariser.Calls())
				require.NoError(t, err)
				require.NotContains(t, string(shown), secret, "the summarising model does not see it")
				require.False(t, files.holds("zebra77 noted"), "no archive has what was said before")
				require.False(t, files.holds("echo:zebra77"), "nor what the tool returned")
			})
		}
	}
}

// A tool that is called in a private turn knows it, as does the agent that it calls; calls
// of such turns, and of tools that Config.Learn leaves out, are not recorded.
func TestCallsOfToolsInAPrivateTurn(t *testing.T) {
	for question, private := range map[string]bool{"Don't remember this: zebra77": true, "这个别记，zebra77": true, "Remember this: zebra77": false} {
		for name, by := range doors {
			if name == "runner" {
				continue // its agent has no middleware for tools
			}
			t.Run(name+"/"+question, func(t *testing.T) {
				rec, m, _ := recording(t, nil)
				var seen, incognito bool
				look := testkit.Tool(t, "look", func(ctx context.Context, _ struct{}) (string, error) {
					seen, incognito = m.ToolSetup().Private(ctx), backends.IsIncognito(ctx)
					return secret, nil
				})
				inner := adk.NewAgentTool(t.Context(), testkit.Agent(t, "inner", testkit.New(testkit.Call("i", "look", `{}`), testkit.Text("ok")), m.with, look))
				chat := testkit.New(testkit.Call("c", "inner", `{"request":"look"}`), testkit.Text("done"))
				require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(m.enter(by, chat, nil, false, inner).Query(t.Context(), question))))
				require.Equal(t, []bool{private, private}, []bool{seen, incognito})
				require.Len(t, rec.seen(), map[bool]int{true: 0, false: 2}[private])
			})
		}
	}
	rec, _, mw := recording(t, func(s *setup) { s.Learn = notTool })
	for _, name := range []string{"echo", "probe"} {
		_, err := mw.Invokable(returns(secret, nil))(t.Context(), &compose.ToolInput{Name: name, CallID: "c"})
		require.NoError(t, err)
	}
	require.Len(t, rec.seen(), 1)
	require.Equal(t, "probe", rec.seen()[0].Tool)
}

// An agent of a tree is given other messages than the user's, such as a step of a plan: in a
// wrapped run its tools know whose turn it is all the same.
func TestAToolOfAWrappedRunKnowsTheTurn(t *testing.T) {
	m, private := newMemory(t, nil), false
	look := testkit.Tool(t, "look", func(ctx context.Context, _ struct{}) (string, error) {
		private = m.ToolSetup().Private(ctx)
		return "seen", nil
	})
	step := before(func(_ context.Context, s *adk.ChatModelAgentState) { s.Messages = testkit.Say("Step 1 of the plan.") })
	planned := testkit.Agent(t, "a", testkit.New(testkit.Call("c", "look", `{}`), testkit.Text("done")), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, step) }, look)
	testkit.Drain(m.WrapRunner(testkit.Runner(planned, false, nil)).Query(t.Context(), "Don't remember this: zebra77"))
	require.True(t, private)
}

// A Learn that panics keeps its message from being remembered, and the reply goes on.
func TestALearnThatPanics(t *testing.T) {
	m := newMemory(t, func(s *setup) { s.Learn = func(context.Context, *schema.Message) bool { panic("learn") } })
	testkit.Drain(m.enter(doors["both"], testkit.New(testkit.Text("ok")), nil, false).Query(t.Context(), "PIN zebra77"))
	require.Equal(t, []string{"user: [Private: not kept.]", "assistant: [Private: not kept.]"}, logLines(m))
	require.ErrorContains(t, m.failures.Err(), "panic: learn")
}
