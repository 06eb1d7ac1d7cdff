// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/internal/test/transcript"
	"github.com/einomem/einomem/middleware"
)

// eager retries at once, and learns at once.
func eager() *working.Config {
	return &working.Config{Backoff: time.Millisecond, Idle: time.Millisecond, Sweep: -1}
}

// flush waits until all is learnt, however long.
func flush(t testing.TB, mem *middleware.MemoryMiddleware) {
	t.Helper()
	for mem.Flush(t.Context()) != nil {
		require.NoError(t, t.Context().Err())
	}
}

func requireUnavailable(t testing.TB, errs []error) {
	t.Helper()
	require.NotEmpty(t, errs)
	for _, err := range errs {
		require.True(t, errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
		require.NotErrorIs(t, err, backends.ErrNotFound)
	}
}

// outage is one way in which a Redis fails.
type outage struct {
	Name    string
	Server  *testredis.Server  // which keeps all that it acknowledges
	Network *testredis.Network // by which its clients reach it

	Begin, End func()
	Reads      bool // what was stored can be read meanwhile
	Logs       bool // logs can, which are read without scripts
	Works      bool // it is slow, or fails now and then
	Hangs      bool // calls end when their contexts do

	// Timeout is what calls are given: a second if the Redis hangs, else so long that no
	// time limit is near.
	Timeout time.Duration
}

// eachOutage runs subtests in parallel, one for each way in which a Redis can fail, each
// with a server of its own.
func eachOutage(t *testing.T, test func(t *testing.T, o *outage)) {
	flavour := testredis.Need(t)
	for i, way := range outages(t, nil, nil, nil) {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s, n := flavour.Start(t, "--appendonly", "yes", "--appendfsync", "always"), &testredis.Network{}
			o := outages(t, s, n, s.Client(t))[i]
			o.Server, o.Network, o.Timeout = s, n, time.Hour
			if o.Hangs {
				o.Timeout = time.Second
			}
			test(t, &o)
		})
	}
}

func outages(t *testing.T, s *testredis.Server, n *testredis.Network, admin *redis.Client) []outage {
	// do has the server carry out a command.
	do := func(words ...any) func() {
		return func() {
			t.Helper()
			require.NoError(t, admin.Do(context.Background(), words...).Err())
		}
	}
	return []outage{
		{Name: "refuses connections", Begin: func() { n.Refuse(true) }, End: func() { n.Refuse(false) }},
		{Name: "hangs", Begin: func() { s.Freeze() }, End: func() { s.Thaw() }, Hangs: true},
		{Name: "is killed", Begin: func() { s.Kill() }, End: func() { s.Restart() }},
		{Name: "is slow", Begin: func() { n.Delay(2 * time.Millisecond) }, End: func() { n.Delay(0) }, Reads: true, Works: true},
		{Name: "is out of memory", Begin: do("config", "set", "maxmemory", 1), End: do("config", "set", "maxmemory", 0), Reads: true},
		{Name: "is read-only", Begin: do("replicaof", "127.0.0.1", 1), End: do("replicaof", "no", "one"), Reads: true},
		{Name: "lacks replicas", Begin: do("config", "set", "min-replicas-to-write", 1), End: do("config", "set", "min-replicas-to-write", 0), Reads: true},
		{Name: "forbids scripts", Begin: do("acl", "setuser", "default", "-evalsha", "-eval"), End: do("acl", "setuser", "default", "+@all"), Logs: true},
		{Name: "changes its password", Begin: func() { do("config", "set", "requirepass", "new")(); n.CutAll() }, End: do("config", "set", "requirepass", "")},
		{Name: "loses replies", Begin: func() { n.LoseReplies(1<<30, "evalsha", "eval") }, End: func() { n.LoseReplies(0) }, Logs: true},
		{Name: "cuts connections", Begin: func() { n.CutRandomly(7, 6000) }, End: func() { n.CutRandomly(7, 0) }, Reads: true, Works: true},
	}
}

