// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// till says how a child works that refunds orders, one a turn, with reme.
type till struct {
	Await  bool // each turn waits until it is learnt from
	Pieces bool // its turns are learnt from in pieces
	NoUser bool // its scope names no user: the agent's own memory
	// After is the kind of a partition: the child is killed when its first batch of
	// memories is stored there, before that is acknowledged.
	After backends.PartitionKind
}

// dying is a store that is killed: see till.
type dying struct {
	*testkit.Store
	after backends.PartitionKind
}

func (s dying) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	applied, err := s.Store.Apply(ctx, p, b)
	if err == nil && p.Kind == s.after && !applied.Replayed && len(b.Mutations) > 0 {
		testkit.Die()
	}
	return applied, err
}

// atDesk is the scope of the child.
func (l *life) atDesk() middleware.Scope {
	s := middleware.Scope{UserID: l.User, AgentID: "clerk", SessionID: "s1", Workspace: "till of " + l.User}
	if l.NoUser {
		s.UserID, s.AgentID = "", "clerk of "+l.User
	}
	return s
}

// clerk returns the memory of the child, and of those who look after it. An heir takes
// over from one that was killed, and waits for no turn of it.
func (l *life) clerk(t testing.TB, db store.Store, heir bool) (*reme.Backend, *middleware.MemoryMiddleware) {
	t.Helper()
	cfg := &reme.Config{Store: db, Model: testkit.New(rewording(testkit.Learn)), Verdict: reme.VerdictOf("refund", "passed")}
	cfg.Tools.RefreshAfter = 2
	b, err := reme.New(context.Background(), cfg)
	require.NoError(t, err)
	w := &working.Config{Sweep: -1, Lease: 300 * time.Millisecond, Idle: time.Millisecond, MaxTurns: 2}
	if l.Pieces && !heir {
		w.MaxTokens = 8
	}
	if heir {
		w.OpenTurn = time.Millisecond
	}
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: b, Mode: modes.Both, AgentMemory: l.NoUser, AwaitWrite: l.Await && !heir, Working: w})
	require.NoError(t, err)
	return b, mem
}

// drawer is a word of its own for each order.
func drawer(order int) string { return strings.Repeat(string(rune('a'+order%26)), 3+order/26) }

// order refunds one order: what is learnt from it is its own.
func (l *life) order(t testing.TB, mem *middleware.MemoryMiddleware, n int) {
	t.Helper()
	refund := testkit.Tool(t, "refund", func(context.Context, cut) (string, error) { return `{"passed": true}`, nil })
	answer := fmt.Sprintf("LESSON refunding %s | look into drawer %s", drawer(n), drawer(n))
	m := testkit.New(testkit.Call("c1", "refund", fmt.Sprintf(`{"n":%d}`, n)), testkit.Text(answer))
	ctx := middleware.WithScope(context.Background(), l.atDesk())
	lines := testkit.Drain(agent(t, mem, m, refund).Query(ctx, fmt.Sprintf("Refund it. FACT %s bought %s", l.User, drawer(n))))
	require.Equal(t, "assistant: "+answer, testkit.Last(lines))
}

// firstOrder is the number of a child's first order.
const firstOrder = 10

