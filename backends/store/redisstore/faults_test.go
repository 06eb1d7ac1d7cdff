// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// Whatever a server answers instead of doing what it is asked for, every call reports
// that it is unavailable, why, and what to do; none that something does not exist.
func TestAServerThatRefuses(t *testing.T) {
	for answer, want := range map[string]struct {
		says      string
		transient bool
	}{
		"-LOADING Redis is loading the dataset in memory":                                                                 {"the server loads its data: wait", true},
		"-READONLY You can't write against a read only replica.":                                                          {"the server is a replica", true},
		"-READONLY You can't write against a read only replica. script: 0a1b, on @user_script:3.":                         {"the server is a replica", true},
		"-NOREPLICAS Not enough good replicas to write.":                                                                  {"min-replicas-to-write", true},
		"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":                               {"wait for the failover", true},
		"-CLUSTERDOWN Hash slot not served":                                                                               {"CLUSTER INFO", true},
		"-TRYAGAIN Multiple keys request during rehashing of slot":                                                        {"moves to another node", true},
		"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":                         {"another client's script runs too long", true},
		"-ERR max number of clients reached":                                                                              {"raise maxclients", true},
		"-OOM command not allowed when used memory > 'maxmemory'.":                                                        {"raise maxmemory or drop something", false},
		"-OOM command not allowed when used memory > 'maxmemory'. script: 0a1b, on @user_script:26.":                      {"raise maxmemory or drop something", false},
		"-ERR Error running script (call to f_0a1b): @user_script:26: @user_script: 26: -OOM command not allowed when…":   {"raise maxmemory or drop something", false},
		"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":               {"look at its disk and log", false},
		"-NOAUTH Authentication required.":                                                                                {"put it into the client's options or the URL", false},
		"-NOPERM User ann has no permissions to run the 'evalsha' command":                                                {"the user's ACL forbids", false},
		"-ERR The user executing the script can't run this command or subcommand script: 0a1b, on @user_script:10.":       {"the user's ACL forbids", false},
		"-ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -NOPERM this user has no permissions…": {"the user's ACL forbids", false},
		"-DENIED Redis is running in protected mode because protected mode is enabled":                                    {"runs in protected mode", false},
		"-WRONGTYPE Operation against a key holding the wrong kind of value":                                              {"choose another", false},
		"-ERR something that no server has answered before":                                                               {"unexpected answer of the server", false},
		"+OK":                          {"unexpected answer", false},
		"$9\r\nsomething":              {"unexpected answer", false},
		"!garbage that is no protocol": {"unexpected answer", false},
	} {
		t.Run(answer[:min(len(answer), 24)], func(t *testing.T) {
			m := miniredis.RunT(t)
			client := clientOf(t, m.Addr())
			s, patient := newStore(t, client, &redisstore.Config{Retry: time.Millisecond}), newStore(t, client, &redisstore.Config{Retry: time.Hour})
			var refusals atomic.Int64 // below 0: for ever
			refusals.Store(-1)
			m.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
				if command == "HELLO" || command == "CLIENT" || refusals.Load() == 0 {
					return false
				}
				refusals.Add(-1)
				p.WriteRaw(answer + "\r\n")
				return true
			})
			for what, err := range everything(t.Context(), s, ann) {
				require.ErrorIs(t, err, backends.ErrUnavailable, what)
				require.NotErrorIs(t, err, backends.ErrNotFound, what)
				require.NotErrorIs(t, err, backends.ErrInvalid, what)
				if answer[0] == '-' {
					require.ErrorContains(t, err, want.says, what)
				}
			}
			if answer[0] == '-' {
				refusals.Store(2)
				_, err := patient.Epoch(t.Context(), ann) // one command
				require.Equal(t, want.transient, err == nil, "whether it is retried: %v", err)
			}
		})
	}
}

