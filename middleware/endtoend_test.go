// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func TestWhatWasSaidIsKnownInTheNextSessionToItsUserAlone(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: verbatim(t, testkit.SQLite(t)), AwaitWrite: true})
	for _, c := range []struct{ said, asked, known string }{
		{"I live in Bergen with my cat Miso.", "Where do I live?", "Bergen"},
		{"我住在杭州，最喜欢喝龙井茶。", "我喜欢喝什么茶？", "龙井茶"},
	} {
		ask(t, as("ann", "monday"), mem, c.said, testkit.Text("Noted."))
		_, m := ask(t, as("ann", "tuesday"), mem, c.asked)
		require.Contains(t, noteIn(m.Calls()[0]), c.known)

		for _, other := range []string{"bob", "Ann", "ann2", "an", "ann:tuesday", "ánn"} {
			_, m := ask(t, as(other, "monday"), mem, c.asked, testkit.Call("1", "search_memory", fmt.Sprintf(`{"keywords":[%q]}`, c.known)), testkit.Text("ok"))
			for _, call := range m.Calls() {
				require.Zero(t, testkit.Notes(call), other)
			}
			last := m.Calls()[1]
			require.Equal(t, schema.Tool, last[len(last)-1].Role)
			require.NotContains(t, last[len(last)-1].Content, c.known, other)
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
			b := verbatim(t, testkit.SQLite(t))
			mem := open(t, &middleware.Config{Backend: b, Mode: c.mode, AwaitWrite: true})
			ask(t, as("ann", "1"), mem, "I play the cello.", c.first...)
			require.ElementsMatch(t, c.stored, memories(t, b, "ann"))

			_, m := ask(t, as("ann", "2"), mem, "Which cello lessons suit me?", c.second...)
			require.Equal(t, c.note, testkit.Notes(m.Calls()[0]) == 1)
			last := m.Calls()[len(m.Calls())-1]
			result := last[len(last)-1].Content
			require.Equal(t, c.tool, strings.Contains(result, "] ") && strings.Contains(result, "plays the cello"))
		})
	}
}

// The log may live in another store than the memories: turns in a fast one, say, and
// memories in one that is shared.
func TestTheLogInAStoreOfItsOwn(t *testing.T) {
	b := verbatim(t, testkit.SQLite(t))
	mem := open(t, &middleware.Config{Backend: b, Sessions: testkit.SQLite(t), AwaitWrite: true})
	for range 2 {
		ask(t, as("ann", "1"), mem, "any news")
	}
	require.ElementsMatch(t, []string{"any news", "ok"}, memories(t, b, "ann"))
	p, err := backends.Scope{UserID: "ann"}.Partition(backends.PartitionUser)
	require.NoError(t, err)
	_, err = b.Sessions().Session(t.Context(), p, "1")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// A run that is resumed may repeat a call: the tool node is run twice here.
func TestARepeatedToolCallAddsNothing(t *testing.T) {
	ctx, b := as("ann", "1"), verbatim(t, testkit.SQLite(t))
	tools, err := open(t, &middleware.Config{Backend: b}).Tools(ctx)
	require.NoError(t, err)
	node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	calls := schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Function: schema.FunctionCall{Name: "add_memory", Arguments: `{"thinking":"t","content":["Ann likes tea."]}`}}})
	first, err := node.Invoke(ctx, calls)
	require.NoError(t, err)
	second, err := node.Invoke(ctx, calls)
	require.NoError(t, err)
	require.Contains(t, first[0].Content, "Successfully recorded")
	require.Equal(t, first[0].Content, second[0].Content, "the repeated call gets the first one's answer")
	require.Equal(t, []string{"Ann likes tea."}, memories(t, b, "ann"))
}

// A process that recorded a turn ends before it learnt from it; the next one on the same
// file does.
func TestATurnOutlivesItsProcess(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "memory.db")
	process := func(w *working.Config, do func(mem *middleware.MemoryMiddleware, memories func() []string)) {
		file, err := sqlitestore.Open(ctx, path, nil)
		require.NoError(t, err)
		b := verbatim(t, file)
		mem, err := middleware.New(ctx, &middleware.Config{Backend: b, Working: w})
		require.NoError(t, err)
		do(mem, func() []string { return memories(t, b, "ann") })
		require.NoError(t, mem.Close(ctx))
		require.NoError(t, mem.Close(ctx), "closing twice is one time")
		require.NoError(t, file.Close())
	}
	process(&working.Config{Idle: time.Hour, Sweep: -1}, func(mem *middleware.MemoryMiddleware, memories func() []string) {
		ask(t, as("ann", "1"), mem, "I moved to Rome.")
		require.Empty(t, memories())
	})
	process(&working.Config{Idle: time.Millisecond, Sweep: 10 * time.Millisecond}, func(_ *middleware.MemoryMiddleware, memories func() []string) {
		for len(memories()) < 2 {
			time.Sleep(time.Millisecond)
		}
		require.ElementsMatch(t, []string{"I moved to Rome.", "ok"}, memories())
	})
}

