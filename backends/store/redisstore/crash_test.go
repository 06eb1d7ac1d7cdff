// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// TestMain makes this binary a process that another test started, if it is one: "URL
// steps NAME DEATH" makes the steps of a name, and dies before the command (DEATH+1)/2 if
// DEATH is odd, right after the command DEATH/2 if it is even, and never if it is zero;
// "URL competes NAME" learns from one session until it is killed. Each prints what it
// has acknowledged.
func TestMain(m *testing.M) {
	testkit.RunChild(func(spec string) error {
		f := strings.Fields(spec)
		o, err := redis.ParseURL(f[0])
		if err != nil {
			return err
		}
		c := redis.NewClient(o)
		s, err := redisstore.New(context.Background(), c, nil)
		if err != nil {
			return err
		}
		if f[1] == "competes" {
			for i := 0; err == nil; i++ {
				if err = compete(context.Background(), s, fmt.Sprint(f[2], "-", i)); err == nil {
					fmt.Println(i)
				}
			}
			return err
		}
		death, commands := 0, 0
		if death, err = strconv.Atoi(f[3]); err != nil {
			return err
		}
		count := func() {
			if commands++; commands == death {
				testkit.Die()
			}
		}
		c.AddHook(testredis.Hook(func(_ []redis.Cmder, send func() error) error {
			count()
			defer count()
			return send()
		}))
		return makeSteps(s, f[2], 0, func(i int) { fmt.Println(i) })
	})
	os.Exit(m.Run())
}

// checkServer is rapid.Check for a property that asks a server.
func checkServer(t *testing.T, property func(*rapid.T)) {
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(testkit.Several(20, 100))))
	rapid.Check(t, property)
}

// compete appends two messages to a session that others write to as well, and learns
// from all there is.
func compete(ctx context.Context, s *redisstore.Store, id string) error {
	log, err := s.Append(ctx, ann, "log", messages(id+"a", id+"b"))
	if err != nil {
		return err
	}
	_, err = s.Apply(ctx, ann, &store.Batch{Key: id, Mutations: []store.Mutation{put(id, id), store.Increment("counter", "n", 1)},
		Session: &store.SessionUpdate{Session: "log", Watermark: &log.LastSeq}})
	return err
}

// steps are what makeSteps makes, in order.
var steps = []string{"first turn", "team facts", "acquired", "learnt", "second turn", "summarised", "blob", "team dropped", "team again", "counted"}

// stepsIn returns the partitions in which steps are made under a name.
func stepsIn(name string) (own, team backends.Partition) {
	own = backends.Partition{Namespace: "space-" + name, Kind: backends.PartitionUser, ID: "ann"}
	return own, backends.Partition{Namespace: own.Namespace, Kind: backends.PartitionWorkspace, ID: "team"}
}