// A server that does not answer holds up no call beyond the end of the context, and
// without one for not much longer than Retry, however long one answer may take.
func TestAServerThatHangs(t *testing.T) {
	server := testredis.Need(t).Start(t)
	s := newStore(t, clientOf(t, server.Addr, func(o *redis.Options) { o.ReadTimeout = time.Hour }), nil)
	begin(t, s, ann)
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	for what, err := range everything(ctx, s, ann) {
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
		require.NotErrorIs(t, err, backends.ErrNotFound, what)
	}
	server.Thaw()
	for what, err := range everything(t.Context(), s, ann) {
		require.NoError(t, err, what)
	}

	tries := 0
	short := clientOf(t, server.Addr, func(o *redis.Options) { o.ReadTimeout = time.Second }) // one try outlasts Retry, and what go-redis's cached clock is late
	s = newStore(t, short, &redisstore.Config{Retry: 100 * time.Millisecond})
	short.AddHook(testredis.Hook(func(_ []redis.Cmder, send func() error) error { tries++; return send() }))
	server.Freeze()
	_, err := s.History(t.Context(), ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "does not answer")
	require.LessOrEqual(t, tries, 2, "the time that tries take counts, not that of the pauses alone")
	server.Thaw()
}

func TestAServerThatIsSlow(t *testing.T) {
	var network testredis.Network
	s := newStore(t, clientOf(t, testredis.Need(t).Start(t).Addr, func(o *redis.Options) { o.Dialer = network.Dial }), nil)
	begin(t, s, ann)
	network.Delay(5 * time.Millisecond)
	for what, err := range everything(t.Context(), s, ann) {
		require.NoError(t, err, what)
	}
}

// Refused writes leave no trace, and what can be read is as it was.
func TestRefusedWritesLeaveNoTrace(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t)
			admin, bob := server.Client(t), user("bob")
			s := newStore(t, clientOf(t, server.Addr), &redisstore.Config{Retry: time.Millisecond})
			begin(t, s, ann)
			begin(t, s, bob)
			for _, c := range []struct{ option, bad, good, says string }{
				{"maxmemory", "1", "0", "raise maxmemory or drop something"},
				{"min-replicas-to-write", "1", "0", "min-replicas-to-write"},
			} {
				before := dump(t, server)
				require.NoError(t, admin.ConfigSet(t.Context(), c.option, c.bad).Err())
				for what, err := range everything(t.Context(), s, ann) {
					switch what {
					case "append", "apply", "update", "put blob":
						require.ErrorIs(t, err, backends.ErrUnavailable, what)
						require.ErrorContains(t, err, c.says, what)
					case "get blob":
						require.ErrorIs(t, err, backends.ErrNotFound)
					default:
						require.NoError(t, err, what)
					}
				}
				_, err := s.Apply(t.Context(), user("new"), batch(put("a", "a")))
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.Equal(t, before, dump(t, server))
				if c.option == "maxmemory" { // the way out that the error names
					s := newStore(t, clientOf(t, server.Addr), nil)
					n, err := s.Drop(t.Context(), bob)
					require.NoError(t, err)
					require.Equal(t, store.DropCount{Records: 1, Sessions: 1, Messages: 1}, n)
					require.NoError(t, s.Delete(t.Context(), ann, "s"))
				}
				require.NoError(t, admin.ConfigSet(t.Context(), c.option, c.good).Err())
				for what, err := range everything(t.Context(), s, ann) {
					require.NoError(t, err, what)
				}
				require.NoError(t, s.PutBlob(t.Context(), ann, "s", "b", nil))
				begin(t, s, bob)
			}
		})
	}
}