// One middleware serves many users at once, each with an agent of its own: runs of one
// agent race inside Eino 0.7.
func TestManyUsersAtOnce(t *testing.T) {
	const users = 32
	b := verbatim(t, testkit.SQLite(t))
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true})
	models, runners := make([]*testkit.Chat, users), make([]*adk.Runner, users)
	secret := func(i int) string { return fmt.Sprintf("secret%02d", i) }
	for i := range users {
		models[i] = testkit.New(testkit.Text("Noted "+secret(i)), testkit.Call("1", "add_memory", fmt.Sprintf(`{"content":["The word is %s."]}`, secret(i))),
			testkit.Call("2", "search_memory", `{"keywords":["word","secret"]}`), testkit.Text("bye"))
		runners[i] = agent(t, mem, models[i])
	}
	answers := make([]string, users)
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			ctx := as(fmt.Sprint("user", i), "same session id")
			testkit.Drain(runners[i].Query(ctx, "My word is "+secret(i)))
			answers[i] = testkit.Last(testkit.Drain(runners[i].Query(ctx, "What is my word?")))
		})
	}
	wg.Wait()
	for i, m := range models {
		require.Equal(t, "assistant: bye", answers[i])
		require.Len(t, m.Calls(), 4)
		require.Contains(t, noteIn(m.Calls()[1]), secret(i))
		texts := memories(t, b, fmt.Sprint("user", i))
		for _, call := range m.Calls() {
			texts = append(texts, testkit.Lines(call)...)
		}
		for _, text := range texts {
			require.NotRegexp(t, `secret\d\d`, strings.ReplaceAll(text, secret(i), ""), "user %d", i)
		}
	}
}

// A backend that is down, in all its ways, leaves the reply as it would be without memory.
func TestABackendThatIsDown(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	for name, onSearch := range map[string]func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error){
		"fails": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return nil, errDown },
		"hangs until its context ends": func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"hangs whatever its context": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			<-forever
			return nil, nil
		},
		"panics": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			failures := &testkit.Failures{}
			b := &testkit.Backend{OnSearch: onSearch, OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { return nil, errDown }}
			mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, SearchTimeout: 20 * time.Millisecond, OnError: failures.Add, Working: &working.Config{Backoff: time.Hour}})
			answer, m := ask(t, asAnn, mem, "any news", testkit.Text("still here"))
			require.Equal(t, "assistant: still here", answer)
			require.Zero(t, testkit.Notes(m.Calls()[0]))
			require.ElementsMatch(t, []string{"search", "consolidate"}, failures.Stages())
		})
	}
}

// What could not be learnt is in the log, and learnt when the backend is back.
func TestNothingIsLostWhileTheBackendIsDown(t *testing.T) {
	var back atomic.Bool
	b := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		if !back.Load() {
			return nil, backends.ErrUnavailable
		}
		return &backends.AddResponse{}, nil
	}}
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, OnError: (&testkit.Failures{}).Add, Working: &working.Config{Backoff: time.Nanosecond}})
	ask(t, asAnn, mem, "I moved to Rome.")
	back.Store(true)
	_, err := mem.Working().Consolidate(t.Context(), ann)
	require.NoError(t, err)
	require.NoError(t, mem.Flush(t.Context()))
	adds := b.Adds()
	require.Greater(t, len(adds), 1)
	require.Equal(t, []string{"user: I moved to Rome.", "assistant: ok"}, said(&adds[len(adds)-1]))
}

// What OnError does, or that there is none, is nothing to the reply.
func TestAnOnErrorThatPanics(t *testing.T) {
	for name, onError := range map[string]func(context.Context, string, error){
		"none":   nil,
		"panics": func(context.Context, string, error) { panic("callback") },
	} {
		t.Run(name, func(t *testing.T) {
			b := &testkit.Backend{
				OnSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("search") },
				OnAdd:    func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { panic("add") },
			}
			mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, OnError: onError, Working: &working.Config{Backoff: time.Hour}})
			for _, ctx := range []context.Context{asAnn, context.Background()} {
				answer, _ := ask(t, ctx, mem, "any news", testkit.Call("c1", "search_memory", `{"keywords":["tea"]}`), testkit.Call("c2", "add_memory", `{"content":["tea"]}`), testkit.Text("still here"))
				require.Equal(t, "assistant: still here", answer)
			}
			require.ErrorContains(t, mem.Flush(t.Context()), "panic: add", "what is not learnt is reported")
		})
	}
}