// However Redis fails, the agent answers; OnError is called with what is unavailable;
// neither the note nor a tool claims that there is no memory; and what was said meanwhile
// is learnt, once, when Redis is back.
func TestRedisFails(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		failures := &testkit.Failures{}
		b := verbatim(t, onRedis(t, o.Network.Client(t, o.Server)))
		ask(t, as("ann", "monday"), open(t, &middleware.Config{Backend: b, AwaitWrite: true, SearchTimeout: time.Hour}), "I live in Bergen.", testkit.Text("Noted."))
		mem := open(t, &middleware.Config{Backend: b, SearchTimeout: o.Timeout, OnError: failures.Add, Working: eager()})

		o.Begin()
		answer, m := ask(t, as("ann", "tuesday"), mem, "My cat is called Miso. Where do I live?", testkit.Call("1", "search_memory", `{"keywords":["Bergen"]}`), testkit.Text("still here"))
		require.Equal(t, "assistant: still here", answer)
		answer, _ = ask(t, as("ann", "tuesday"), mem, "I also have a dog.", testkit.Text("me too"))
		require.Equal(t, "assistant: me too", answer)
		result := m.Calls()[1][len(m.Calls()[1])-1]
		require.Equal(t, schema.Tool, result.Role)
		require.NotContains(t, strings.ToLower(result.Content), "no relevant memories")
		require.NotContains(t, strings.ToLower(result.Content), "not found")
		switch {
		case o.Name == "cuts connections": // it is found or not
		case o.Reads:
			require.Contains(t, result.Content, "I live in Bergen.")
			require.Contains(t, noteIn(m.Calls()[0]), "I live in Bergen.")
		default:
			require.Contains(t, result.Content, "Memory is not available now.")
			require.Zero(t, testkit.Notes(m.Calls()[0]))
			requireUnavailable(t, failures.At("search"))
			requireUnavailable(t, failures.At("search_memory"))
		}
		if !o.Works {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			require.Error(t, mem.Flush(ctx), "what is not learnt yet is reported")
			cancel()
		}

		o.End()
		flush(t, mem)
		want := []string{"I live in Bergen.", "Noted.", "My cat is called Miso. Where do I live?", "still here", "I also have a dog.", "me too"}
		require.ElementsMatch(t, want, memories(t, b, "ann"))
		_, m = ask(t, as("ann", "wednesday"), open(t, &middleware.Config{Backend: b, SearchTimeout: time.Hour}), "What is my cat called, and where do I live?")
		require.Contains(t, noteIn(m.Calls()[0]), "Bergen")
		require.Contains(t, noteIn(m.Calls()[0]), "Miso")
	})
}

// A turn that cannot be recorded is reported: with AwaitWrite when it is awaited, when the
// queue is full, and when the process ends.
func TestRedisIsDown(t *testing.T) {
	network, failures := &testredis.Network{}, &testkit.Failures{}
	b := verbatim(t, onRedis(t, network.Client(t, testredis.Need(t).Start(t))))
	w := &working.Config{Backoff: time.Millisecond, Sweep: -1, Queue: 4}
	await := open(t, &middleware.Config{Backend: b, AwaitWrite: true, OnError: failures.Add, SearchTimeout: time.Hour, Working: &working.Config{Sweep: -1}})
	ends, err := middleware.New(t.Context(), &middleware.Config{Backend: b, OnError: failures.Add, SearchTimeout: time.Hour, Working: w})
	require.NoError(t, err)
	full := open(t, &middleware.Config{Backend: b, OnError: failures.Add, SearchTimeout: time.Hour, Working: w})

	ask(t, as("ann", "monday"), await, "I live in Bergen.", testkit.Text("one"))
	network.Refuse(true)
	answer, _ := ask(t, as("ann", "monday"), await, "I have a cat.", testkit.Text("two"))
	require.Equal(t, "assistant: two", answer)
	requireUnavailable(t, failures.At("record"))

	ask(t, as("bob", "monday"), ends, "I have a bird.")
	err = ends.Close(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "1 recorded turns were not appended and are lost")
	requireUnavailable(t, failures.At("append"))

	reported := len(failures.At("record"))
	for i := range 4 { // two, each with its question, wait in the queue; a reply waits for the others until its context ends
		ctx, cancel := context.WithTimeout(as("cleo", fmt.Sprint(i)), time.Second)
		answer, _ := ask(t, ctx, full, "I have a fish.")
		require.Equal(t, "assistant: ok", answer)
		cancel()
	}
	require.Len(t, failures.At("record"), reported+4)
	require.ErrorContains(t, failures.At("record")[reported], "record the question")
	require.ErrorContains(t, failures.At("record")[reported+1], "the queue of 4 is full")

	network.Refuse(false)
	flush(t, full)
	ask(t, as("ann", "monday"), await, "I have a dog.", testkit.Text("three"))
	flush(t, await)
	require.Subset(t, memories(t, b, "ann"), []string{"I live in Bergen.", "one", "I have a dog.", "three"})
}