// A batch that comes when the memory gets full is stored wholly or not at all.
func TestAServerWhoseMemoryFillsUp(t *testing.T) {
	server := testredis.Need(t).Start(t)
	s, admin := newStore(t, clientOf(t, server.Addr), nil), server.Client(t)
	begin(t, s, ann)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "3mb").Err())
	text := strings.Repeat("x", 1000)
	stored := int64(1)
	for i := range 10_000 {
		b := &store.Batch{}
		for j := range 10 {
			b.Mutations = append(b.Mutations, put(fmt.Sprintf("%d-%d", i, j), text))
		}
		if _, err := s.Apply(t.Context(), ann, b); err != nil {
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "raise maxmemory")
			break
		}
		stored += 10
	}
	require.Less(t, stored, int64(100_000), "it never was full")
	require.Equal(t, stored, admin.HLen(t.Context(), keyOf(ann, "rec")).Val())
	require.Equal(t, stored, admin.ZCard(t.Context(), keyOf(ann, "chg")).Val())
	require.Equal(t, stored, admin.HLen(t.Context(), keyOf(ann, "his")).Val())
}

// Calls whose answer is lost after they were carried out are repeated, and done once,
// whatever other processes do before the repeat.
func TestCallsWhoseAnswersAreLost(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, s, other *redisstore.Store, lose func(meanwhile func())){
		// The first update is still reported as done.
		"an update, then others": func(t *testing.T, s, other *redisstore.Store, lose func(func())) {
			for _, updates := range []int{0, 1, 100} {
				before, err := s.Session(t.Context(), ann, "s")
				require.NoError(t, err)
				lose(func() {
					for range updates {
						_, err := other.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Summary: pointer("theirs")})
						require.NoError(t, err)
					}
				})
				got, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Version: before.Version, Summary: pointer("ours")})
				require.NoError(t, err, "%d others", updates)
				require.Equal(t, before.Version+1+int64(updates), got.Version)
			}
		},
		"an update, then a delete": func(t *testing.T, s, other *redisstore.Store, lose func(func())) {
			lose(func() { require.NoError(t, other.Delete(t.Context(), ann, "s")) })
			_, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Summary: pointer("ours")})
			require.ErrorIs(t, err, backends.ErrNotFound)
		},
		// The other owner's fencing token is not handed out.
		"a lease that ends, then one of another owner": func(t *testing.T, s, other *redisstore.Store, lose func(func())) {
			acquire := func(s *redisstore.Store, owner string) (*store.Session, error) {
				return s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: owner, For: time.Nanosecond}})
			}
			var theirs int64
			lose(func() {
				session, err := acquire(other, "other")
				require.NoError(t, err)
				theirs = session.Lease.Token
			})
			_, err := acquire(s, "me")
			require.ErrorIs(t, err, backends.ErrConflict)
			lose(func() {})
			session, err := acquire(s, "me")
			require.NoError(t, err, "it is free")
			require.Greater(t, session.Lease.Token, theirs)
		},
		// It is committed once, even if the partition moved on by more versions than it
		// keeps the nonces of.
		"a batch without a key, then many": func(t *testing.T, s, other *redisstore.Store, lose func(func())) {
			lose(func() {
				for range 1100 {
					_, err := other.Apply(t.Context(), ann, batch(store.Increment("counter", "n", 1)))
					require.NoError(t, err)
				}
			})
			got, err := s.Apply(t.Context(), ann, batch(store.Increment("counter", "n", 1000)))
			require.NoError(t, err)
			require.False(t, got.Replayed)
			require.InDelta(t, 1000, got.Results[0].Value, 0)
			require.Equal(t, int64(2), got.Version)
			require.Equal(t, 2100, count(t, other, "counter"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr := miniredis.RunT(t).Addr()
			client := clientOf(t, addr)
			s := newStore(t, client, &redisstore.Config{Retry: time.Minute})
			begin(t, s, ann) // the server knows the scripts
			var meanwhile func()
			client.AddHook(testredis.Hook(func(cmds []redis.Cmder, send func() error) error {
				err, f := send(), meanwhile
				if cmds[0].Name() != "evalsha" || f == nil {
					return err
				}
				meanwhile = nil
				f()
				return io.EOF
			}))
			test(t, s, newStore(t, clientOf(t, addr), nil), func(f func()) { meanwhile = f })
		})
	}
}

