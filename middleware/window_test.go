// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/internal/test/transcript"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// windowed returns a configuration with a window of so many tokens, of which none are
// reserved.
func windowed(tokens int, b backends.Backend, db store.Sessions) *middleware.Config {
	return &middleware.Config{Backend: b, Sessions: db, Window: &window.Config{Budget: compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1}}}
}

// requireFits requires that a provider takes what the model was sent in each call, and
// that it is within the budget.
func requireFits(t testing.TB, mem *middleware.MemoryMiddleware, calls ...[]*schema.Message) {
	t.Helper()
	for n, in := range calls {
		require.NoError(t, transcript.Check(in), "call %d", n)
		require.LessOrEqual(t, mem.Window().(*window.Window).Usage(in).Over(), 0, "call %d", n)
	}
}

// onRedis returns a store on a server, which does not wait for it to come back.
func onRedis(t testing.TB, c redis.UniversalClient) *redisstore.Store {
	t.Helper()
	return testkit.Redis(t, c, func(cfg *redisstore.Config) { cfg.Retry = time.Millisecond })
}

func TestASessionGoesOnInAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var before []string
	for turn := range 4 {
		file := testkit.File(t, path)
		mem := open(t, windowed(8000, testkit.Knowing("Ann likes tea."), file))
		question, answer := fmt.Sprint("question ", turn), fmt.Sprint("answer ", turn)
		_, m := ask(t, asAnn, mem, question, testkit.Text(answer))
		in := m.Calls()[0]
		require.Equal(t, append(slices.Clone(before), "user: "+question), testkit.Shown(in))
		require.Contains(t, noteIn(in[len(in)-2:]), "Ann likes tea.", "the note stands in front of what is asked now")
		before = append(before, "user: "+question, "assistant: "+answer)
		require.NoError(t, mem.Close(t.Context()))
		require.Equal(t, before, testkit.Logged(t, file, ann))
		require.NoError(t, file.Close())
	}
}

// A caller who passes the history gets no other; and what was said in another session, or
// to another user, is never shown.
func TestWhichHistoryIsShown(t *testing.T) {
	mem := open(t, windowed(8000, &testkit.Backend{}, nil))
	ask(t, asAnn, mem, "My secret is 4711.", testkit.Text("Hello."))
	m := testkit.New()
	testkit.Drain(agent(t, mem, m).Run(asAnn, append(testkit.Turn("Hi!", "Hello!"), schema.UserMessage("And now?"))))
	require.Equal(t, []string{"user: Hi!", "assistant: Hello!", "user: And now?"}, testkit.Shown(m.Calls()[0]))
	for _, other := range []middleware.Scope{
		{UserID: "bob", SessionID: "s1"}, {UserID: "ann", SessionID: "s2"}, {UserID: "ann"}, {AgentID: "helper", SessionID: "s1"},
		{Namespace: "x", UserID: "ann", SessionID: "s1"}, {UserID: "ann", SessionID: "S1"},
	} {
		_, m := ask(t, middleware.WithScope(t.Context(), other), mem, "What is it?")
		require.Equal(t, []string{"user: What is it?"}, testkit.Shown(m.Calls()[0]), "%+v", other)
	}
}

