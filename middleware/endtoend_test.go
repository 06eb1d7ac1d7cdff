// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func TestMain(m *testing.M) {
	runChild()
	goleak.VerifyTestMain(m)
}

// verbatim returns a backend that stores what was said, without any model.
func verbatim(t testing.TB, s store.Store) *mem0.Backend {
	t.Helper()
	b, err := mem0.New(context.Background(), &mem0.Config{Store: s, Mode: mem0.Verbatim})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

// as is a context whose runs are those of a user in a session.
func as(user, session string) context.Context {
	return middleware.WithScope(context.Background(), middleware.Scope{UserID: user, SessionID: session})
}

// list returns the texts of what a user's partition holds.
func list(t testing.TB, b backends.Manager, user string) []string {
	t.Helper()
	resp, err := b.List(context.Background(), &backends.ListRequest{Scope: backends.Scope{UserID: user}, Limit: 1000})
	require.NoError(t, err)
	var out []string
	for _, m := range resp.Memories {
		out = append(out, m.Text)
	}
	return out
}

func TestWhatWasSaidIsKnownInTheNextSessionToItsUserAlone(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: verbatim(t, openStore(t)), AwaitWrite: true})
	for _, c := range []struct{ said, asked, known string }{
		{"I live in Bergen with my cat Miso.", "Where do I live?", "Bergen"},
		{"我住在杭州，最喜欢喝龙井茶。", "我喜欢喝什么茶？", "龙井茶"},
	} {
		newAgent(t, mem, testkit.Text("Noted.")).reply(as("ann", "monday"), c.said)

		tuesday := newAgent(t, mem, testkit.Text("ok"))
		tuesday.reply(as("ann", "tuesday"), c.asked)
		require.Contains(t, tuesday.note(t, 0).Content, c.known)

		for _, stranger := range []string{"bob", "Ann", "ann2", "an", "ann:tuesday", "ánn"} {
			theirs := newAgent(t, mem, testkit.Call("1", "search_memory", fmt.Sprintf(`{"keywords":[%q]}`, c.known)), testkit.Text("ok"))
			theirs.reply(as(stranger, "monday"), c.asked)
			for _, call := range theirs.model.Calls() {
				for _, m := range call {
					if m.Role == schema.Tool {
						require.NotContains(t, m.Content, c.known, stranger)
					}
					require.NotEqual(t, "memory", m.Name, stranger)
				}
			}
		}
	}
}

func TestTheModesEndToEnd(t *testing.T) {
	add := testkit.Call("1", "add_memory", `{"thinking":"t","content":["Ann plays the cello."]}`)
	search := testkit.Call("2", "search_memory", `{"keywords":["cello"]}`)
	done := testkit.Text("ok")
	for _, c := range []struct {
		mode          modes.Mode
		first, second []testkit.Reply
		stored        []string
		note, tool    bool
	}{
		{modes.StaticControl, []testkit.Reply{done}, []testkit.Reply{done}, []string{"I play the cello.", "ok"}, true, false},
		{modes.AgentControl, []testkit.Reply{add, done}, []testkit.Reply{search, done}, []string{"Ann plays the cello."}, false, true},
		{modes.Both, []testkit.Reply{add, done}, []testkit.Reply{search, done}, []string{"Ann plays the cello.", "I play the cello.", "ok"}, true, true},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			b := verbatim(t, openStore(t))
			mem := open(t, &middleware.Config{Backend: b, Mode: c.mode, AwaitWrite: true})
			newAgent(t, mem, c.first...).reply(as("ann", "1"), "I play the cello.")
			require.ElementsMatch(t, c.stored, list(t, b, "ann"))

			second := newAgent(t, mem, c.second...)
			second.reply(as("ann", "2"), "Which cello lessons suit me?")
			require.Equal(t, c.note, len(second.notes(0)) == 1)
			last := second.model.Calls()[len(second.model.Calls())-1]
			require.Equal(t, c.tool, strings.Contains(last[len(last)-1].Content, "] ") && strings.Contains(last[len(last)-1].Content, "plays the cello"))
		})
	}
}