// makeSteps makes the steps from one on, and acknowledges each. Making a step again
// changes nothing, but for the last one.
func makeSteps(s *redisstore.Store, name string, from int, acknowledge func(i int)) error {
	ctx, two := context.Background(), int64(2)
	own, team := stepsIn(name)
	apply := func(p backends.Partition, b *store.Batch) error { _, err := s.Apply(ctx, p, b); return err }
	appendTo := func(p backends.Partition, a *store.Append) error { _, err := s.Append(ctx, p, "log", a); return err }
	update := func(u *store.SessionUpdate) error { u.Session = "log"; _, err := s.Update(ctx, own, u); return err }
	do := map[string]func() error{
		"first turn": func() error { return appendTo(own, messages("one-a", "one-b")) },
		"team facts": func() error {
			return apply(team, &store.Batch{Key: "team", Mutations: []store.Mutation{put("x", "1"), put("y", "2")}})
		},
		"acquired": func() error { return update(&store.SessionUpdate{Acquire: &store.Acquire{Owner: "w", For: time.Hour}}) },
		"learnt": func() error {
			session, err := s.Session(ctx, own, "log")
			if err != nil {
				return err
			}
			fact := store.Record{Memory: backends.Memory{ID: "b", Text: "b"}, Vector: make([]byte, 512)}
			return apply(own, &store.Batch{Key: "turn one", Embedding: &store.Embedding{Model: "m", Dim: 128},
				Mutations: []store.Mutation{put("a", "a"), put("counter", ""), store.Increment("counter", "m", 1), store.Put(&fact), store.Delete("a")},
				Session:   &store.SessionUpdate{Session: "log", Token: session.Lease.Token, Watermark: &two}})
		},
		"second turn":  func() error { return appendTo(own, messages("two-a", "two-b")) },
		"summarised":   func() error { return update(&store.SessionUpdate{Summary: pointer("a talk"), SummaryUpto: &two}) },
		"blob":         func() error { return s.PutBlob(ctx, own, "log", "blob", []byte("data")) },
		"team dropped": func() error { _, err := s.Drop(ctx, team); return err },
		"team again":   func() error { return appendTo(team, messages("three")) },
		"counted":      func() error { return apply(own, batch(store.Increment("counter", "n", 1))) },
	}
	for i := from; i < len(steps); i++ {
		if err := do[steps[i]](); err != nil {
			return fmt.Errorf("%s: %w", steps[i], err)
		}
		acknowledge(i)
	}
	return nil
}

// A process is killed before and after each command that it sends, so also between
// the entry in the registry and the write. What it acknowledged is there, what it
// did not is there wholly or not at all, and a process that repeats it has all of it once.
func TestAProcessThatIsKilledAtAnyCommand(t *testing.T) {
	testkit.SlowUnderRace(t)
	server := testredis.Need(t).Start(t)
	c, ctx := server.Client(t), t.Context()
	s := newStore(t, c, nil)
	// check requires that the first steps are done, each once, and no later one but the
	// next, which may be.
	check := func(name string, done int) {
		t.Helper()
		own, team := stepsIn(name)
		require := require.New(t)
		within := func(want, got int, step, what string) {
			t.Helper()
			switch at := slices.Index(steps, step); {
			case done > at:
				require.Equal(want, got, what)
			case done < at:
				require.Zero(got, what)
			default:
				require.Contains([]int{0, want}, got, what)
			}
		}
		logged := func(p backends.Partition, prefix string) (n int) {
			all, err := s.Read(ctx, p, "log", store.Range{})
			require.NoError(err)
			for _, e := range all {
				if strings.HasPrefix(e.ID, prefix) {
					n++
				}
			}
			return n
		}
		within(2, logged(own, "one"), "first turn", "messages of the first turn")
		within(2, logged(own, "two"), "second turn", "messages of the second turn")
		facts, err := s.Get(ctx, own, "a", "b", "counter")
		require.NoError(err)
		within(2, len(facts), "learnt", "facts")
		if len(facts) > 0 {
			require.Len(facts[0].Vector, 512)
			require.EqualValues(1, facts[1].Metadata["m"])
			session, err := s.Session(ctx, own, "log")
			require.NoError(err)
			require.Equal(int64(2), session.Watermark)
			events, err := s.History(ctx, own, "a")
			require.NoError(err)
			require.Len(events, 2)
			n, _ := facts[1].Metadata["n"].(float64)
			within(1, min(int(n), 1), "counted", "increments")
			require.LessOrEqual(int(n), 2, "one of the killed process, one of this one")
		}
		got, err := s.Get(ctx, team, "x", "y")
		require.NoError(err)
		switch dropped := slices.Index(steps, "team dropped"); {
		case done > dropped:
			require.Empty(got)
		case done == dropped:
			require.Contains([]int{0, 2}, len(got))
		default:
			within(2, len(got), "team facts", "facts of the team")
		}
		within(1, logged(team, "three"), "team again", "messages of the team")
		found, err := s.Partitions(ctx, own.Namespace, store.Page{})
		require.NoError(err)
		if done > 0 {
			require.Contains(found.Partitions, own)
		}
		if done == len(steps) {
			require.Contains(found.Partitions, team)
		}
		requireConsistent(t, c, s, own)
		requireConsistent(t, c, s, team)
	}
	rounds, stride := 0, testkit.Several(3, 1)
	for death := 1; ; death += stride {
		name, done := fmt.Sprint("r", death), 0
		process := testkit.StartChild(t, fmt.Sprint(server.URL(), " steps ", name, " ", death))
		for _, line := range process.Rest() {
			require.Equal(t, strconv.Itoa(done), line)
			done++
		}
		killed := process.Wait(t)
		check(name, done)
		if !killed {
			require.Len(t, steps, done)
			break
		}
		rounds++
		require.NoError(t, makeSteps(s, name, done, func(int) {}), "killed at %d", death)
		check(name, len(steps))
	}
	t.Logf("%d processes killed", rounds)
	require.GreaterOrEqual(t, rounds, 50/stride)
}