// An agent that reads many times its window has a context that fits at every call, the
// log has the originals, and the agent finds what left its context; another user's agent
// does not.
func TestATaskOutgrowsTheWindow(t *testing.T) {
	const pages, words = 30, 300
	for _, wrapped := range []bool{false, true} {
		db := testkit.SQLite(t)
		mem := open(t, windowed(4000, &testkit.Backend{}, db))
		script, want := testkit.ReadPages(0, pages, words, testkit.Call("g", "grep_working_memory", `{"pattern":"page3word7 "}`), testkit.Text("done"))
		m := testkit.New(script...)
		var runner testkit.Run = agent(t, mem, m, testkit.Reader(t, words))
		if wrapped {
			runner = mem.WrapRunner(runner.(*adk.Runner))
		}
		require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(runner.Query(asAnn, "Read everything."))))
		requireFits(t, mem, m.Calls()...)
		last := m.Calls()[pages+1]
		found := last[len(last)-1].Content
		require.Contains(t, found, "page3word7 page3word8")
		want = append(append([]string{"user: Read everything."}, want...), "assistant:  calls grep_working_memory", "tool: "+found, "assistant: done")
		var said []*schema.Message // but for the marks that end turns; what grep found names an archive
		log := testkit.Entries(t, db, ann)
		for i := range log {
			if m := log[i].Message.Message; m.Content != "" || len(m.ToolCalls) > 0 {
				said = append(said, m)
			}
		}
		require.Equal(t, testkit.Brief(want), testkit.Brief(testkit.Lines(said)))

		bob := middleware.WithScope(t.Context(), middleware.Scope{UserID: "bob", AgentID: "helper", SessionID: "s1"})
		_, theirs := ask(t, bob, mem, "Find page3word7 for me.", testkit.Call("g", "grep_working_memory", `{"pattern":"page3word7"}`), testkit.Text("none"))
		require.NotContains(t, fmt.Sprint(testkit.Lines(theirs.Calls()[1])), "page3word8")
	}
}

// A person pastes many times the window. The run goes on with the ends of the message; the log has
// all of it, the agent finds the rest, and so does the next turn.
func TestAPasteOutgrowsTheWindow(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, wrapped := range []bool{false, true} {
		b, db := &testkit.Backend{}, testkit.SQLite(t)
		mem := open(t, windowed(8000, b, db))
		said := "Which word comes after page3word25000?\n" + testkit.Page(3, 30_000)
		grep := testkit.Call("g", "grep_working_memory", `{"pattern":"page3word25000 "}`)
		m := testkit.New(grep, testkit.Text("page3word25001"), grep, testkit.Text("still that"))
		var runner testkit.Run = agent(t, mem, m)
		if wrapped {
			runner = mem.WrapRunner(runner.(*adk.Runner))
		}
		for _, q := range []string{said, "And once more?"} {
			testkit.Drain(runner.Query(asAnn, q))
		}
		requireFits(t, mem, m.Calls()...)
		calls := m.Calls()
		require.Contains(t, fmt.Sprint(testkit.Shown(calls[0])), "Which word comes after")
		for _, n := range []int{1, 3} {
			require.Contains(t, calls[n][len(calls[n])-1].Content, "page3word25000 page3word25001", n)
		}
		require.Equal(t, strings.TrimSpace(said), einox.Text(testkit.Entries(t, db, ann)[0].Message.Message))
		require.NoError(t, mem.Flush(t.Context()))
		require.Equal(t, strings.TrimSpace(said), einox.Text(b.Adds()[0].Messages[0].Message), "all of it is learnt from")
	}
}

func TestWhatNeverFitsIsAnErrorThatSaysByHowMuch(t *testing.T) {
	db := testkit.SQLite(t)
	mem := open(t, windowed(500, &testkit.Backend{}, db))
	m := testkit.New()
	a := agent(t, mem, m)
	url := "https://example.com/a.png"
	picture := func(n int) *schema.Message {
		return &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: testkit.Page(n, 400)}, {Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
		}}
	}
	for n, run := range []testkit.Run{a, mem.WrapRunner(a)} {
		var failure error
		events := run.Run(asAnn, []*schema.Message{picture(n)})
		for e, ok := events.Next(); ok; e, ok = events.Next() {
			failure = errors.Join(failure, e.Err)
		}
		require.ErrorAs(t, failure, new(*compaction.OverError))
		var over *compaction.OverError
		require.ErrorAs(t, failure, &over)
		require.Greater(t, over.Tokens-over.Limit, 400)
	}
	require.Empty(t, m.Calls(), "nothing was sent")
	require.Equal(t, strings.TrimSpace(testkit.Page(1, 400)), einox.Text(testkit.Entries(t, db, ann)[1].Message.Message), "what was said is in the log")
	answer, fine := ask(t, asAnn, mem, "Hello?")
	require.Equal(t, "assistant: ok", answer, "and the session goes on")
	require.Equal(t, "user: Hello?", testkit.Last(testkit.Shown(fine.Calls()[0])))
}