// refund has a day at the till, and reports what of it is acknowledged.
func (l *life) refund(t testing.TB) {
	b, mem := l.clerk(t, l.open(t), false)
	for n := range l.Pages {
		l.order(t, mem, firstOrder+n)
		if l.Await {
			fmt.Println("said", n+1)
		} else if n%2 == 1 {
			require.NoError(t, mem.Flush(t.Context()))
			fmt.Println("flushed", n+1)
		}
	}
	require.NoError(t, mem.Flush(t.Context()))
	fmt.Println("flushed", l.Pages)
	require.NoError(t, mem.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
}

// learntOnce checks that all of the log is learnt from, one lesson and one fact a turn, and
// returns how many turns there are.
func (l *life) learntOnce(t *testing.T, b *reme.Backend, db store.Store) (turns int) {
	t.Helper()
	p, err := l.atDesk().Speaker()
	require.NoError(t, err)
	session, err := db.Session(t.Context(), p, "s1")
	require.NoError(t, err)
	require.Equal(t, session.LastSeq, session.Watermark)
	require.Empty(t, session.Failures)
	want, got := map[string]int{}, map[string]int{}
	for _, text := range testkit.Logged(t, db, l.atDesk()) { // each message once
		if _, lesson, ok := strings.Cut(text, " | "); ok {
			want[lesson]++
			turns++
		}
		if _, fact, ok := strings.Cut(text, "FACT "); ok {
			want[fact]++
		}
	}
	for _, m := range listed(t, b, l.atDesk(), backends.KindTask, backends.KindPersonal) {
		got[reworded(m.Text)]++
	}
	require.Equal(t, want, got)
	for text, n := range want {
		require.Equal(t, 1, n, text)
	}
	return turns
}

func TestReMeIsKilled(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	t.Parallel() // it mostly waits for other processes
	// recordedOnce checks the calls of the tool: each once, and none that was flushed is missing.
	recordedOnce := func(t *testing.T, l *life, b *reme.Backend, flushed int) {
		t.Helper()
		got, err := b.Tools().Retrieve(t.Context(), &toolmem.RetrieveRequest{Scope: l.atDesk(), Tools: []string{"refund"}, WithCalls: true, Last: 1000})
		require.NoError(t, err)
		var inputs []string
		for _, c := range got.Tools[0].Calls {
			require.NotContains(t, inputs, fmt.Sprint(c.Input))
			require.False(t, c.Failed)
			inputs = append(inputs, fmt.Sprint(c.Input))
		}
		for n := range flushed {
			require.Contains(t, strings.Join(inputs, " "), fmt.Sprint(firstOrder+n))
		}
		require.Greater(t, len(inputs), flushed)
	}
	// refunded checks what a clerk left in the store, and goes on with its session: every turn
	// that was acknowledged is learnt from once, and everything works.
	refunded := func(t *testing.T, l *life, db store.Store, lines []string) {
		t.Helper()
		ctx := context.Background()
		p, err := l.atDesk().Speaker()
		require.NoError(t, err)
		b, mem := l.clerk(t, db, true)
		for { // once the lease of the one that was killed is over
			_, err := mem.Working().Consolidate(ctx, l.atDesk())
			require.NoError(t, err)
			session, err := db.Session(ctx, p, "s1")
			if errors.Is(err, backends.ErrNotFound) || err == nil && session.Watermark == session.LastSeq {
				break // it was killed before it said a word, or all is learnt
			}
			require.NoError(t, err)
		}
		l.order(t, mem, firstOrder+l.Pages)
		require.NoError(t, mem.Flush(ctx))
		_, err = mem.Working().Consolidate(ctx, l.atDesk())
		require.NoError(t, err)
		said, flushed := 0, 0
		for _, line := range lines {
			_, _ = fmt.Sscanf(line, "said %d", &said)
			_, _ = fmt.Sscanf(line, "flushed %d", &flushed)
		}
		require.GreaterOrEqual(t, l.learntOnce(t, b, db), max(said, flushed)+1, "what was acknowledged is in the log")
		recordedOnce(t, l, b, flushed)

		_, err = b.Tools().Summarize(ctx, &toolmem.SummaryRequest{Scope: l.atDesk(), Force: true})
		require.NoError(t, err)
		found, err := b.Search(ctx, &backends.SearchRequest{Scope: l.atDesk(), Query: "refunding " + drawer(firstOrder+l.Pages), TopK: 50})
		require.NoError(t, err)
		require.NoError(t, found.Degraded)
		kinds := map[backends.Kind]bool{}
		for i := range found.Hits {
			kinds[found.Hits[i].Kind] = true
		}
		require.Len(t, kinds, 3)
		var file bytes.Buffer
		dumped, err := b.Library().Dump(ctx, &reme.DumpRequest{Scope: l.atDesk()}, &file)
		require.NoError(t, err)
		loaded, err := b.Library().Load(ctx, &reme.LoadRequest{Scope: backends.Scope{Workspace: "again of " + l.User}}, &file)
		require.NoError(t, err)
		require.Equal(t, dumped.Memories, loaded.Loaded)
		require.NoError(t, mem.Close(ctx))
		require.NoError(t, b.Close(ctx))
	}
	// A process with reme is killed at steps that are spread over its life, and at moments
	// that its parent takes at random.
	t.Run("at any time", func(t *testing.T) {
		orders, deaths := 4, 4
		if testkit.Long() {
			orders, deaths = 8, 12
		} else if testing.Short() {
			orders, deaths = 3, 2
		}
		everywhere(t, func(t *testing.T, at func() (string, store.Store)) {
			dead, alive := 0, 0
			for _, await := range []bool{false, true} {
				live := func(step int) (steps int, killed bool) {
					l := &life{User: fmt.Sprint("ann ", await, step), Role: "refund", Pages: orders, Step: step, till: till{Await: await, Pieces: step%2 == 1}}
					var db store.Store
					l.Store, db = at()
					lines, steps, killed := l.run(t)
					t.Run(l.User, func(t *testing.T) { refunded(t, l, db, lines) })
					return steps, killed
				}
				steps, killed := live(0)
				require.False(t, killed)
				require.Greater(t, steps, 10*orders)
				for n := range deaths {
					each := steps / deaths
					if _, killed := live(1 + n*each + rand.IntN(each)); killed {
						dead++
					} else {
						alive++
					}
				}
			}
			require.Greater(t, dead, alive)
		})
		for n := range deaths {
			// One in four is an agent without a user.
			l := &life{User: "ann", Role: "refund", Store: filepath.Join(t.TempDir(), "memory.db"), Pages: orders, till: till{NoUser: n%4 == 1, Await: n%2 == 0, Pieces: n%4 > 1}}
			c := l.start(t)
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
				c.Kill()
			}()
			lines := c.Rest()
			<-killed
			c.Wait(t)
			t.Run(fmt.Sprint(lines), func(t *testing.T) { refunded(t, l, testkit.File(t, l.Store), lines) })
		}
	})
	// A stretch of the log is two batches: what the workspace learns, then what is known of
	// the user with the log's checkpoint. A process is killed right behind each.
	t.Run("between its batches", func(t *testing.T) {
		for after, tills := range map[backends.PartitionKind][]till{
			backends.PartitionWorkspace: {{}, {Await: true}, {Pieces: true}, {Await: true, Pieces: true}, {NoUser: true}},
			backends.PartitionUser:      {{}, {Await: true}, {Pieces: true}, {Await: true, Pieces: true}},
			backends.PartitionAgent:     {{NoUser: true}, {Await: true, NoUser: true}},
		} {
			for _, d := range tills {
				d.After = after
				t.Run(fmt.Sprintf("behind the %s, await %v, pieces %v, no user %v", after, d.Await, d.Pieces, d.NoUser), func(t *testing.T) {
					t.Parallel()
					l := &life{User: "ann", Role: "refund", Store: filepath.Join(t.TempDir(), "memory.db"), Pages: 3, till: d}
					lines, _, killed := l.run(t)
					require.True(t, killed)
					refunded(t, l, testkit.File(t, l.Store), lines)
				})
			}
		}
	})
}