// On a network that cuts connections at random and loses the replies to writes, what
// eight clients do is done once, and all of it.
func TestWritesInAStormAreDoneOnce(t *testing.T) {
	type work = func(n int, s *redisstore.Store) error
	for name, test := range map[string]func(t *testing.T, s *redisstore.Store) (work, func()){
		// With a key an increment may be repeated by its caller too, without one the store
		// alone repeats it.
		"increments": func(t *testing.T, direct *redisstore.Store) (work, func()) {
			_, err := direct.Apply(t.Context(), ann, batch(put("keyed", ""), put("bare", "")))
			require.NoError(t, err)
			each := testkit.Several(60, 500)
			return func(n int, s *redisstore.Store) error {
					for i := range each {
						keyed := &store.Batch{Key: fmt.Sprint(n, "-", i), Mutations: []store.Mutation{store.Increment("keyed", "n", 1)}}
						for range 2 { // the second one is a replay
							if _, err := s.Apply(t.Context(), ann, keyed); err != nil && !errors.Is(err, backends.ErrUnavailable) {
								return err
							}
						}
						if _, err := s.Apply(t.Context(), ann, batch(store.Increment("bare", "n", 1))); err != nil {
							return err
						}
					}
					return nil
				}, func() {
					require.Equal(t, 8*each, count(t, direct, "keyed"))
					require.Equal(t, 8*each, count(t, direct, "bare"))
				}
		},
		// A conflict means that nothing was written, even if the answer to the first try was
		// lost and others came after.
		"updates": func(t *testing.T, direct *redisstore.Store) (work, func()) {
			_, err := direct.Append(t.Context(), ann, "s", &store.Append{})
			require.NoError(t, err)
			each := testkit.Several(100, 500)
			return func(_ int, s *redisstore.Store) error {
					for done := 0; done < each; {
						session, err := s.Session(t.Context(), ann, "s")
						if err != nil {
							return err
						}
						n, _ := strconv.Atoi(session.Summary)
						_, err = s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Version: session.Version, Summary: pointer(strconv.Itoa(n + 1))})
						if err == nil {
							done++
						} else if !errors.Is(err, backends.ErrConflict) {
							return err
						}
					}
					return nil
				}, func() {
					session, err := direct.Session(t.Context(), ann, "s")
					require.NoError(t, err)
					require.Equal(t, strconv.Itoa(8*each), session.Summary)
					require.Equal(t, int64(1+8*each), session.Version)
				}
		},
		"appends": func(t *testing.T, direct *redisstore.Store) (work, func()) {
			each := testkit.Several(200, 1000)
			return func(n int, s *redisstore.Store) error {
					for i := range each {
						if _, err := s.Append(t.Context(), ann, "log", messages(fmt.Sprintf("%d-%d", n, i))); err != nil {
							return err
						}
					}
					return nil
				}, func() {
					log, err := direct.Read(t.Context(), ann, "log", store.Range{Limit: 10_000})
					require.NoError(t, err)
					require.Len(t, log, 8*each)
					next := map[int]int{} // each writer's messages are in its order
					for _, e := range log {
						var n, at int
						_, err := fmt.Sscanf(e.ID, "%d-%d", &n, &at)
						require.NoError(t, err)
						require.Equal(t, next[n], at, e.ID)
						require.Equal(t, "text of "+e.ID, e.Content)
						next[n] = at + 1
					}
				}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, network := testredis.Need(t).Start(t), &testredis.Network{}
			pause := 3 * time.Millisecond
			if name == "appends" { // which need their answer to know that they are done
				pause = 20 * time.Millisecond
			}
			work, check := test(t, newStore(t, server.Client(t), nil))
			var stores []*redisstore.Store
			for range 8 {
				c := redis.NewClient(&redis.Options{Addr: server.Addr, Dialer: network.Dial})
				t.Cleanup(func() { _ = c.Close() })
				stores = append(stores, newStore(t, c, &redisstore.Config{Retry: 30 * time.Second}))
			}
			network.CutRandomly(1, 96<<10)
			var all errgroup.Group
			for n, s := range stores {
				all.Go(func() error { return work(n, s) })
			}
			done := make(chan error, 1)
			go func() { done <- all.Wait() }()
			for running := true; running; {
				select {
				case <-time.After(pause):
					network.LoseReplies(1, "evalsha")
				case err := <-done:
					require.NoError(t, err)
					running = false
				}
			}
			network.CutRandomly(0, 0)
			network.LoseReplies(0)
			require.Greater(t, network.Cuts(), 20)
			check()
		})
	}
}