func TestUnderAgentControlTheSessionIsKeptAndNotLearntFrom(t *testing.T) {
	b := &testkit.Backend{}
	cfg := windowed(8000, b, testkit.SQLite(t))
	cfg.Mode = modes.AgentControl
	cfg.Working = &working.Config{Backend: b} // where a mode learns it would learn
	mem := open(t, cfg)
	ask(t, asAnn, mem, "Hi.", testkit.Text("Hello."))
	_, m := ask(t, asAnn, mem, "And now?")
	require.Equal(t, []string{"user: Hi.", "assistant: Hello.", "user: And now?"}, testkit.Shown(m.Calls()[0]))
	require.NoError(t, mem.Flush(t.Context()))
	require.Empty(t, b.Adds())
	p, err := ann.Speaker()
	require.NoError(t, err)
	state, err := cfg.Sessions.Session(t.Context(), p, "s1")
	require.NoError(t, err)
	require.False(t, state.Pending(), "no other process learns from it either")
}

// What an agent writes into a core block is in its prompt in the next session, and in that
// of no other user.
func TestCoreBlocksAreInThePromptOfTheirUser(t *testing.T) {
	for language, title := range map[backends.Language]string{backends.English: "core_memory", backends.Chinese: "核心记忆"} {
		cfg := windowed(8000, &testkit.Backend{}, testkit.SQLite(t))
		cfg.Language, cfg.Core = language, &core.Config{Blocks: []core.Block{{Name: "human", Description: "The user."}}}
		mem := open(t, cfg)
		ask(t, as("ann", "monday"), mem, "Call me Annie.", testkit.Call("1", "core_memory_append", `{"block":"human","text":"Wants to be called Annie."}`), testkit.Text("ok"))
		for user, known := range map[string]bool{"ann": true, "bob": false} {
			_, m := ask(t, as(user, "tuesday"), mem, "Who am I?")
			shown := fmt.Sprint(testkit.Lines(m.Calls()[0]))
			require.Contains(t, shown, title)
			require.Equal(t, known, strings.Contains(shown, "Annie"), shown)
		}
	}
}

func TestEverythingThatWasSaidComesBack(t *testing.T) {
	mem := open(t, windowed(20_000, &testkit.Backend{}, nil))
	picture := "https://example.com/cat.png"
	asked := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "What is this?"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}},
	}}
	script, _ := testkit.ReadPages(1, 2, 5, func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, Content: "A cat. 一只猫。", ReasoningContent: "It has whiskers."}, nil
	})
	testkit.Drain(agent(t, mem, testkit.New(script...), testkit.Reader(t, 5)).Run(asAnn, []adk.Message{asked}))
	_, m := ask(t, asAnn, mem, "Sure?")
	in := m.Calls()[0]
	require.Len(t, in, 6)
	require.Equal(t, asked.UserInputMultiContent, in[1].UserInputMultiContent)
	require.Equal(t, `{"n":1}`, in[2].ToolCalls[0].Function.Arguments)
	require.Equal(t, "c1", in[3].ToolCallID)
	require.Equal(t, testkit.Page(1, 5), in[3].Content)
	require.Equal(t, "A cat. 一只猫。", in[4].Content)
	require.Equal(t, "It has whiskers.", in[4].ReasoningContent)
}