// refused is what clients of OpenAI return, as those of eino-ext do.
type refused struct{ HTTPStatusCode int }

func (r *refused) Error() string { return fmt.Sprintf("error, status code: %d", r.HTTPStatusCode) }

// An hour of 401 loses nothing and parks nothing: Health shows it, and once the key is
// right all is learnt without a hand. What the model refuses for its content is parked
// alone, and RetryFailures of any process brings it back.
func TestAnHourOf401LosesNothing(t *testing.T) {
	testkit.SlowUnderRace(t)
	testkit.Once(t)
	clock := testkit.NewClock()
	for name, db := range map[string]store.Store{
		"sqlite": testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = clock.Now }),
		"redis":  testkit.Redis(t, nil, func(c *redisstore.Config) { c.Clock = clock.Now }),
	} {
		t.Run(name, func(t *testing.T) {
			var status atomic.Int64
			status.Store(401)
			extractor := testkit.New(func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
				if n := status.Load(); n == 401 || n == 400 && strings.Contains(in[1].Content, "a cat") {
					return nil, &refused{int(n)}
				}
				return schema.AssistantMessage(`{"operations":[]}`, nil), nil // what was said is kept beside the facts
			})
			b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: extractor, Clock: clock.Now})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
			memory := func(idle, sweep time.Duration) *middleware.MemoryMiddleware {
				return open(t, &middleware.Config{Backend: b, Clock: clock.Now, Working: &working.Config{Idle: idle, Sweep: sweep}})
			}
			start, first := clock.Now(), memory(time.Hour, -1)
			for _, line := range []string{"I live in Bergen.", "I have a cat.", "I drink tea."} {
				ask(t, as("ann", "monday"), first, line, testkit.Text("You said: "+line))
			}
			ask(t, as("bob", "friday"), first, "I have a cat.", testkit.Text("Like Ann."))
			require.ErrorIs(t, first.Flush(t.Context()), backends.ErrUnavailable)

			second := memory(time.Millisecond, time.Millisecond) // another process, whose sweeper heeds the clock
			tried := func() bool {                               // each session that waits, and its next try is to come
				page, err := db.List(t.Context(), store.SessionQuery{Pending: true})
				require.NoError(t, err)
				return !slices.ContainsFunc(page.Sessions, func(s store.Session) bool {
					return s.Lease.Owner != "" || !s.Retry.After.After(clock.Now())
				})
			}
			for range 20 {
				clock.Advance(6 * time.Minute)
				require.Eventually(t, tried, time.Minute, time.Millisecond)
			}
			require.Less(t, len(extractor.Calls()), 2*20, "a model that fails in a row is left alone")
			h, err := second.Working().Health(t.Context())
			require.NoError(t, err)
			require.Equal(t, working.Health{Sessions: 2, Messages: 8, Oldest: start, Failing: 2, Since: start, LastError: h.LastError}, *h)
			require.Contains(t, h.LastError, "status 401")

			status.Store(400)
			learnt := func() int { return len(memories(t, b, "ann")) + len(memories(t, b, "bob")) }
			require.Eventually(t, func() bool { // in real time the model is left alone for some seconds yet
				if !tried() { // a lease must not end while its owner is at work
					return false
				}
				clock.Advance(6 * time.Minute)
				h, err := second.Working().Health(t.Context())
				require.NoError(t, err)
				return h.Sessions == 0
			}, time.Minute, 100*time.Millisecond)
			require.Equal(t, 4, learnt())
			h, err = first.Working().Health(t.Context())
			require.NoError(t, err)
			require.Equal(t, working.Health{Parked: 2}, *h)
			status.Store(200)
			require.NoError(t, first.Working().RetryFailures(t.Context()))
			require.Equal(t, 8, learnt())
		})
	}
}

// puts counts the archives that are written between two calls of a model, and those writes
// that may last for longer than patience.
type puts struct {
	store.Sessions
	patience time.Duration

	since, most, endless atomic.Int64
}

func (s *puts) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	s.most.Store(max(s.most.Load(), s.since.Add(1)))
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > s.patience {
		s.endless.Add(1)
	}
	return s.Sessions.PutBlob(ctx, p, id, name, data)
}