// requireAcknowledged requires what compete had written when it returned.
func requireAcknowledged(t *testing.T, c redis.UniversalClient, s *redisstore.Store, id string) {
	t.Helper()
	there, err := c.HMGet(t.Context(), keyOf(ann, "s:log:st"), "i:"+id+"a", "i:"+id+"b").Result()
	require.NoError(t, err)
	require.NotContains(t, there, nil)
	got, err := s.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

// Processes that write to one session and one record are killed at any moment, in the
// midst of each other's writes.
func TestCompetingProcessesThatAreKilled(t *testing.T) {
	testkit.SlowUnderRace(t)
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	s := newStore(t, c, nil)
	_, err := s.Apply(t.Context(), ann, batch(put("counter", "")))
	require.NoError(t, err)
	rounds, acknowledged := testkit.Several(3, 25), 0
	for round := range rounds {
		var processes []*testkit.Child
		var done [4]int
		for n := range done {
			processes = append(processes, testkit.StartChild(t, fmt.Sprint(server.URL(), " competes ", round, ".", n)))
		}
		for n, process := range processes {
			after := 1 + rand.IntN(40)
			for line, ok := process.Line(); ok && line == strconv.Itoa(done[n]); line, ok = process.Line() { // the last may be cut off
				if done[n]++; done[n] == after {
					process.Kill()
				}
			}
			require.True(t, process.Wait(t))
		}
		for n, written := range done {
			for i := range written {
				requireAcknowledged(t, c, s, fmt.Sprint(round, ".", n, "-", i))
			}
			acknowledged += written
			require.NoError(t, compete(t.Context(), s, fmt.Sprint(round, ".", n, "-", written)), "what it had begun")
		}
		requireConsistent(t, c, s, ann)
	}
	n := c.HLen(t.Context(), keyOf(ann, "rec")).Val()
	require.Equal(t, int(n)-1, count(t, s, "counter"), "no batch was committed twice")
	session, err := s.Session(t.Context(), ann, "log")
	require.NoError(t, err)
	require.Equal(t, 2*(n-1), session.LastSeq)
	require.Equal(t, session.LastSeq, session.Watermark)
	t.Logf("%d processes killed, %d writes acknowledged", 4*rounds, acknowledged)
}

// A server that syncs its file for every write is killed in the midst of writes and
// started again: clients go on by themselves, and nothing that was acknowledged is lost
// or there twice.
func TestAServerThatIsKilledLosesNothingAcknowledged(t *testing.T) {
	testkit.SlowUnderRace(t)
	testredis.Need(t)
	for _, f := range testredis.Flavours()[:testkit.Several(1, len(testredis.Flavours()))] {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t, "--appendonly", "yes", "--appendfsync", "always")
			c := server.Client(t)
			s := newStore(t, c, &redisstore.Config{Retry: time.Minute})
			_, err := s.Apply(t.Context(), ann, batch(put("counter", ""), put("bare", "")))
			require.NoError(t, err)
			const writers = 8
			var stop atomic.Bool
			var acknowledged [writers]atomic.Int64
			total := func() (n int64) {
				for i := range acknowledged {
					n += acknowledged[i].Load()
				}
				return n
			}
			var all errgroup.Group
			for n := range writers {
				mine := newStore(t, server.Client(t), &redisstore.Config{Retry: time.Minute})
				all.Go(func() error {
					for i := 0; !stop.Load(); i++ {
						if err := compete(t.Context(), mine, fmt.Sprint(n, "-", i)); err != nil {
							return err
						}
						if _, err := mine.Apply(t.Context(), ann, batch(store.Increment("bare", "n", 1))); err != nil {
							return err
						}
						acknowledged[n].Add(1)
					}
					return nil
				})
			}
			for range testkit.Several(2, 10) {
				from := total()
				require.Eventually(t, func() bool { return total() > from+10*writers }, time.Minute, time.Millisecond, "clients go on")
				server.Kill()
				server.Restart()
			}
			stop.Store(true)
			require.NoError(t, all.Wait())
			for n := range writers {
				for i := range acknowledged[n].Load() {
					requireAcknowledged(t, c, s, fmt.Sprint(n, "-", i))
				}
			}
			require.EqualValues(t, total(), count(t, s, "counter"))
			require.EqualValues(t, total(), count(t, s, "bare"))
			session, err := s.Session(t.Context(), ann, "log")
			require.NoError(t, err)
			require.Equal(t, 2*total(), session.LastSeq)
			requireConsistent(t, c, s, ann)
		})
	}
}