// Closing ends the writing, not the reading: agents that still run go on. Each turn is
// either in the log or reported.
func TestClosingDuringReplies(t *testing.T) {
	const users, replies = 4, 10
	failures := &testkit.Failures{}
	mem := open(t, &middleware.Config{Backend: testkit.Knowing("likes tea"), OnError: failures.Add})
	begun, ended := make(chan struct{}, users), make(chan string, users*replies)
	models := make([]*testkit.Chat, users)
	for u := range users {
		models[u] = testkit.New()
		a := agent(t, mem, models[u])
		go func() {
			for n := range replies {
				if n == 1 {
					begun <- struct{}{}
				}
				ended <- testkit.Last(testkit.Drain(a.Query(as(fmt.Sprint("user", u), "s"), "any news")))
			}
		}()
	}
	for range users {
		<-begun
	}
	require.NoError(t, mem.Close(t.Context()))
	for range users * replies {
		require.Equal(t, "assistant: ok", <-ended)
	}
	require.ErrorIs(t, mem.Flush(t.Context()), working.ErrClosed)
	_, m := ask(t, asAnn, mem, "any news")
	require.Equal(t, 1, testkit.Notes(m.Calls()[0]), "reading goes on")
	require.NotEmpty(t, failures.At("record"))
	for _, err := range failures.At("record") {
		require.ErrorIs(t, err, working.ErrClosed)
	}
}

func TestFlushHeedsItsContext(t *testing.T) {
	learning, release := make(chan struct{}), make(chan struct{})
	b := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		learning <- struct{}{}
		<-release
		return &backends.AddResponse{}, nil
	}}
	mem := open(t, &middleware.Config{Backend: b, Working: &working.Config{Idle: time.Millisecond}})
	ask(t, asAnn, mem, "any news")
	<-learning
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, mem.Flush(ctx), context.Canceled)
	close(release)
	require.NoError(t, mem.Flush(t.Context()))
}

// Neither goroutines nor memory grow with the replies.
func TestManyRepliesLeaveNothingBehind(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: verbatim(t, testkit.SQLite(t)), AwaitWrite: true})
	a := agent(t, mem, testkit.New())
	replies := func(n int) (goroutines int, bytes int64) {
		for n := range n {
			testkit.Drain(a.Query(as(fmt.Sprint("user", n%5), fmt.Sprint("s", n)), "any news"))
		}
		require.NoError(t, mem.Flush(t.Context()))
		return runtime.NumGoroutine(), heap()
	}
	goroutines, bytes := replies(20)
	after, grown := replies(200)
	require.LessOrEqual(t, after, goroutines+3)
	require.Less(t, grown, bytes+16<<20)
}

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkReplyOverhead measures a reply of a model that answers at once: what it costs
// without memory, and with it over a file that holds 1,000 memories of the user. The
// difference is what memory adds before the answer is complete. Each reply records a turn
// of its own session.
func BenchmarkReplyOverhead(b *testing.B) {
	replies := func(b *testing.B, a *adk.Runner) {
		i := 0
		for b.Loop() {
			i++
			testkit.Drain(a.Query(as("ann", fmt.Sprint("session ", i)), "Which train took me to Oslo?"))
		}
	}
	b.Run("without memory", func(b *testing.B) {
		replies(b, testkit.Runner(testkit.Agent(b, "assistant", testkit.New(), nil), false, nil))
	})
	var facts []string
	for i := range 1000 {
		facts = append(facts, fmt.Sprintf("On day %d I took train %d to Oslo and had tea with friend %d.", i, i%17, i%29))
	}
	for _, c := range []struct {
		mode  modes.Mode
		await bool
	}{{modes.StaticControl, false}, {modes.AgentControl, false}, {modes.Both, false}, {modes.StaticControl, true}, {modes.Both, true}} {
		b.Run(fmt.Sprintf("%s/await=%t", c.mode, c.await), func(b *testing.B) {
			file, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "memory.db"), nil)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, file.Close()) })
			backend := verbatim(b, file)
			_, err = backend.Add(b.Context(), &backends.AddRequest{Scope: middleware.Scope{UserID: "ann"}, Messages: testkit.User(facts...)})
			require.NoError(b, err)
			replies(b, agent(b, open(b, &middleware.Config{Backend: backend, Mode: c.mode, AwaitWrite: c.await}), testkit.New()))
		})
	}
}