// Services of models that think want the reasoning back with each call that it led to: in the next
// process, once the context was compacted, and when an interrupted run goes on.
func TestReasoningGoesBackWhereCallsWent(t *testing.T) {
	thinking := func(call testkit.Reply) testkit.Reply {
		return func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			m, err := call(ctx, in, o)
			m.ReasoningContent = "I look it up, since " + strings.Repeat("it may have changed ", 40)
			return m, err
		}
	}
	requireThoughts := func(in []*schema.Message, calls int) {
		for _, m := range in {
			if len(m.ToolCalls) > 0 {
				require.True(t, strings.HasPrefix(m.ReasoningContent, "I look it up"))
				calls--
			}
		}
		require.LessOrEqual(t, calls, 0)
	}
	db := testkit.SQLite(t)
	for turn, tokens := range []int{20_000, 20_000, 1500} {
		mem := open(t, windowed(tokens, &testkit.Backend{}, db))
		script, _ := testkit.ReadPages(1, 4, 60)
		for i := range script {
			script[i] = thinking(script[i])
		}
		chat := testkit.New(append(script, testkit.Text("Read."))...)
		testkit.Drain(agent(t, mem, chat, testkit.Reader(t, 60)).Query(asAnn, "Read three pages."))
		for i, in := range chat.Calls() {
			requireThoughts(in, min(i, 1))
		}
		if turn == 1 {
			requireThoughts(chat.Calls()[0], 3)
		}
		requireFits(t, mem, chat.Calls()...)
	}

	mem := open(t, windowed(20_000, &testkit.Backend{}, nil))
	chat := testkit.New(thinking(testkit.Call("a1", "ask", "{}")), testkit.Text("Done."))
	a := testkit.Agent(t, "assistant", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, mem) }, testkit.Approval(t))
	run := mem.WrapRunner(testkit.Runner(a, false, testkit.Checkpoints(t.TempDir())))
	require.Equal(t, "interrupted", testkit.Last(testkit.Drain(run.Query(asAnn, "May I?", adk.WithCheckPointID("cp")))))
	testkit.Resume(t, asAnn, run, "cp")
	requireThoughts(chat.Calls()[1], 1)
	next := testkit.New()
	testkit.Drain(agent(t, mem, next).Query(asAnn, "Well?"))
	requireThoughts(next.Calls()[0], 1)
}

func TestAStoreThatIsAwayCostsTheHistoryAndNotTheReply(t *testing.T) {
	testkit.Once(t)
	t.Parallel() // it waits for a time limit
	db, failures := testkit.Spy(testkit.SQLite(t)), &testkit.Failures{}
	cfg := windowed(8000, &testkit.Backend{}, db)
	cfg.OnError = failures.Add
	mem, err := middleware.New(t.Context(), cfg)
	require.NoError(t, err)
	db.FailOn(backends.ErrUnavailable, "Append", "Session", "Read")
	answer, _ := ask(t, asAnn, mem, "Hi.", testkit.Text("Hello."))
	require.Equal(t, "assistant: Hello.", answer)
	for _, stage := range []string{"history", "record"} {
		require.NotEmpty(t, failures.At(stage))
		require.ErrorIs(t, failures.At(stage)[0], backends.ErrUnavailable)
	}
	require.ErrorContains(t, mem.Close(t.Context()), "not appended")
}

// A turn that is many times larger than the window does not hide what was said before it:
// it shrinks, and the directive of the turn before is shown.
func TestALargeTurnDoesNotHideWhatWasSaidBefore(t *testing.T) {
	mem := open(t, windowed(3000, &testkit.Backend{}, nil))
	ask(t, asAnn, mem, "Always answer in French.", testkit.Text("Oui."))
	script, _ := testkit.ReadPages(0, 20, 300, testkit.Text("C'est tout."))
	testkit.Drain(agent(t, mem, testkit.New(script...), testkit.Reader(t, 300)).Query(asAnn, "Read everything."))
	_, m := ask(t, asAnn, mem, "What did you read?")
	require.Contains(t, fmt.Sprint(testkit.Shown(m.Calls()[0])), "Always answer in French.")
}

// nowhere is where Eino's reduction writes results that are too large: none is here.
type nowhere struct{}

func (nowhere) Write(context.Context, *filesystem.WriteRequest) error {
	return errors.New("nothing was to be offloaded")
}