// requireQueued requires that the work queue has a partition if a session there is
// pending, without the search for lost entries that listings make.
func requireQueued(t testing.TB, c redis.UniversalClient, p backends.Partition, msg ...any) {
	t.Helper()
	if c.Exists(t.Context(), keyOf(p, "pend")).Val() == 0 {
		return
	}
	require.NoError(t, c.ZScore(t.Context(), "em:work", redisstore.MemberOf(p)).Err(), msg...)
}

// Whatever command of a process is the last that reaches the server or the first that does
// not, and whatever another process appends, learns or drops in that moment: what is pending
// is in the work queue at once, and no turn is lost.
func TestNoBrokenConnectionTakesPendingWorkOffTheQueue(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, ctx, now := open(t), t.Context(), backends.SystemClock()
		clock := func() time.Time { return now }
		other := newStore(t, open(t), &redisstore.Config{Clock: clock})
		turn := func(s *redisstore.Store, p backends.Partition, id string) error {
			_, err := s.Append(ctx, p, "s", messages(id))
			return err
		}
		learn := func(s *redisstore.Store, p backends.Partition) error {
			_, err := s.Update(ctx, p, &store.SessionUpdate{Session: "s", Watermark: pointer(int64(1 << 30))})
			return err
		}
		sweep := func(s *redisstore.Store, _ backends.Partition) error {
			now = now.Add(11 * time.Minute)
			_, err := s.List(ctx, store.SessionQuery{Pending: true})
			return err
		}
		drop := func(s *redisstore.Store, p backends.Partition) error {
			_, err := s.Drop(ctx, p)
			return err
		}
		steps := []func(s *redisstore.Store, p backends.Partition) error{
			func(s *redisstore.Store, p backends.Partition) error { return turn(s, p, "m1") }, learn, sweep,
			func(s *redisstore.Store, p backends.Partition) error { return turn(s, p, "m2") }, sweep, learn, sweep, drop,
			func(s *redisstore.Store, p backends.Partition) error { return turn(s, p, "m3") }, sweep,
		}
		meanwhiles := map[string]func(p backends.Partition) error{
			"nothing": func(backends.Partition) error { return nil },
			"a turn":  func(p backends.Partition) error { return turn(other, p, "theirs") },
			"sweep":   func(p backends.Partition) error { return sweep(other, p) },
			"drop":    func(p backends.Partition) error { return drop(other, p) },
			"turn, learnt, swept": func(p backends.Partition) error {
				return errors.Join(turn(other, p, "theirs"), learn(other, p), sweep(other, p))
			},
		}
		cases := 0
		for name, meanwhile := range meanwhiles {
			for _, cut := range []string{"before", "after", "never"} {
				for at, reached := 1, true; reached; at += testkit.Several(7, 1) {
					p, commands := user(backends.NewID()), 0
					where := fmt.Sprintf("%s, cut %s command %d", name, cut, at)
					client := open(t)
					s := newStore(t, client, &redisstore.Config{Clock: clock, Retry: -1})
					client.AddHook(testredis.Hook(func(_ []redis.Cmder, send func() error) error {
						if commands++; commands != at {
							return send()
						}
						if cut == "before" {
							require.NoError(t, meanwhile(p), where)
							return io.EOF
						}
						err := send()
						require.NoError(t, meanwhile(p), where)
						if cut == "after" {
							return io.EOF
						}
						return err
					}))
					for i, step := range steps {
						err := step(s, p)
						if err != nil && !errors.Is(err, backends.ErrNotFound) {
							require.ErrorIs(t, err, backends.ErrUnavailable, where)
						}
						requireQueued(t, c, p, "%s, step %d", where, i)
					}
					require.NoError(t, drop(other, p))
					cases, reached = cases+1, commands >= at
				}
			}
		}
		t.Logf("%d cases", cases)
	})
}

