// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// child is a process that a test starts: "STORE steps BACKEND SESSION STEP" appends and
// consolidates, and dies before its STEPth call of the store; "STORE works NAME" appends
// to a session that others write to as well, and to its own, and learns from both, until
// it is killed. Each prints what it has acknowledged.
func child(spec string) error {
	f, ctx := strings.Fields(spec), context.Background()
	clock := testkit.NewClock().Now
	if f[1] == "works" {
		clock = backends.SystemClock
	}
	db, err := openAt(f[0], clock)
	if err != nil {
		return err
	}
	spy := testkit.Spy(db)
	if f[1] == "works" {
		m, err := working.New(ctx, busy(spy))
		for i := 0; err == nil; i++ {
			s := backends.Scope{UserID: "ann", AgentID: f[2], SessionID: []string{"all", f[2]}[i%2]}
			if err = m.Append(ctx, said(fmt.Sprint(f[2], ".", i), s)); err == nil {
				fmt.Println(s.SessionID, fmt.Sprint(f[2], ".", i))
			}
		}
		return err
	}
	step, err := strconv.Atoi(f[4])
	if err != nil {
		return err
	}
	backend, err := backendNamed(f[2], spy)
	if err != nil {
		return err
	}
	m, err := working.New(ctx, &working.Config{Sessions: spy, Backend: backend, Sweep: -1, Idle: time.Hour, Clock: clock})
	if err != nil {
		return err
	}
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.N+1 == step {
			testkit.Die()
		}
		return nil
	})
	for i := range 3 {
		s := ann
		s.SessionID = f[3]
		if err := m.Append(ctx, said(fmt.Sprint("t", i), s)); err != nil {
			return err
		}
		fmt.Println("appended", i)
		if i > 0 {
			if _, err := m.Consolidate(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func openAt(at string, clock backends.Clock) (store.Store, error) {
	if !strings.HasPrefix(at, "redis:") {
		return sqlitestore.Open(context.Background(), at, &sqlitestore.Config{Clock: clock, Relaxed: true})
	}
	o, err := redis.ParseURL(at)
	if err != nil {
		return nil, err
	}
	return redisstore.New(context.Background(), redis.NewClient(o), &redisstore.Config{Clock: clock})
}

// backendNamed returns a backend that keeps its memories with the session, in another
// partition, or as mem0 does.
func backendNamed(name string, db store.Store) (backends.Backend, error) {
	if name == "mem0" {
		return mem0.New(context.Background(), &mem0.Config{Store: db})
	}
	return &learner{records: db, workspace: strings.TrimPrefix(name, "beside")}, nil
}

// busy configures a Memory that works as fast as it can.
func busy(db store.Store) *working.Config {
	return &working.Config{
		Sessions: db, Backend: &learner{records: db}, MaxTurns: 3, Idle: 20 * time.Millisecond,
		Lease: time.Second, Sweep: 100 * time.Millisecond, Backoff: 5 * time.Millisecond,
	}
}

// A process is killed before each call of the store by which it appends and consolidates:
// another one goes on, loses nothing, and learns nothing twice.
func TestKilledAtAnyStepNothingIsLostOrLearntTwice(t *testing.T) {
	testkit.SlowUnderRace(t)
	long := testkit.Long()
	onRedis := func(t *testing.T) func() string {
		url := testredis.Need(t).Start(t).URL()
		return func() string { return url }
	}
	onSQLite := func(t *testing.T) func() string {
		return func() string { return t.TempDir() + "/memory.db" }
	}
	for name, tc := range map[string]struct {
		backend string
		place   func(t *testing.T) func() string
		stride  int
	}{
		"beside the session":           {"beside", onSQLite, 1},
		"in another partition":         {"team", onSQLite, 1},
		"mem0":                         {"mem0", onSQLite, 5},
		"beside the session, on Redis": {"beside", onRedis, 2},
		"mem0 on Redis":                {"mem0", onRedis, 7},
	} {
		t.Run(name, func(t *testing.T) {
			stride, place := tc.stride, tc.place(t)
			if long {
				stride = 1
			}
			step := 1
			for died := true; died; step += stride {
				at := place()
				s := ann
				s.SessionID = fmt.Sprint("s", step)
				c := testkit.StartChild(t, fmt.Sprint(at, " steps ", tc.backend, " ", s.SessionID, " ", step))
				appended := len(c.Rest())
				died = c.Wait(t)
				clock := testkit.NewClock()
				db, err := openAt(at, clock.Now)
				require.NoError(t, err)
				backend, err := backendNamed(tc.backend, db)
				require.NoError(t, err)
				e := openEnv(t, db, clock, func(e *env) { e.cfg.Backend = backend })
				e.append(said("more", s)) // must not change the range that the dead process had begun
				clock.Advance(time.Hour)  // past the lease
				e.consolidate(s)
				entries, want := e.entries(s), map[string]int{}
				require.GreaterOrEqual(t, len(entries), 2*(appended+1), "step %d: what was appended is there", step)
				for _, entry := range entries {
					if want[entry.ID]++; tc.backend == "mem0" {
						delete(want, entry.ID)
						want[entry.Content]++
					}
				}
				p, _ := s.Speaker()
				if tc.backend == "team" {
					p = backend.(*learner).partition()
				}
				require.Equal(t, want, recorded(t, db, p), "step %d", step)
				state := e.session(s)
				require.Equal(t, state.LastSeq, state.Watermark, "step %d", step)
				_, err = db.Drop(t.Context(), p) // the next child begins anew
				require.NoError(t, err)
				require.NoError(t, e.mem.Close(t.Context()))
				require.NoError(t, db.(interface{ Close() error }).Close())
			}
			require.Greater(t, step, 20)
		})
	}
}

// Several processes append and learn at once, in one session and in others. Some are
// killed, and those that stay take over: each turn is learnt once.
func TestOnRedisProcessesLearnEachTurnOnce(t *testing.T) {
	server := testredis.Need(t).Start(t)
	generations := 2
	if testkit.Long() {
		generations = 12
	}
	acknowledged := map[string][]string{} // turns, by session
	line := regexp.MustCompile(`^(\S+) (\S+\.\d+)$`)
	for generation := range generations {
		var workers []*testkit.Child
		lines := make(chan string, 1000)
		for n := range 3 {
			c := testkit.StartChild(t, fmt.Sprintf("%s works w%dx%d", server.URL(), generation, n))
			workers = append(workers, c)
			go func() {
				for text, ok := c.Line(); ok; text, ok = c.Line() {
					lines <- text
				}
				lines <- ""
			}()
		}
		for running, until := len(workers), 10+rand.IntN(60); running > 0; {
			text := <-lines
			if text == "" {
				running--
				continue
			}
			m := line.FindStringSubmatch(text)
			require.NotNil(t, m, text)
			acknowledged[m[1]] = append(acknowledged[m[1]], m[2])
			if until--; until%20 == 0 && len(workers) > 0 {
				workers[0].Kill()
				workers = workers[1:]
			}
		}
	}
	db, err := openAt(server.URL(), nil)
	require.NoError(t, err)
	m, err := working.New(t.Context(), busy(db))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		page, err := db.List(t.Context(), store.SessionQuery{Pending: true})
		require.NoError(t, err)
		return len(page.Sessions) == 0
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, m.Close(t.Context()))
	p, _ := ann.Speaker()
	learnt := recorded(t, db, p)
	for id, n := range learnt {
		require.Equal(t, 1, n, "%s was learnt once", id)
	}
	for session, turns := range acknowledged {
		for _, turn := range turns {
			require.Contains(t, learnt, turn+"-0", session)
			require.Contains(t, learnt, turn+"-1", session)
		}
	}
	require.NoError(t, db.(interface{ Close() error }).Close())
}

// Whichever turns spoil a range, whoever tries, and wherever a process stops: those turns,
// and no others, join the failures, and the others are learnt once.
func TestOnlyTurnsThatSpoilARangeAreGivenUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fails := rapid.SampledFrom([]error{backends.ErrModel, backends.ErrInvalid, errors.New("odd")}).Draw(t, "error")
		workspace := rapid.SampledFrom([]string{"", "team"}).Draw(t, "workspace")
		cut := rapid.IntRange(1, 60).Draw(t, "the call of the log that fails")
		e := newEnv(t, func(e *env) { e.cfg.MaxTurns = 1 << 20 })
		var bad []string
		for i := range rapid.IntRange(1, 12).Draw(t, "turns") {
			id := fmt.Sprint("t", i)
			e.append(said(id, with(rapid.SampledFrom([]string{"bot", "bot", "bot", "cook"}).Draw(t, "agent"))))
			if rapid.IntRange(0, 3).Draw(t, "bad") == 0 {
				bad = append(bad, id)
			}
		}
		calls := 0
		start := func(e *env) {
			*e.cfg.Attempts(), e.cfg.MaxTurns = 2, 6
			if e.back.workspace = workspace; len(bad) > 0 {
				e.back.err, e.back.bad = fails, bad
			}
			e.log.Arm(func(*testkit.StoreCall) error {
				if calls++; calls == cut {
					return backends.ErrUnavailable
				}
				return nil
			})
		}
		e = e.restart(start)
		for tries := 0; e.session(ann).Pending(); tries++ {
			require.Less(t, tries, 100, "it comes to an end")
			if rapid.Bool().Draw(t, "restarts") {
				e = e.restart(start)
			}
			e.clock.Advance(10 * time.Minute)
			_, _ = e.mem.Consolidate(context.Background(), ann)
		}
		failed, learnt := e.failed(), e.learnt()
		if calls < cut { // nothing was ever in doubt
			require.Equal(t, bad, failed)
		}
		for _, entry := range e.entries(ann) {
			require.Equal(t, !slices.Contains(failed, entry.Turn), learnt[entry.ID] == 1, "%s is learnt or among the failures", entry.ID)
		}
		e.learntOnce()
	})
}