// With other middlewares that shrink the context before or after memory's, every context
// is valid and fits, and the log has every message once, as it was said.
func TestOtherMiddlewaresShrinkTheContextToo(t *testing.T) {
	testkit.SlowUnderRace(t)
	const pages, words = 12, 200
	reducing, err := reduction.NewToolResultMiddleware(t.Context(), &reduction.ToolResultConfig{ClearingTokenThreshold: 100, KeepRecentTokens: 1200, Backend: nowhere{}})
	require.NoError(t, err)
	clearing := testkit.Other(reducing)
	// What Eino's summarization of newer releases does: one message in the role of the user
	// stands in the place of all but the system's. With marked it is recognisable.
	summarizing := func(marked bool) testkit.Memory {
		return testkit.Other{BeforeChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			if len(s.Messages) <= 8 {
				return nil
			}
			summary := schema.UserMessage(fmt.Sprintf("Summary of %d messages. The user asked to read everything.", len(s.Messages)))
			if marked {
				summary.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
			}
			s.Messages = []*schema.Message{s.Messages[0], summary}
			return nil
		}}
	}
	type chain = []testkit.Memory
	for name, around := range map[string][2]chain{
		"reduction before":             {{clearing}, nil},
		"reduction after":              {nil, {clearing}},
		"summarization before":         {{summarizing(true)}, nil},
		"summarization after":          {nil, {summarizing(true)}},
		"unmarked summarization after": {nil, {summarizing(false)}},
		"both around":                  {{clearing}, {summarizing(true)}},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				db := testkit.SQLite(t)
				mem := open(t, windowed(3000, testkit.Knowing("Ann reads fast."), db))
				ask(t, asAnn, mem, "Hello.")
				script, want := testkit.ReadPages(0, pages, words, testkit.Text("I have read everything."))
				m := testkit.New(script...)
				a := testkit.Agent(t, "reader", m, func(cfg *adk.ChatModelAgentConfig) {
					testkit.Attach(cfg, slices.Concat(around[0], chain{mem}, around[1])...)
				}, testkit.Reader(t, words))
				var runner testkit.Run = testkit.Runner(a, false, nil)
				if wrapped {
					runner = mem.WrapRunner(runner.(*adk.Runner))
				}
				require.Equal(t, "assistant: I have read everything.", testkit.Last(testkit.Drain(runner.Query(asAnn, "Read everything."))))
				requireFits(t, mem, m.Calls()...)
				want = append(append([]string{"user: Hello.", "assistant: ok", "user: Read everything."}, want...), "assistant: I have read everything.")
				if !wrapped && name == "summarization before" {
					// It takes results away that memory has not seen: be first in the chain,
					// or wrap the runner. What the agent said is there, once and in order.
					byTools := func(s string) bool { return strings.HasPrefix(s, "tool: ") }
					require.Equal(t, slices.DeleteFunc(want, byTools), slices.DeleteFunc(testkit.Logged(t, db, ann), byTools))
					return
				}
				require.Equal(t, want, testkit.Logged(t, db, ann))
			})
		}
	}
}