// What the server lost of the work queue shows, and is back at the next sweep, or with a turn
// a minute later.
func TestLostEntriesOfTheWorkQueueAreMadeAgain(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, ctx, now := open(t), t.Context(), backends.SystemClock()
		s := newStore(t, open(t), &redisstore.Config{Clock: func() time.Time { return now }})
		for i := range 150 {
			p := user(fmt.Sprint("p", i))
			p.Namespace = fmt.Sprint("n", i%2)
			begin(t, s, p)
		}
		require.NoError(t, c.Del(ctx, "em:work").Err())
		health, err := working.ReadHealth(ctx, s)
		require.NoError(t, err)
		require.Equal(t, 150, health.Sessions)
		seen := map[string]bool{}
		for range 3 { // each looks at one namespace
			for cursor, more := "", true; more; {
				page, err := s.List(ctx, store.SessionQuery{Pending: true, Page: store.Page{Cursor: cursor}})
				require.NoError(t, err)
				for _, found := range page.Sessions {
					seen[found.Partition.ID] = true
				}
				cursor, more = page.Next, page.Next != ""
			}
		}
		require.Len(t, seen, 150)

		p := user("p1")
		begin(t, s, p)
		require.NoError(t, c.Del(ctx, "em:work").Err())
		now = now.Add(2 * time.Minute)
		_, err = s.Append(ctx, p, "s", messages("later"))
		require.NoError(t, err)
		requireQueued(t, c, p)
	})
}

// A write that is refused leaves no entry of a partition that does not exist, and takes away
// none of one that does.
func TestRefusedWritesLeaveTheListsAsTheyAre(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, there, none := open(t), user(backends.NewID()), user(backends.NewID())
		now := backends.SystemClock()
		s := newStore(t, open(t), &redisstore.Config{Clock: func() time.Time { return now }})
		begin(t, s, there)
		now = now.Add(time.Hour) // a write looks after its entries again
		for _, p := range []backends.Partition{there, none} {
			began, err := store.Begin(t.Context(), s, p)
			require.NoError(t, err)
			refused := open(t)
			asked := newStore(t, refused, &redisstore.Config{Clock: func() time.Time { return now }, Retry: -1})
			scripts := 0
			refused.AddHook(testredis.Hook(func(cmds []redis.Cmder, send func() error) error {
				if cmds[0].Name() == "evalsha" {
					if scripts++; scripts == 2 { // between the entries and the write
						require.NoError(t, c.HSet(t.Context(), keyOf(p, "lives"), "", fmt.Sprint("another ", now.Add(time.Hour).UnixMicro())).Err())
					}
				}
				return send()
			}))
			_, err = asked.Append(began, p, "s", messages("late"))
			require.ErrorIs(t, err, backends.ErrForgotten)
			require.Equal(t, 2, scripts)
		}
		require.NoError(t, c.ZScore(t.Context(), "em:work", redisstore.MemberOf(there)).Err())
		require.Error(t, c.ZScore(t.Context(), "em:work", redisstore.MemberOf(none)).Err())
		listed := c.ZRange(t.Context(), "em:partitions:n", 0, -1).Val()
		require.Contains(t, listed, "user:"+there.ID)
		require.NotContains(t, listed, "user:"+none.ID)
	})
}