// However Redis fails in the middle of a task, and whether or not it comes back before the
// end: the agent goes on for as long as its context fits, every context is valid and fits,
// each wait has an end, and the log has everything when Redis is back.
func TestTheStoreGoesAwayInTheMiddleOfATask(t *testing.T) {
	testkit.Once(t)
	const pages, words, tokens = 24, 60, 2500
	eachOutage(t, func(t *testing.T, o *outage) {
		for _, returns := range []bool{true, false} {
			wrapped := (len(o.Name)%2 == 0) == returns
			failures, s := &testkit.Failures{}, ann
			s.SessionID = fmt.Sprint("returns ", returns)
			ctx := middleware.WithScope(t.Context(), s)
			db := &puts{Sessions: onRedis(t, o.Network.Client(t, o.Server)), patience: o.Timeout}
			cfg := windowed(tokens, &testkit.Backend{}, db)
			cfg.SearchTimeout, cfg.OnError, cfg.Working = o.Timeout, failures.Add, eager()
			mem := open(t, cfg)
			ask(t, ctx, mem, "Hi.", testkit.Text("Hello."))

			script, want := testkit.ReadPages(0, pages, words, testkit.Text("I have read everything."))
			for n, reply := range script {
				script[n] = func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
					if db.since.Store(0); n == 2 {
						o.Begin()
					} else if n == 5 && returns {
						o.End()
					}
					return reply(ctx, in, opts)
				}
			}
			m := testkit.New(script...)
			var runner testkit.Run = agent(t, mem, m, testkit.Reader(t, words))
			if wrapped {
				runner = mem.WrapRunner(runner.(*adk.Runner))
			}
			lines := testkit.Drain(runner.Query(ctx, "Read everything."))
			requireFits(t, mem, m.Calls()...)
			want = append(append([]string{"user: Hi.", "assistant: Hello.", "user: Read everything."}, want...), "assistant: I have read everything.")
			if strings.HasPrefix(testkit.Last(lines), "error") { // the context of the next call did not fit
				require.False(t, returns, "it fits until then")
				require.Contains(t, testkit.Last(lines), "context over budget")
				want = want[:2+len(lines)]
			}
			if !returns {
				answer, _ := ask(t, ctx, mem, "Are you there?", testkit.Text("Here."))
				require.Equal(t, "assistant: Here.", answer, "a turn goes on without what was said before")
				require.True(t, o.Name == "cuts connections" || (o.Reads || o.Logs) == (len(failures.At("history")) == 0))
				want = append(want, "user: Are you there?", "assistant: Here.")
				o.End()
			}
			require.Zero(t, db.endless.Load())
			require.LessOrEqual(t, db.most.Load(), int64(4), "writes between two calls of the model")
			if !o.Works && !returns {
				requireUnavailable(t, failures.At("compact"))
				if !wrapped { // which writes at the end
					require.NotEmpty(t, failures.At("record"))
				}
			}
			flush(t, mem)
			require.Equal(t, testkit.Brief(want), testkit.Brief(testkit.Logged(t, db, s)))
			after := open(t, windowed(tokens, &testkit.Backend{}, db.Sessions))
			answer, m := ask(t, ctx, after, "And now?", testkit.Text("Fine."))
			require.Equal(t, "assistant: Fine.", answer)
			require.NoError(t, transcript.Check(m.Calls()[0]))
			back, err := after.Window().Restore(ctx, s, m.Calls()[0])
			require.NoError(t, err)
			require.Len(t, testkit.Conversation(back), len(want)+1, "all of it is shown or archived")
		}
	})
}