// pair is a master and its replica behind one address, which follows the master.
type pair struct {
	t               *testing.T
	master, replica *testredis.Server
	network         testredis.Network
}

// startReplica starts a server that follows another, and waits until it has caught up.
func startReplica(t *testing.T, f testredis.Flavour, master *testredis.Server) *testredis.Server {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	args := []string{"--replicaof", host, port}
	if password := master.Client(t).Options().Password; password != "" {
		args = append(args, "--masterauth", password)
	}
	replica := f.Start(t, args...)
	awaitReplication(t, replica, "master_link_status", "up")
	return replica
}

// promote makes a replica a master, as a failover does. The old master does not learn of it.
func promote(t *testing.T, replica *testredis.Server) {
	t.Helper()
	require.NoError(t, replica.Client(t).Do(t.Context(), "replicaof", "no", "one").Err())
	awaitReplication(t, replica, "role", "master")
}

func awaitReplication(t *testing.T, s *testredis.Server, field, want string) {
	t.Helper()
	client := s.Client(t)
	require.Eventually(t, func() bool {
		return client.InfoMap(t.Context(), "replication").Item("Replication", field) == want
	}, time.Minute, 10*time.Millisecond)
}

// awaitReplica waits until a replica has all that a server has written.
func awaitReplica(t *testing.T, s *testredis.Server) {
	t.Helper()
	conn := s.Client(t, func(o *redis.Options) { o.ReadTimeout = 2 * time.Minute }).Conn()
	defer func() { _ = conn.Close() }()
	// WAIT is about the writes of its connection.
	require.NoError(t, conn.Set(t.Context(), "mark of awaitReplica", "", time.Millisecond).Err())
	n, err := conn.Wait(t.Context(), 1, time.Minute).Result()
	require.NoError(t, err)
	require.Positive(t, n)
}

func newPair(t *testing.T) *pair {
	f := testredis.Need(t)
	p := &pair{t: t, master: f.Start(t)}
	p.replica = startReplica(t, f, p.master)
	awaitReplica(t, p.master) // it takes a master some time to count on a new replica
	return p
}

