// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testredis"
)

// A process is killed before and after each command by which it appends and
// consolidates: another one goes on, loses nothing, and learns nothing twice.
func TestOnRedisKilledAtAnyCommand(t *testing.T) {
	steps := 11 // between two deaths
	if os.Getenv("EINOMEM_LONG") == "1" {
		steps = 1
	}
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	rounds := 0
	for step := 1; ; step += steps {
		room := fmt.Sprint("r", step)
		appended, died := crashOnRedis(t, server.URL(), fmt.Sprint(room, "-", step))
		recoverOnRedis(t, c, inRoom(room), appended)
		if !died {
			break
		}
		rounds++
	}
	t.Logf("%d rounds", rounds)
	require.Greater(t, rounds, 50/steps)
}

func crashOnRedis(t *testing.T, url, argument string) (appended int, died bool) {
	t.Helper()
	cmd, lines := startRedisChild(t, url, "steps", argument)
	done := false
	for lines.Scan() {
		if fmt.Sprint("appended ", appended) == lines.Text() {
			appended++
		}
		done = done || lines.Text() == "done"
	}
	if err := cmd.Wait(); err == nil {
		require.True(t, done)
		return appended, false
	}
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "the child failed")
	return appended, true
}

func recoverOnRedis(t *testing.T, c *redis.Client, scope backends.Scope, appended int) {
	t.Helper()
	clock := func() time.Time { return epoch.Add(time.Hour) } // past the lease
	b := redisBackend(t, c, clock)
	m := redisMemory(t, b, clock)
	require.NoError(t, m.Append(t.Context(), say("more", scope)))
	_, err := m.Consolidate(t.Context(), scope)
	require.NoError(t, err)
	p, err := scope.Speaker()
	require.NoError(t, err)
	entries, err := b.Sessions().Read(t.Context(), p, scope.SessionID, store.Range{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(entries), 2*(appended+1), "what was appended is there")
	wantFacts, wantTurns := map[string]int{}, map[string]int{}
	for _, e := range entries {
		wantTurns[e.Content] = 1
		if id, ok := cutPrefix(e.Content, "question "); ok {
			wantFacts[id] = 1
		}
	}
	facts, turns := told(t, b, scope)
	require.Equal(t, wantFacts, facts)
	require.Equal(t, wantTurns, turns)
	st, err := b.Sessions().Session(t.Context(), p, scope.SessionID)
	require.NoError(t, err)
	require.Equal(t, st.LastSeq, st.Watermark)
	require.NoError(t, m.Close(t.Context()))
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

// awaitLearnt waits until no session has anything left to learn from.
func awaitLearnt(t *testing.T, s store.Sessions) {
	t.Helper()
	require.Eventually(t, func() bool {
		page, err := s.List(t.Context(), store.SessionQuery{Pending: true})
		require.NoError(t, err)
		return len(page.Sessions) == 0 && page.Next == ""
	}, time.Minute, 20*time.Millisecond)
}

// Several processes speak and learn at once, in one session and in others. Some are
// killed, and those that stay take over: each turn is learnt once.
func TestOnRedisProcessesLearnEachTurnOnce(t *testing.T) {
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	generations := 2
	if os.Getenv("EINOMEM_LONG") == "1" {
		generations = 12
	}
	said := map[string][]string{} // by room, what was acknowledged
	killed := 0
	for generation := range generations {
		type worker struct {
			name string
			cmd  *exec.Cmd
		}
		var workers []worker
		lines := make(chan string, 1000)
		for n := range 3 {
			name := fmt.Sprint("w", generation, "x", n)
			cmd, out := startRedisChild(t, server.URL(), "worker", name)
			workers = append(workers, worker{name, cmd})
			go func() {
				for i := 0; out.Scan(); i++ {
					if out.Text() != fmt.Sprint(name, ".", i) {
						break // cut off
					}
					lines <- out.Text()
				}
				lines <- ""
			}()
		}
		for running, until := len(workers), 10+rand.IntN(60); running > 0; {
			line := <-lines
			if line == "" {
				running--
				continue
			}
			var name string
			var i int
			_, err := fmt.Sscanf(replaceDot(line), "%s %d", &name, &i)
			require.NoError(t, err)
			room := []string{"all", name}[i%2]
			said[room] = append(said[room], line)
			if until--; until%20 == 0 && len(workers) > 0 {
				require.NoError(t, workers[0].cmd.Process.Kill())
				require.Error(t, workers[0].cmd.Wait())
				workers, killed = workers[1:], killed+1
			}
		}
	}
	b := redisBackend(t, c, nil)
	m := busyMemory(t, b, b)
	awaitLearnt(t, b.Sessions())
	require.NoError(t, m.Close(t.Context()))
	total := 0
	for room, acked := range said {
		total += len(acked)
		checkLearntOnce(t, b, inRoom(room), acked)
	}
	t.Logf("%d processes killed, %d turns acknowledged", killed, total)
}

func replaceDot(s string) string {
	for i := range s {
		if s[i] == '.' {
			return s[:i] + " " + s[i+1:]
		}
	}
	return s
}

// checkLearntOnce: each turn of the log once, and each acknowledged one is in the log.
func checkLearntOnce(t *testing.T, b *mem0.Backend, scope backends.Scope, acked []string) {
	t.Helper()
	facts, turns := told(t, b, scope)
	for id, n := range facts {
		require.Equal(t, 1, n, "%s was learnt from once", id)
	}
	for text, n := range turns {
		require.Equal(t, 1, n, "%s is kept once", text)
	}
	for _, id := range acked {
		require.Contains(t, facts, id)
		require.Contains(t, turns, "question "+id)
		require.Contains(t, turns, "answer "+id)
	}
	require.Len(t, turns, 2*len(facts), "%v", maps.Keys(facts))
}

// A process dies while it holds a lease. Nobody else learns meanwhile, and when the
// lease is over another process does.
func TestOnRedisALeaseOfTheDeadIsTakenOver(t *testing.T) {
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	cmd, lines := startRedisChild(t, server.URL(), "holder", "room")
	require.True(t, lines.Scan())
	require.Equal(t, "holding", lines.Text())
	b := redisBackend(t, c, nil)
	p, err := inRoom("room").Speaker()
	require.NoError(t, err)
	_, err = b.Sessions().Update(t.Context(), p, &store.SessionUpdate{Session: "talk", Acquire: &store.Acquire{Owner: "somebody", For: time.Second}})
	require.ErrorIs(t, err, backends.ErrConflict, "it holds the lease")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	died := time.Now()
	m := busyMemory(t, b, b)
	awaitLearnt(t, b.Sessions())
	t.Logf("taken over %v after the death, with a lease of 1 s and a sweep each 0.1 s", time.Since(died).Round(time.Millisecond))
	require.NoError(t, m.Close(t.Context()))
	checkLearntOnce(t, b, inRoom("room"), []string{"held"})
}