// What was said is found before it is learnt: by the same person alone, in any session and
// process, by the note, the tools and the retriever alike.
func TestWhatIsSaidIsKnownAtOnce(t *testing.T) {
	for name, db := range map[string]store.Store{"SQLite": testkit.SQLite(t), "Redis": onRedis(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}))} {
		t.Run(name, func(t *testing.T) {
			var notes []hooks.Note
			process := func() *middleware.MemoryMiddleware {
				return open(t, &middleware.Config{
					Backend: verbatim(t, db), Working: &working.Config{Idle: time.Hour, Sweep: -1},
					OnNote: func(_ context.Context, n hooks.Note) { notes = append(notes, n) },
				})
			}
			one, other := process(), process()
			ask(t, as("ann", "monday"), one, "My dog is called Rex.", testkit.Text("Noted, your dog is called Rex."))
			require.Empty(t, memories(t, verbatim(t, db), "ann"))
			require.Eventually(t, func() bool { // it is on its way to the log
				ask(t, as("ann", "tuesday"), other, "What is my dog called?", testkit.Text("Rex"))
				return strings.Contains(notes[len(notes)-1].Text, "user: My dog is called Rex.")
			}, time.Minute, time.Millisecond)
			require.NotContains(t, notes[len(notes)-1].Text, "Noted")

			_, m := ask(t, as("ann", "wednesday"), one, "Look it up", testkit.Call("1", "search_memory", `{"keywords":["dog called"]}`), testkit.Text("ok"))
			require.Contains(t, m.Calls()[1][len(m.Calls()[1])-1].Content, "My dog is called Rex.")
			docs, err := other.AsRetriever().Retrieve(as("ann", "thursday"), "my dog called")
			require.NoError(t, err)
			require.Equal(t, "My dog is called Rex.", docs[0].Content)
			ask(t, as("bob", "tuesday"), other, "What is my dog called?", testkit.Text("?"))
			require.Empty(t, notes[len(notes)-1].Text)

			ask(t, as("eve", "monday"), one, "My cat is called Tom.", testkit.Text("Fine."))
			look := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { // its text is logged before the tool is called
				return schema.AssistantMessage("Let me look.", []schema.ToolCall{{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "search_memory", Arguments: `{"keywords":["cat called"]}`}}}), nil
			}
			_, m = ask(t, as("eve", "monday"), one, "My cat called Tom has a mouse.", look, testkit.Text("ok"))
			require.Contains(t, m.Calls()[1][len(m.Calls()[1])-1].Content, "My cat is called Tom.")
			require.NotContains(t, m.Calls()[1][len(m.Calls()[1])-1].Content, "a mouse", "which is of this turn")

			require.NoError(t, one.Flush(t.Context()))
			require.NoError(t, other.Flush(t.Context()))
			ask(t, as("ann", "friday"), one, "What is my dog called?", testkit.Text("Rex"))
			require.Equal(t, 1, strings.Count(notes[len(notes)-1].Text, "My dog is called Rex."), "it is learnt now")
			require.NotEmpty(t, notes[len(notes)-1].Hits[0].ID)
		})
	}
}

// What the model sees anyway is not repeated in the note, and a message that has the words of a
// memory does not show it.
func TestTheNoteLeavesOutWhatTheContextShows(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: verbatim(t, testkit.SQLite(t)), AwaitWrite: true})
	for _, said := range []string{"My dog is called Rex.", "My dog is a beagle.", "I am allergic to peanuts."} {
		require.NoError(t, mem.Finish(asAnn, testkit.Turn(said, "ok")))
	}
	prepared, err := mem.Prepare(asAnn, append(testkit.Turn("my dog is called  Rex", "ok"), schema.UserMessage("Is my dog a beagle?")))
	require.NoError(t, err)
	require.NotContains(t, noteIn(prepared), "Rex")
	require.Contains(t, noteIn(prepared), "beagle")
	for _, question := range []string{"Am I allergic to peanuts?", "Am I allergic to peanuts or to cashews?", "My friend is allergic to peanuts. Am I?"} {
		prepared, err = mem.Prepare(asAnn, []*schema.Message{schema.UserMessage(question)})
		require.NoError(t, err)
		require.Contains(t, noteIn(prepared), "I am allergic to peanuts", question)
	}
}

func TestWhatWasLearntIsReported(t *testing.T) {
	var learnt []backends.Item
	mem := open(t, &middleware.Config{
		Backend: verbatim(t, testkit.SQLite(t)), AwaitWrite: true,
		OnLearned: func(_ context.Context, r *backends.AddResponse) { learnt = append(learnt, r.Items...) },
	})
	ask(t, as("ann", "monday"), mem, "My dog is called Rex.", testkit.Text("A fine name."))
	require.Len(t, learnt, 2)
	require.Equal(t, "My dog is called Rex.", learnt[0].Memory.Text)
}