// The log may live in another store than the memories: turns in a fast one, say,
// and memories in one that is shared.
func TestTheLogInAStoreOfItsOwn(t *testing.T) {
	b := verbatim(t, openStore(t))
	mem := open(t, &middleware.Config{Backend: b, Sessions: openStore(t), AwaitWrite: true})
	for range 2 {
		newAgent(t, mem, testkit.Text("ok")).reply(as("ann", "1"), "hi")
	}
	require.ElementsMatch(t, []string{"hi", "ok"}, list(t, b, "ann"))
	p, err := backends.Scope{UserID: "ann"}.Partition(backends.PartitionUser)
	require.NoError(t, err)
	_, err = b.Sessions().Session(context.Background(), p, "1")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestAwaitWriteLearnsBeforeTheReplyEnds(t *testing.T) {
	for _, await := range []bool{true, false} {
		b := verbatim(t, openStore(t))
		mem := open(t, &middleware.Config{Backend: b, AwaitWrite: await, Working: &working.Config{Idle: time.Hour}})
		newAgent(t, mem, testkit.Text("ok")).reply(as("ann", "1"), "hi")
		require.Equal(t, await, len(list(t, b, "ann")) == 2)
		require.NoError(t, mem.Flush(context.Background()))
		require.ElementsMatch(t, []string{"hi", "ok"}, list(t, b, "ann"))
	}
}

// A run that is resumed may repeat a call: the tool node is run twice here.
func TestARepeatedToolCallAddsNothing(t *testing.T) {
	ctx := as("ann", "1")
	b := verbatim(t, openStore(t))
	mem := open(t, &middleware.Config{Backend: b})
	tools, err := mem.Tools(ctx)
	require.NoError(t, err)
	node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	calls := schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Function: schema.FunctionCall{Name: "add_memory", Arguments: `{"thinking":"t","content":["Ann likes tea."]}`}}})
	var results []string
	for range 2 {
		out, err := node.Invoke(ctx, calls)
		require.NoError(t, err)
		results = append(results, out[0].Content)
	}
	require.Contains(t, results[0], "Successfully recorded")
	require.Equal(t, results[0], results[1], "the repeated call gets the first one's answer")
	require.Equal(t, []string{"Ann likes tea."}, list(t, b, "ann"))
}

// The process that recorded a turn ends before anybody learnt from it; the next
// one on the same file does.
func TestATurnOutlivesItsProcess(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "memory.db")
	session := func(w *working.Config, onAdd func()) (*middleware.MemoryMiddleware, *mem0.Backend, func()) {
		file, err := sqlitestore.Open(ctx, path, nil)
		require.NoError(t, err)
		b := verbatim(t, file)
		mem, err := middleware.New(ctx, &middleware.Config{Backend: &watched{b, onAdd}, Sessions: file, Working: w})
		require.NoError(t, err)
		return mem, b, func() {
			require.NoError(t, mem.Close(ctx))
			require.NoError(t, mem.Close(ctx), "closing twice is one time")
			require.NoError(t, file.Close())
		}
	}
	mem, b, end := session(&working.Config{Idle: time.Hour, Sweep: -1}, func() {})
	newAgent(t, mem, testkit.Text("ok")).reply(as("ann", "1"), "I moved to Rome.")
	require.Empty(t, list(t, b, "ann"))
	end()

	learnt := make(chan struct{}, 8)
	_, b, end = session(&working.Config{Idle: time.Millisecond, Sweep: 10 * time.Millisecond}, func() { learnt <- struct{}{} })
	<-learnt
	require.ElementsMatch(t, []string{"I moved to Rome.", "ok"}, list(t, b, "ann"))
	end()
}

// watched tells of every Add that succeeded.
type watched struct {
	backends.Backend
	added func()
}

func (w *watched) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	resp, err := w.Backend.Add(ctx, r)
	if err == nil {
		w.added()
	}
	return resp, err
}