// Two processes on one session, whose agents append turns at the same time: whatever the
// backend answers and whoever takes over, each message is learnt once, in order, under its
// agent.
func TestWhateverHappensEachMessageIsLearntOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workspace := rapid.SampledFrom([]string{"", "team"}).Draw(t, "workspace")
		ctx := context.Background()
		pen := newEnv(t, func(e *env) { e.cfg.MaxTurns, e.cfg.MaxTokens = 1<<20, 1<<30 }) // appends alone: nothing happens by itself
		bad := map[string]bool{}                                                          // turns that no model understands
		outcome := ""                                                                     // of the next Add
		var procs [2]*env
		consolidate := func(proc int, next string) {
			outcome = next
			_, err := procs[proc].mem.Consolidate(ctx, ann)
			outcome = ""
			require.True(t, err == nil || next != "" || len(bad) > 0, "failed without a cause: %v", err)
		}
		meet := func(proc int, when string) error {
			if outcome == "" || outcome[:len(outcome)-2] != when {
				return nil
			}
			kind := outcome[len(outcome)-1]
			outcome = ""
			switch kind {
			case 'm':
				return backends.ErrModel
			case 'u':
				return backends.ErrUnavailable
			}
			pen.clock.Advance(time.Minute) // 't': it pauses for so long that the other takes over
			_, err := procs[1-proc].mem.Consolidate(ctx, ann)
			require.True(t, err == nil || len(bad) > 0, "failed without a cause: %v", err)
			return nil
		}
		for i := range procs {
			procs[i] = openEnv(t, pen.db, pen.clock, func(e *env) {
				e.cfg.MaxTurns, e.cfg.MaxTokens, *e.cfg.Attempts(), e.back.workspace = 4, 40, 2, workspace
				e.back.before = func(_ context.Context, r *backends.AddRequest) error {
					for _, m := range r.Messages {
						require.Equal(t, "of "+r.Scope.AgentID, m.Turn[:len("of ")+len(r.Scope.AgentID)])
					}
					if err := meet(i, "before"); err != nil {
						return err
					}
					if slices.ContainsFunc(r.Messages, func(m backends.Message) bool { return bad[m.Turn] }) {
						return backends.ErrModel
					}
					return nil
				}
				e.back.after = func(*backends.AddRequest) error { return meet(i, "after") }
			})
		}
		var turns []int // messages appended to each turn so far
		check := func() {
			if len(turns) == 0 {
				return
			}
			s, learnt := pen.session(ann), procs[0].learnt()
			for _, entry := range pen.entries(ann) {
				failed := false
				for _, f := range s.Failures {
					failed = failed || f.From <= entry.Seq && entry.Seq <= f.Upto
				}
				switch n := learnt[entry.ID]; {
				case failed:
					require.LessOrEqual(t, n, 1, entry.ID) // stored, and the answer lost each time
				case entry.Seq <= s.Watermark:
					require.Equal(t, 1, n, "%s before the watermark", entry.ID)
				case entry.Seq > s.Retry.Upto:
					require.Zero(t, n, "%s after the watermark", entry.ID)
				}
			}
		}
		proc := func() int { return rapid.IntRange(0, 1).Draw(t, "process") }
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				n := rapid.IntRange(max(0, len(turns)-2), len(turns)).Draw(t, "turn")
				if n == len(turns) {
					turns = append(turns, 0)
				}
				agent := []string{"bot", "cook", "bot"}[n%3]
				turn := &working.Turn{Scope: with(agent), ID: fmt.Sprint("of ", agent, n), First: turns[n], Messages: testkit.Turn("xxxx", "")[:1]}
				turn.Done = rapid.Bool().Draw(t, "done")
				pen.append(turn)
				turns[n]++
			},
			"consolidate": func(t *rapid.T) {
				outcomes := []string{"", "", "", "before-m", "before-m", "before-u", "before-t", "after-u", "after-t"}
				if workspace == "" { // elsewhere, an error but ErrUnavailable says that nothing was stored
					outcomes = append(outcomes, "after-m")
				}
				consolidate(proc(), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
			},
			"spoil": func(t *rapid.T) {
				if n := len(turns); n > 0 {
					i := rapid.IntRange(max(0, n-4), n-1).Draw(t, "turn")
					bad[fmt.Sprint("of ", []string{"bot", "cook", "bot"}[i%3], i)] = true
				}
			},
			"repair": func(*rapid.T) { clear(bad) },
			"wait": func(t *rapid.T) {
				pen.clock.Advance(time.Duration(rapid.IntRange(1, 150).Draw(t, "seconds")) * time.Second)
			},
			"": func(*rapid.T) { check() },
		})
		seq := make(map[string]int64)
		for _, entry := range append(pen.entries(ann), pen.entries(ann)...) {
			seq[entry.ID] = entry.Seq
		}
		for _, p := range procs { // in order, but for failures, which come below
			last := int64(0)
			for _, ids := range p.back.stored() {
				for _, id := range ids {
					require.Greater(t, seq[id], last, "in order")
					last = seq[id]
				}
			}
		}
		clear(bad) // in the end all of it is learnt, once
		pen.clock.Advance(time.Hour)
		consolidate(0, "")
		require.NoError(t, procs[1].mem.RetryFailures(ctx, ann))
		check()
		if len(turns) > 0 {
			s := pen.session(ann)
			require.Equal(t, s.LastSeq, s.Watermark)
			require.Empty(t, s.Failures)
		}
	})
}