// However Redis fails under an agent with reme: the agent refunds on, OnError is called,
// and once Redis is back every turn is learnt from once and every call is there or was
// reported as lost.
func TestHoweverRedisFailsReMeLearnsOnce(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		if o.Hangs { // for a minute: what is stored has no other end
			t.Skip("see TestRedisFails")
		}
		db, failures := onRedis(t, o.Network.Client(t, o.Server)), &testkit.Failures{}
		var mu sync.Mutex
		calls := map[string]bool{} // that are recorded, or reported as lost
		cfg := &reme.Config{Store: db, Model: testkit.New(rewording(testkit.Learn)), Verdict: reme.VerdictOf("refund", "passed")}
		cfg.Tools.NoRefresh = true
		cfg.OnError = func(ctx context.Context, err error) {
			failures.Add(ctx, "reme", err)
			if e := new(toolmem.LostError); errors.As(err, &e) {
				mu.Lock()
				defer mu.Unlock()
				for i := range e.Calls {
					calls[fmt.Sprint(e.Calls[i].Input)] = true
				}
			}
		}
		b, err := reme.New(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		w := eager()
		w.Lease, w.MaxTurns = 300*time.Millisecond, 2
		mem := open(t, &middleware.Config{Backend: b, SearchTimeout: o.Timeout, Working: w, OnError: failures.Add})
		l := &life{User: "ann"}
		ctx := middleware.WithScope(context.Background(), l.atDesk())
		l.order(t, mem, 0)
		require.NoError(t, mem.Flush(ctx))
		o.Begin()
		l.order(t, mem, 1)
		l.order(t, mem, 2)
		o.End()
		l.order(t, mem, 3)
		flush(t, mem)
		_, err = mem.Working().Consolidate(ctx, l.atDesk())
		require.NoError(t, err)
		require.Equal(t, 4, l.learntOnce(t, b, db))
		got, err := b.Tools().Retrieve(ctx, &toolmem.RetrieveRequest{Scope: l.atDesk(), Tools: []string{"refund"}, WithCalls: true})
		require.NoError(t, err)
		require.LessOrEqual(t, len(got.Tools[0].Calls), 4, "each once")
		mu.Lock()
		defer mu.Unlock()
		for _, c := range got.Tools[0].Calls {
			calls[fmt.Sprint(c.Input)] = true
		}
		require.Len(t, calls, 4)
		if err := failures.Err(); err != nil {
			require.ErrorIs(t, err, backends.ErrUnavailable)
		}
	})
}

// One process that serves many more users than fit into its budget stays within it,
// whatever the order in which they come, and finds for each what is theirs.
func TestAProcessOfManyUsersHoldsItsBudget(t *testing.T) {
	users, bytes := 1000, int64(2<<20)
	if testkit.Long() {
		users, bytes = 4000, 6<<20
	}
	const each, workers = 20, 8
	client := testredis.Need(t).Start(t).Client(t, func(o *redis.Options) { o.ContextTimeoutEnabled, o.PoolSize = true, workers })
	s := onRedis(t, client)
	ranker, err := recall.New(t.Context(), &recall.Config{Records: s, MaxBytes: bytes, Embedder: &testkit.Embedder{Dim: 64}, EmbeddingModel: "words"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ranker.Close()) })
	forAll := func(do func(ctx context.Context, p backends.Partition, user int) error) {
		t.Helper()
		all, ctx := errgroup.WithContext(t.Context())
		all.SetLimit(workers)
		for _, user := range rand.Perm(users) {
			all.Go(func() error {
				return do(ctx, backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprint("user-", user)}, user)
			})
		}
		require.NoError(t, all.Wait())
	}
	forAll(func(ctx context.Context, p backends.Partition, user int) error {
		var texts []string
		for i := range each {
			texts = append(texts, fmt.Sprintf("user%d keeps the secret word%dof%d in drawer%d", user, i, user, i))
		}
		vectors, space, err := ranker.Embed(ctx, texts)
		if err != nil {
			return err
		}
		b := &store.Batch{Embedding: space}
		for i, text := range texts {
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: text}, Vector: vectors[i]}))
		}
		_, err = s.Apply(ctx, p, b)
		return err
	})
	before, goroutines := heap(), runtime.NumGoroutine()
	for range 2 {
		forAll(func(ctx context.Context, p backends.Partition, user int) error {
			i := user % each
			found, err := ranker.Search(ctx, p, &backends.SearchRequest{Query: fmt.Sprintf("secret word%dof%d", i, user), TopK: 3})
			switch {
			case err != nil || found.Degraded != nil:
				return fmt.Errorf("user %d: %w %w", user, err, found.Degraded)
			case len(found.Hits) != 3 || found.Hits[0].ID != fmt.Sprint(i):
				return fmt.Errorf("user %d found %v", user, found.Hits)
			case ranker.Stats().Bytes > bytes:
				return fmt.Errorf("%d bytes are held", ranker.Stats().Bytes)
			}
			return nil
		})
	}
	require.Greater(t, ranker.Stats().Evictions, int64(users), "the test shows nothing if all users fit")
	require.Less(t, heap()-before, bytes+bytes/2+4<<20, "the process holds what the ranker counts, and little else")
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+workers)
	require.LessOrEqual(t, int(client.PoolStats().TotalConns), workers)
}