func TestManyUsersAtOnce(t *testing.T) {
	b := verbatim(t, openStore(t))
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true})
	const users = 32
	agents := make([]*agent, users) // an agent for each goroutine: one agent's runs race inside Eino 0.7
	for i := range agents {
		secret := fmt.Sprintf("secret%02d", i)
		agents[i] = newAgent(t, mem,
			testkit.Text("Noted "+secret),
			testkit.Call("1", "add_memory", fmt.Sprintf(`{"content":["The word is %s."]}`, secret)),
			testkit.Call("2", "search_memory", `{"keywords":["word","secret"]}`),
			testkit.Text("bye"))
	}
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() {
			ctx := as(fmt.Sprint("user", i), "same session id")
			a.replyOrErr(ctx, fmt.Sprintf("My word is secret%02d.", i))
			a.replyOrErr(ctx, "What is my word?")
		})
	}
	wg.Wait()
	for i, a := range agents {
		secret := fmt.Sprintf("secret%02d", i)
		calls := a.model.Calls()
		require.Len(t, calls, 4)
		require.Contains(t, a.note(t, 1).Content, secret)
		for _, call := range calls {
			for _, m := range call {
				for _, seen := range anySecret.FindAllString(m.Content, -1) {
					require.Equal(t, secret, seen, "user %d saw %q", i, m.Content)
				}
			}
		}
		for _, text := range list(t, b, fmt.Sprint("user", i)) {
			for _, held := range anySecret.FindAllString(text, -1) {
				require.Equal(t, secret, held, "user %d holds %q", i, text)
			}
		}
	}
}

var anySecret = regexp.MustCompile(`secret\d\d`)

// replyOrErr is reply for goroutines other than the test's.
func (a *agent) replyOrErr(ctx context.Context, text string) {
	events := a.runner.Query(ctx, text)
	for {
		event, ok := events.Next()
		if !ok {
			return
		}
		if event.Err != nil {
			a.t.Errorf("reply to %q: %v", text, event.Err)
		}
	}
}

// With the runner wrapped as well, the work is done once.
func TestRunnerAndAgentMiddlewareTogether(t *testing.T) {
	f := &fake{memories: []string{"likes tea"}}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	require.Equal(t, "ok", drain(t, mem.WrapRunner(a.runner).Query(asAnn(), "hi")))
	require.Len(t, a.notes(0), 1)
	searches, adds := f.seen()
	require.Len(t, searches, 1)
	require.Len(t, adds, 1)
	require.Equal(t, [][2]string{{"user", "hi"}, {"assistant", "ok"}}, said(&adds[0]))
}

func TestTheScopeOfSessionValues(t *testing.T) {
	f := &fake{}
	mem := open(t, &middleware.Config{Backend: f, Scope: middleware.Scope{Namespace: "app", UserID: "nobody"}, AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	drain(t, a.runner.Query(context.Background(), "hi", adk.WithSessionValues(map[string]any{"user_id": "cleo", "session_id": "s9"})))
	searches, adds := f.seen()
	want := middleware.Scope{Namespace: "app", UserID: "cleo", SessionID: "s9"}
	require.Equal(t, want, searches[0].Scope)
	require.Equal(t, want, adds[0].Scope)
}

func TestTheOtherWaysIn(t *testing.T) {
	f := &fake{memories: []string{"likes tea"}}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true})
	question := []*schema.Message{schema.UserMessage("What do I like?")}

	prepared, err := mem.Prepare(asAnn(), question)
	require.NoError(t, err)
	require.Len(t, prepared, 2)
	require.NoError(t, mem.Finish(asAnn(), append(prepared, schema.AssistantMessage("Tea.", nil))))
	_, adds := f.seen()
	require.Equal(t, [][2]string{{"user", "What do I like?"}, {"assistant", "Tea."}}, said(&adds[0]))

	require.Len(t, mem.MessageModifier(nil)(asAnn(), question), 2)

	docs, err := mem.AsRetriever().Retrieve(asAnn(), "What do I like?")
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.Equal(t, "likes tea", docs[0].Content)

	require.Len(t, question, 1, "the caller's messages are left as they are")
	require.Empty(t, question[0].Extra)
}