// Many sessions talk at once, and each of their turns compacts the context.
func TestManySessionsCompactAtOnce(t *testing.T) {
	sessions, turns := 16, 10
	if testkit.Long() {
		sessions, turns = 32, 20
	} else if testkit.Raced() || testing.Short() {
		sessions, turns = 8, 8
	}
	crowd := func(t *testing.T, db store.Sessions) {
		var compacted atomic.Int64
		failures := &testkit.Failures{}
		cfg := windowed(600, &testkit.Backend{}, db)
		cfg.OnError, cfg.SearchTimeout, cfg.Mode = failures.Add, time.Hour, modes.AgentControl
		cfg.Window.(*window.Config).OnFit = func(_ context.Context, _ backends.Scope, r *compaction.Result) {
			if len(r.Steps) > 0 {
				compacted.Add(1)
			}
		}
		mem := open(t, cfg)
		before := heap()
		var all errgroup.Group
		said := make([][]string, sessions)
		scope := func(n int) middleware.Scope { // users share the ids of sessions, and sessions users
			return middleware.Scope{UserID: fmt.Sprint("user", n%8), AgentID: "helper", SessionID: fmt.Sprint("s", n/8)}
		}
		for n := range sessions {
			// The agent calls the tool once a turn, then answers. What is said has the session's mark.
			turn, mark := 0, fmt.Sprintf("owner%dend", n)
			text := func(what string) string {
				return fmt.Sprintf("%s %s of turn %d. %s", mark, what, turn, testkit.Page(1000*n+turn, 15))
			}
			m := testkit.New(func(ctx context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
				if others := strings.ReplaceAll(fmt.Sprint(testkit.Lines(in)), mark, ""); strings.Contains(others, "owner") {
					return nil, fmt.Errorf("session %d was shown what is another's: %s", n, others)
				}
				if err := transcript.Check(in); err != nil {
					return nil, fmt.Errorf("session %d, turn %d: %w", n, turn, err)
				}
				if over := mem.Window().(*window.Window).Usage(in).Over(); over > 0 {
					return nil, fmt.Errorf("session %d, turn %d: %d tokens over", n, turn, over)
				}
				if in[len(in)-1].Role == schema.User {
					return testkit.Call(fmt.Sprint("c", turn), "look", "{}")(ctx, in, nil)
				}
				return schema.AssistantMessage(text("answer"), nil), nil
			})
			a := agent(t, mem, m, testkit.Tool(t, "look", func(context.Context, struct{}) (string, error) { return text("result"), nil }))
			all.Go(func() error {
				for ; turn < turns; turn++ {
					lines := testkit.Drain(a.Query(middleware.WithScope(context.Background(), scope(n)), text("question")))
					want := []string{"assistant:  calls look", "tool: " + text("result"), "assistant: " + text("answer")}
					if !slices.Equal(want, lines) {
						return fmt.Errorf("session %d, turn %d: %v", n, turn, testkit.Brief(lines))
					}
					said[n] = append(append(said[n], "user: "+text("question")), lines...)
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		require.NoError(t, mem.Flush(t.Context()))
		require.Less(t, heap()-before, int64(8<<20), "what is held does not grow with what was said")
		for n := range sessions {
			require.Equal(t, said[n], testkit.Logged(t, db, scope(n)), "each message once and in order")
		}
		require.NoError(t, failures.Err())
		require.Greater(t, compacted.Load(), int64(sessions*(turns-4)), "every turn compacts once the window is full")
	}
	t.Run("sqlite", func(t *testing.T) { crowd(t, testkit.File(t, filepath.Join(t.TempDir(), "memory.db"))) })
	t.Run("redis", func(t *testing.T) { crowd(t, onRedis(t, testredis.Need(t).Start(t).Client(t))) })
}

// However ids read, a session's archives are its own: the tools find and read what is in
// them, and nothing of any other's.
func TestArchivesOfHostileIDs(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	ids := []string{"a", "a:b", "b", "a/b", "{a}", "{a}:b", `a"b`, "a'b", `a\b`, "👩‍👩‍👧", "👩", "archive/a", "%2F", strings.Repeat("x", 256), strings.Repeat("x", 255)}
	scopes := []middleware.Scope{{Namespace: "a", UserID: "b", SessionID: "c"}, {UserID: "a", SessionID: ""}, {AgentID: "a", SessionID: "a"}, {AgentID: "a:b", SessionID: "a"}}
	for i, user := range ids {
		for j, session := range ids {
			if i == j || i < 2 || i < 4 && testkit.Long() {
				scopes = append(scopes, middleware.Scope{UserID: user, SessionID: session})
			}
		}
	}
	secrets := regexp.MustCompile(`secret(\d+)end|page(\d+)word`)
	confined := func(t *testing.T, db store.Sessions) {
		cfg := windowed(600, &testkit.Backend{}, db)
		cfg.AgentMemory = true
		mem := open(t, cfg)
		all, err := mem.Tools(t.Context())
		require.NoError(t, err)
		tools := testkit.ByName(t, all)
		call := func(n int, name string, arguments map[string]any) string {
			out := testkit.Use(t, middleware.WithScope(t.Context(), scopes[n]), tools[name], arguments)
			for _, found := range secrets.FindAllString(out, -1) {
				if found != fmt.Sprintf("secret%dend", n) && found != fmt.Sprintf("page%dword", n) {
					require.Failf(t, "a leak", "%+v got %s by %s(%v)", scopes[n], found, name, arguments)
				}
			}
			return out
		}
		refs := make([][]string, len(scopes))
		for n, s := range scopes { // each has turns, of which some leave the context for archives
			in := append(testkit.Say("Read it."), testkit.PageRead(n, 250)...)
			in[2].Content = fmt.Sprintf("secret%dend %s", n, in[2].Content)
			in = append(in, schema.AssistantMessage("Read.", nil), schema.UserMessage("And now?"))
			res, err := mem.Window().(*window.Window).Fit(t.Context(), s, in)
			require.NoError(t, err)
			for _, m := range res.Messages {
				if ref := einox.MarkOf(m).Ref; ref != "" {
					refs[n] = append(refs[n], ref)
				}
			}
			require.NotEmpty(t, refs[n])
			ask(t, middleware.WithScope(t.Context(), s), mem, fmt.Sprintf("secret%dend was said.", n))
		}
		for n, s := range scopes {
			own := fmt.Sprintf("secret%dend", n)
			require.Contains(t, call(n, "grep_working_memory", map[string]any{"pattern": `secret\d+end`, "regex": true, "limit": 200}), own)
			for _, ref := range refs[n] {
				require.Contains(t, call(n, "read_working_memory", map[string]any{"archive": ref}), own, "%+v", s)
			}
			for _, at := range []int{1, 2, 7, 16} { // some of the others
				o := (n + at) % len(scopes)
				pattern := fmt.Sprintf("secret(%d)end", o)
				for _, ref := range slices.Concat(refs[o], []string{"../" + scopes[o].SessionID + "/" + refs[o][0], scopes[o].UserID + ":" + refs[o][0], "archive/" + refs[o][0]}) {
					if !slices.Contains(refs[n], ref) {
						require.NotContains(t, call(n, "read_working_memory", map[string]any{"archive": ref, "user_id": scopes[o].UserID, "session_id": scopes[o].SessionID}), "panic")
						call(n, "grep_working_memory", map[string]any{"pattern": pattern, "regex": true, "archives": []string{ref}})
					}
				}
				call(n, "grep_working_memory", map[string]any{"pattern": pattern, "regex": true, "scope": scopes[o]})
			}
			call(n, "read_working_memory", map[string]any{"archive": "log-1-1000", "lines": 1000})
		}
		require.NoError(t, mem.Window().(*window.Window).DeleteSession(t.Context(), scopes[0]))
		require.NotContains(t, call(0, "read_working_memory", map[string]any{"archive": refs[0][0]}), "secret0end")
		for n := 1; n < len(scopes); n++ {
			require.Contains(t, call(n, "read_working_memory", map[string]any{"archive": refs[n][0]}), fmt.Sprintf("secret%dend", n), "%+v: nothing of another session went with it", scopes[n])
		}
	}
	t.Run("sqlite", func(t *testing.T) { confined(t, testkit.File(t, filepath.Join(t.TempDir(), "memory.db"))) })
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) { confined(t, onRedis(t, open(t))) })
}

// A nil pointer in a field of the configuration is as no value: programs set it from a flag.
func TestANilPartIsNoPart(t *testing.T) {
	var w *window.Config
	var c *core.Config
	var r *reflection.Schedule
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t)})
	require.NoError(t, err)
	mem := open(t, &middleware.Config{Backend: facts, Window: w, Core: c, Reflect: r})
	require.Nil(t, mem.Window())
	require.Nil(t, mem.Reflection())
	budget := &window.Config{Budget: compaction.Budget{Window: 3000}}
	require.Nil(t, open(t, &middleware.Config{Backend: facts, Window: budget, Core: c}).Window().(*window.Window).Core())
}

func TestOneNameForTwoToolsIsRefused(t *testing.T) {
	cfg := windowed(3000, &testkit.Backend{}, testkit.SQLite(t))
	cfg.ToolNames = map[string]string{"search_memory": "grep_working_memory"}
	_, err := middleware.New(t.Context(), cfg)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "two memory tools")
}