func (p *pair) store(cfg *redisstore.Config) *redisstore.Store {
	p.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: p.master.Addr, Dialer: p.network.Dial, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 5 * time.Millisecond})
	p.t.Cleanup(func() { _ = client.Close() })
	return newStore(p.t, client, cfg)
}

// failover lets the replica, which was promoted, take the master's place.
func (p *pair) failover() {
	p.master.Kill()
	p.network.Redirect(p.replica.Addr)
}

// Without Config.Replicas a failover loses what the replica did not have, that and
// nothing else. A reader that had seen it starts over, also when as many batches, or
// more, were written since; and what was lost can be written again under its key.
func TestWhatAFailoverLoses(t *testing.T) {
	const kept, lost = 5, 7
	for name, since := range map[string]int{"fewer batches since": 1, "as many": lost, "more": lost + 5} {
		t.Run(name, func(t *testing.T) {
			p, ctx := newPair(t), t.Context()
			s := p.store(nil)
			write := func(id, text string) *store.Applied {
				t.Helper()
				applied, err := s.Apply(ctx, ann, &store.Batch{Key: id, Mutations: []store.Mutation{put(id, text)}})
				require.NoError(t, err)
				_, err = s.Append(ctx, ann, "s", messages("message "+id))
				require.NoError(t, err)
				return applied
			}
			textsOf := func(records []store.Record) map[string]string {
				out := map[string]string{}
				for i := range records {
					out[records[i].ID] = records[i].Text
				}
				return out
			}
			want := map[string]string{}
			for i := range kept {
				id := fmt.Sprint("kept ", i)
				want[id] = "kept"
				write(id, "kept")
			}
			awaitReplica(t, p.master)
			promote(t, p.replica) // what is written from now on is on the master alone
			for i := range lost {
				write(fmt.Sprint("lost ", i), "lost")
			}
			before, err := s.Changes(ctx, ann, "")
			require.NoError(t, err)
			require.Len(t, before.Records, kept+lost)

			p.failover()
			for i := range since {
				id := fmt.Sprint("new ", i)
				want[id] = "new"
				write(id, "new")
			}
			after, err := s.Changes(ctx, ann, before.Cursor)
			require.NoError(t, err)
			require.True(t, after.Reset)
			require.Equal(t, want, textsOf(after.Records))
			require.Equal(t, int64(kept+since), after.Version)
			log, err := s.Read(ctx, ann, "s", store.Range{})
			require.NoError(t, err)
			require.Len(t, log, kept+since)

			require.True(t, write("kept 1", "twice").Replayed, "the replica knows the key")
			require.False(t, write("lost 1", "again").Replayed, "the key is unknown")
			require.True(t, write("lost 1", "again").Replayed)
			next, err := s.Changes(ctx, ann, after.Cursor)
			require.NoError(t, err)
			require.False(t, next.Reset)
			require.Equal(t, map[string]string{"lost 1": "again"}, textsOf(next.Records))
		})
	}
}

// With Config.Replicas nothing is lost that was acknowledged, while a master is
// killed under load and the replica that confirmed takes its place.
func TestNothingConfirmedIsLostInAFailover(t *testing.T) {
	p := newPair(t)
	startReplica(t, testredis.Need(t), p.replica) // confirms, once the replica is the master
	cfg := redisstore.Within(200*time.Millisecond, &redisstore.Config{Replicas: 1, Retry: 50 * time.Millisecond})
	traffic := startTraffic(t, ann, p.store(cfg), p.store(cfg))
	for range testkit.Several(3, 30) {
		traffic.advance()
	}
	p.master.Freeze() // with answers and replication on their way
	promote(t, p.replica)
	p.failover()
	for range testkit.Several(3, 30) {
		traffic.advance()
	}
	traffic.stop()
	traffic.check(p.store(nil))
}

// What too few replicas confirmed is not acknowledged, however often and by which
// process it is repeated: the repeat finds the write done, and still waits for it.
func TestARepeatWaitsForWhatWasWrittenBefore(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			master := f.Start(t)
			replica := startReplica(t, f, master)
			cfg := redisstore.Within(200*time.Millisecond, &redisstore.Config{Replicas: 1, Retry: -1})
			s := newStore(t, master.Client(t), cfg)
			awaitReplica(t, master)
			_, err := s.Append(t.Context(), ann, "s", messages("1"))
			require.NoError(t, err)
			replica.Freeze()
			keyed := &store.Batch{Key: "once", Mutations: []store.Mutation{put("a", "a")}}
			for i, repeated := range []*redisstore.Store{s, newStore(t, master.Client(t), cfg), newStore(t, master.Client(t), cfg)} {
				_, err = repeated.Append(t.Context(), ann, "s", messages("2"))
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("append ", i))
				require.ErrorContains(t, err, "0 of 1 replicas confirmed it within 200ms")
				_, err = repeated.Apply(t.Context(), ann, keyed)
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("apply ", i))
			}
		})
	}
}

// A master that Sentinels look after: the store finds it, and the one that follows it.
func TestSentinel(t *testing.T) {
	f, ctx := testredis.Need(t), t.Context()
	script := filepath.Join(t.TempDir(), "sentinel.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n: > sentinel.conf\nexec "+f.Program+" sentinel.conf --sentinel \"$@\"\n"), 0o700))
	master := f.Start(t)
	startReplica(t, f, master)
	sentinel := testredis.Flavour{Name: "sentinel", Program: script}.Start(t)
	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	watch := sentinel.Client(t)
	require.NoError(t, watch.Do(ctx, "sentinel", "monitor", "mymaster", host, port, 1).Err())
	require.NoError(t, watch.Do(ctx, "sentinel", "set", "mymaster", "down-after-milliseconds", 200, "failover-timeout", 5000).Err())
	require.Eventually(t, func() bool {
		state, err := watch.Do(ctx, "sentinel", "replicas", "mymaster").Slice()
		return err == nil && len(state) == 1
	}, time.Minute, 10*time.Millisecond, "the sentinel asks the master for its replicas every ten seconds")

	url := "redis://" + sentinel.Addr + "?master_name=mymaster"
	s, err := redisstore.Open(ctx, url, &redisstore.Config{Retry: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	confirmed, err := redisstore.Open(ctx, url, &redisstore.Config{Replicas: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, confirmed.Close()) })
	begin(t, confirmed, ann)
	master.Kill()
	after, err := s.Append(ctx, ann, "s", messages("first", "2", "3")) // as long as it takes
	require.NoError(t, err)
	require.EqualValues(t, 3, after.LastSeq)
	got, err := s.Get(ctx, ann, "counter")
	require.NoError(t, err)
	require.Len(t, got, 1)
	_, err = confirmed.Append(ctx, ann, "s", messages("4"))
	require.ErrorIs(t, err, backends.ErrUnavailable, "no replica is left to confirm")
	require.ErrorContains(t, err, "0 of 1 replicas")
}

// A server that became a replica behind a client's back refuses writes; reads of it
// would be of the past, and the error says what happened.
func TestAMasterThatBecameAReplica(t *testing.T) {
	p := newPair(t)
	s, patient := p.store(&redisstore.Config{Retry: time.Millisecond}), p.store(&redisstore.Config{Retry: time.Minute})
	_, err := s.Append(t.Context(), ann, "s", messages("1"))
	require.NoError(t, err)
	awaitReplica(t, p.master)
	p.network.Redirect(p.replica.Addr)
	_, err = s.Append(t.Context(), ann, "s", messages("2"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the server is a replica: wait for the failover")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	repeated := make(chan error)
	go func() { _, err := patient.Append(ctx, ann, "s", messages("2")); repeated <- err }()
	promote(t, p.replica)
	require.NoError(t, <-repeated)
}
