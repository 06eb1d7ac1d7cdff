// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// newStore opens a store that logs nothing unless cfg says where to.
func newStore(t testing.TB, client redis.UniversalClient, cfg *redisstore.Config) *redisstore.Store {
	t.Helper()
	if cfg == nil {
		cfg = &redisstore.Config{}
	}
	quiet := *cfg
	quiet.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s, err := redisstore.New(t.Context(), client, &quiet)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// clientOf returns a client that does not retry by itself.
func clientOf(t testing.TB, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: time.Millisecond, ContextTimeoutEnabled: true}
	for _, c := range change {
		c(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// dump returns the content of each key of a server: of a hash its fields, else as DUMP
// serialises it.
func dump(t testing.TB, s *testredis.Server) map[string]string {
	t.Helper()
	c, out := s.Client(t), map[string]string{}
	keys := c.Scan(t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(t.Context()) {
		fields, err := c.HGetAll(t.Context(), keys.Val()).Result()
		if out[keys.Val()] = fmt.Sprint(fields); err == nil { // a hash in no order
			continue
		}
		if out[keys.Val()], err = c.Dump(t.Context(), keys.Val()).Result(); err != nil { // it ended meanwhile
			delete(out, keys.Val())
		}
	}
	require.NoError(t, keys.Err())
	return out
}

// user is the partition of one user, whose name needs no escaping.
func user(id string) backends.Partition {
	return backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: id}
}

var ann = user("ann")

// keysOf returns the names of a partition's keys. They are on one node of a Cluster, whose client
// sends KEYS to any of them.
func keysOf(t testing.TB, c redis.UniversalClient, p backends.Partition) []string {
	t.Helper()
	var node redis.Cmdable = c
	if cluster, ok := c.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(t.Context(), keyOf(p, "lives"))
		require.NoError(t, err)
		node = master
	}
	keys, err := node.Keys(t.Context(), keyOf(p, "*")).Result()
	require.NoError(t, err)
	return keys
}

// keyOf names a key of a partition whose names need no escaping.
func keyOf(p backends.Partition, name string) string {
	return fmt.Sprintf("{em:%s:%s:%s}:%s", p.Namespace, p.Kind, p.ID, name)
}

// messages are of one token each.
func messages(ids ...string) *store.Append {
	a := &store.Append{Scope: backends.Scope{UserID: "ann"}}
	for _, id := range ids {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: id, Turn: "t", Message: schema.UserMessage("text of " + id)}, Tokens: 1})
	}
	return a
}

func put(id, text string) store.Mutation {
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}})
}

func batch(mutations ...store.Mutation) *store.Batch { return &store.Batch{Mutations: mutations} }

func pointer[T any](v T) *T { return &v }

// begin gives a partition a session "s" and a record "counter".
func begin(t testing.TB, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	_, err := s.Apply(t.Context(), p, batch(put("counter", "")))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), p, "s", messages("first"))
	require.NoError(t, err)
}

// count returns the number n that Increment keeps in a record.
func count(t testing.TB, s *redisstore.Store, id string) int {
	t.Helper()
	got, err := s.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.Len(t, got, 1)
	n, _ := got[0].Metadata["n"].(float64)
	return int(n)
}

// everything makes one call of each kind on a partition that was begun, and returns
// the errors.
func everything(ctx context.Context, s *redisstore.Store, p backends.Partition) map[string]error {
	out := map[string]error{}
	_, out["append"] = s.Append(ctx, p, "s", messages("2"))
	_, out["apply"] = s.Apply(ctx, p, batch(put("b", "text of b")))
	_, out["get"] = s.Get(ctx, p, "counter")
	_, out["changes"] = s.Changes(ctx, p, "")
	_, out["read"] = s.Read(ctx, p, "s", store.Range{})
	_, out["session"] = s.Session(ctx, p, "s")
	_, out["history"] = s.History(ctx, p, "counter")
	_, out["list"] = s.List(ctx, store.SessionQuery{Partition: &p})
	_, out["update"] = s.Update(ctx, p, &store.SessionUpdate{Session: "s", Summary: new(string)})
	out["put blob"] = s.PutBlob(ctx, p, "s", "b", []byte("x"))
	_, out["get blob"] = s.GetBlob(ctx, p, "s", "b")
	_, out["list blobs"] = s.ListBlobs(ctx, p, "s", "", store.Page{})
	return out
}

// requireConsistent reads the keys of a partition whose names need no escaping as the
// package comment describes them, and requires that they agree; what Check compares it
// leaves to Check. Each message must have one token.
func requireConsistent(t testing.TB, c redis.UniversalClient, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	ctx := t.Context()
	hash := func(name string) map[string]string { return c.HGetAll(ctx, keyOf(p, name)).Val() }
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	meta := hash("meta")
	if len(meta) == 0 {
		require.Subset(t, []string{keyOf(p, "lives")}, keysOf(t, c, p), "keys of a partition that does not exist")
		return
	}
	drift, err := s.Check(ctx, p)
	require.NoError(t, err)
	require.Empty(t, drift)
	nonces, versions := map[string]bool{}, map[string]bool{}
	for _, chunk := range hash("tip") {
		for _, pair := range strings.Fields(chunk) {
			version, nonce, _ := strings.Cut(pair, "=")
			require.False(t, nonces[nonce] || versions[version], "a batch was committed twice")
			nonces[nonce], versions[version] = true, true
		}
	}
	require.GreaterOrEqual(t, len(nonces), int(min(number(meta["ver"]), 1000)))
	require.LessOrEqual(t, len(nonces), 1100)
	require.Equal(t, len(hash("idem")), int(c.ZCard(ctx, keyOf(p, "idemt")).Val()))
	for _, id := range c.ZRange(ctx, keyOf(p, "born"), 0, -1).Val() {
		state, n, ids := hash("s:"+id+":st"), int64(0), int64(0)
		for field := range state {
			if number(field) > 0 {
				n++
			} else if strings.HasPrefix(field, "i:") {
				ids++
			}
		}
		require.Equal(t, n, number(state["seq"]))
		require.Equal(t, n, ids)
		require.Equal(t, n, number(state["tokens"]), "each message has one")
		require.LessOrEqual(t, number(state["watermark"]), n)
	}
}

// The contract, on every kind of server that this machine has.
func TestStore(t *testing.T) {
	testkit.SlowUnderRace(t)
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
			return newStore(t, open(t), &redisstore.Config{Clock: o.Clock})
		})
		t.Run("shared", func(t *testing.T) {
			storetest.RunShared(t, func(t *testing.T, o storetest.Options) (a, b store.Store) {
				cfg := &redisstore.Config{Clock: o.Clock}
				return newStore(t, open(t), cfg), newStore(t, open(t), cfg)
			})
		})
	})
}

// What the server removes at the end of a session's time leaves the lists, too.
func TestListingRemovesEntriesOfExpiredSessions(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		client := open(t)
		s, ctx := newStore(t, client, nil), t.Context()
		p := user(backends.NewID())
		for _, id := range []string{"gone", "kept", "blob"} {
			a := messages("m")
			a.TTL = time.Hour
			_, err := s.Append(ctx, p, id, a)
			require.NoError(t, err)
		}
		require.NoError(t, s.PutBlob(ctx, p, "blob", "b", []byte("x")))
		for _, key := range []string{"s:gone:st", "s:gone:log", "s:gone:ids", "s:blob:st", "s:blob:log", "s:blob:ids"} {
			require.NoError(t, client.Del(ctx, keyOf(p, key)).Err())
		}
		drift, err := s.Check(ctx, p)
		require.NoError(t, err)
		require.Empty(t, drift, "entries of expired sessions are no mistake")
		page, err := s.List(ctx, store.SessionQuery{Partition: &p})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		for list, want := range map[string][]string{"pend": {"kept"}, "born": {"kept", "blob"}} {
			require.ElementsMatch(t, want, client.ZRange(ctx, keyOf(p, list), 0, -1).Val(), list)
		}
		_, err = s.Append(ctx, p, "gone", messages("m"))
		require.NoError(t, err)
		page, err = s.List(ctx, store.SessionQuery{Partition: &p, Pending: true})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 2)
	})
}

// A session that another program wrote to is an error for its partition, and does not
// keep those of others out of the list of all.
func TestAnUnreadableSessionIsLeftOutOfTheListOfAll(t *testing.T) {
	client := clientOf(t, miniredis.RunT(t).Addr())
	var log bytes.Buffer
	s, ctx := newStore(t, client, &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}), t.Context()
	bob := user("bob")
	begin(t, s, ann)
	begin(t, s, bob)
	require.NoError(t, client.HSet(ctx, keyOf(ann, "s:s:st"), "state", "{").Err())
	for _, pending := range []bool{true, false} {
		_, err := s.List(ctx, store.SessionQuery{Partition: &ann, Pending: pending})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		page, err := s.List(ctx, store.SessionQuery{Pending: pending})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		require.Equal(t, bob, page.Sessions[0].Partition)
		require.Contains(t, log.String(), "n/user/ann")
		log.Reset()
	}
}

func TestBlobsAreListedAndPutWithoutTheirData(t *testing.T) {
	server := testredis.Need(t).Start(t)
	s, stats, ctx := newStore(t, server.Client(t), nil), server.Client(t), t.Context()
	sent := func(do func()) int {
		count := func() (n int) {
			_, err := fmt.Sscan(stats.InfoMap(ctx, "stats").Item("Stats", "total_net_output_bytes"), &n)
			require.NoError(t, err)
			return n
		}
		before := count()
		do()
		return count() - before
	}
	answer := sent(func() {}) // of the count itself
	require.Less(t, sent(func() {
		for i := range 50 {
			require.NoError(t, s.PutBlob(ctx, ann, "s", fmt.Sprintf("archive/%04d", i), make([]byte, 20<<10)))
		}
	}), answer+10_000)
	require.Less(t, sent(func() {
		for cursor, more := "", true; more; {
			page, err := s.ListBlobs(ctx, ann, "s", "archive/", store.Page{Limit: 20, Cursor: cursor})
			require.NoError(t, err)
			for _, b := range page.Blobs {
				require.EqualValues(t, 20<<10, b.Size)
			}
			cursor, more = page.Next, page.Next != ""
		}
	}), answer+10_000, "three pages of names")
	require.Greater(t, sent(func() {
		_, err := s.GetBlob(ctx, ann, "s", "archive/0000")
		require.NoError(t, err)
	}), 20<<10, "the server counts")
}

// Blobs end with their session for the server, too, in whatever order they come.
func TestBlobsHaveTheTimeToLiveOfTheirSession(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		client, p := open(t), user(backends.NewID())
		s, ctx := newStore(t, client, nil), t.Context()
		requireEnd := func(session string, ends bool) {
			t.Helper()
			left := client.PTTL(ctx, keyOf(p, "s:"+session+":blobs")).Val()
			require.NotEqual(t, time.Duration(-2), left, "no blobs of %s", session)
			require.Equal(t, ends, left > 0, session)
			if ends {
				require.InDelta(t, client.PTTL(ctx, keyOf(p, "s:"+session+":st")).Val().Seconds(), left.Seconds(), 10)
			}
		}
		blob := func(session string) { require.NoError(t, s.PutBlob(ctx, p, session, "b", []byte("x"))) }
		begin := func(session string, ttl time.Duration) {
			a := messages("m")
			a.TTL = ttl
			_, err := s.Append(ctx, p, session, a)
			require.NoError(t, err)
		}
		blob("before")
		requireEnd("before", false)
		begin("before", time.Hour)
		requireEnd("before", true)
		begin("after", time.Hour)
		blob("after")
		requireEnd("after", true)
		begin("never", 0)
		blob("never")
		requireEnd("never", false)
		for _, expires := range []time.Time{{}, backends.SystemClock().Add(time.Hour)} {
			for _, session := range []string{"before", "after", "never"} {
				_, err := s.Update(ctx, p, &store.SessionUpdate{Session: session, Expires: &expires})
				require.NoError(t, err)
				requireEnd(session, !expires.IsZero())
			}
		}
	})
}

// What cannot be read back is refused before it is written.
func TestAnExpiryThatCannotBeReadBackIsRefused(t *testing.T) {
	s := newStore(t, testredis.Need(t).Start(t).Client(t), nil)
	begin(t, s, ann)
	before, err := s.Session(t.Context(), ann, "s")
	require.NoError(t, err)
	for _, end := range []time.Time{
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64/2, 0),
		time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2500, 1, 1, 0, 0, 0, 0, time.FixedZone("far", 25*60*60)),
	} {
		_, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Expires: &end})
		require.ErrorIs(t, err, backends.ErrInvalid, "%s", end)
		after, err := s.Session(t.Context(), ann, "s")
		require.NoError(t, err, "%s", end)
		require.Equal(t, before, after)
	}
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	after, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Expires: &last})
	require.NoError(t, err)
	require.Equal(t, last, after.Expires)
}

// A number that a script cannot add up is refused before the script has written half.
func TestTokensThatNoScriptCanAddAreRefused(t *testing.T) {
	s := newStore(t, clientOf(t, miniredis.RunT(t).Addr()), nil)
	for _, tokens := range []int{math.MaxInt, math.MinInt, 1 << 53, math.MaxInt32 + 1} {
		a := messages("a", "b")
		a.Entries[1].Tokens = tokens
		_, err := s.Append(t.Context(), ann, "s", a)
		require.ErrorIs(t, err, backends.ErrInvalid, "%d", tokens)
		_, err = s.Session(t.Context(), ann, "s")
		require.ErrorIs(t, err, backends.ErrNotFound, "nothing is written")
	}
	a := messages("1", "2", "3")
	for i := range a.Entries {
		a.Entries[i].Tokens = math.MaxInt32
	}
	session, err := s.Append(t.Context(), ann, "s", a)
	require.NoError(t, err)
	require.EqualValues(t, 3*math.MaxInt32, session.Tokens)
}

// A time to live shorter than what the server counts in is not for ever.
func TestTheShortestTimeToLiveEnds(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)
	s := newStore(t, testredis.Need(t).Start(t).Client(t), &redisstore.Config{Clock: func() time.Time { return now }})
	for _, ttl := range []time.Duration{1, 999, 1000, 1001} {
		a := messages("a")
		a.TTL = ttl
		session, err := s.Append(t.Context(), ann, ttl.String(), a)
		require.NoError(t, err)
		require.Equal(t, now.Add(ttl), session.Expires)
	}
	now = now.Add(time.Millisecond)
	for _, ttl := range []time.Duration{1, 999, 1000, 1001} {
		_, err := s.Session(t.Context(), ann, ttl.String())
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
}

// Metadata as deep as is legal is read back.
func TestDeepMetadataIsReadBack(t *testing.T) {
	s := newStore(t, clientOf(t, miniredis.RunT(t).Addr()), nil)
	for _, depth := range []int{100, 999} {
		var deep any = "x"
		for range depth {
			deep = []any{deep}
		}
		id := fmt.Sprint(depth)
		r := &store.Record{Memory: backends.Memory{ID: id, Text: "x", Metadata: map[string]any{"deep": deep}}}
		_, err := s.Apply(t.Context(), ann, batch(store.Put(r)))
		require.NoError(t, err)
		got, err := s.Get(t.Context(), ann, id)
		require.NoError(t, err, "%d", depth)
		require.Equal(t, deep, got[0].Metadata["deep"])
	}
}

// A session is deleted and begun anew between the reading and the writing of an
// update: what was planned on the old one is not written to the new one.
func TestAnUpdateOfASessionThatIsReplacedMeanwhile(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	other, client := newStore(t, clientOf(t, addr), nil), clientOf(t, addr)
	late := newStore(t, client, nil)
	_, err := other.Append(t.Context(), ann, "s", messages("a", "b", "c"))
	require.NoError(t, err)
	replaced := false
	client.AddHook(testredis.Hook(func(cmds []redis.Cmder, send func() error) error {
		if !replaced && cmds[0].Name() == "evalsha" {
			replaced = true
			require.NoError(t, other.Delete(t.Context(), ann, "s"))
			_, err := other.Append(t.Context(), ann, "s", messages("d"))
			require.NoError(t, err)
		}
		return send()
	}))
	session, err := late.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Watermark: pointer(int64(3))})
	require.NoError(t, err)
	require.True(t, replaced)
	require.Equal(t, int64(1), session.LastSeq)
	require.Equal(t, int64(1), session.Watermark, "not beyond the log")
}

// One message a call, each client in a session of its own; and one memory with its
// history and a vector of 1536 dimensions as int8 a call, each client in a partition of
// its own.
func BenchmarkWrites(b *testing.B) {
	s := newStore(b, testredis.Need(b).Start(b).Client(b), nil)
	appendOne := func(clients int, n int64) error {
		_, err := s.Append(b.Context(), ann, fmt.Sprint("s", n%int64(clients)), messages(fmt.Sprint(clients, "-", b.N, "-", n)))
		return err
	}
	applyOne := func(clients int, n int64) error {
		p := user(fmt.Sprint(clients, "-", n%int64(clients)))
		_, err := s.Apply(b.Context(), p, batch(store.Put(record(fmt.Sprint(n%1000), 1536+8))))
		return err
	}
	for name, write := range map[string]func(clients int, n int64) error{"append": appendOne, "apply": applyOne} {
		for _, clients := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(name, "/clients=", clients), func(b *testing.B) {
				var n atomic.Int64
				if clients < runtime.GOMAXPROCS(0) {
					for b.Loop() {
						require.NoError(b, write(clients, n.Add(1)))
					}
					return
				}
				b.SetParallelism(clients / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := write(clients, n.Add(1)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// A page of 100 of 20,000 sessions.
func BenchmarkList(b *testing.B) {
	s := newStore(b, testredis.Need(b).Start(b).Client(b), nil)
	for i := range 20_000 {
		_, err := s.Append(b.Context(), ann, fmt.Sprint(i), messages("m"))
		require.NoError(b, err)
	}
	cursors := []string{""}
	for {
		page, err := s.List(b.Context(), store.SessionQuery{Partition: &ann, Page: store.Page{Cursor: cursors[len(cursors)-1]}})
		require.NoError(b, err)
		if page.Next == "" {
			break
		}
		cursors = append(cursors, page.Next)
	}
	require.Len(b, cursors, 200)
	for name, cursor := range map[string]string{"first": "", "last": cursors[199]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, err := s.List(b.Context(), store.SessionQuery{Partition: &ann, Page: store.Page{Cursor: cursor}})
				require.NoError(b, err)
				require.Len(b, page.Sessions, 100)
			}
		})
	}
}

// What every search begins with.
func BenchmarkChangesNothing(b *testing.B) {
	s := newStore(b, testredis.Need(b).Start(b).Client(b), nil)
	_, err := s.Apply(b.Context(), ann, batch(put("a", "a"), put("b", "b")))
	require.NoError(b, err)
	all, err := s.Changes(b.Context(), ann, "")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		c, err := s.Changes(b.Context(), ann, all.Cursor)
		require.NoError(b, err)
		require.Empty(b, c.Records)
	}
}

// All that a process reads when it meets a partition of 10,000 memories of 1536
// dimensions for the first time.
func BenchmarkLoad10k(b *testing.B) {
	for name, size := range map[string]int{"float32": 4 * 1536, "int8": 1536 + 8} {
		b.Run(name, func(b *testing.B) {
			client := testredis.Need(b).Start(b).Client(b)
			s := newStore(b, client, nil)
			used := func() (n int64) { // bytes of the server's data
				_, err := fmt.Sscan(client.InfoMap(b.Context(), "memory").Item("Memory", "used_memory"), &n)
				require.NoError(b, err)
				return n
			}
			empty := used()
			for i := 0; i < 10_000; i += 500 {
				some := &store.Batch{}
				for j := range 500 {
					some.Mutations = append(some.Mutations, store.Put(record(fmt.Sprintf("0192d4a0-0000-7000-8000-%012d", i+j), size)))
				}
				_, err := s.Apply(b.Context(), ann, some)
				require.NoError(b, err)
			}
			stored := used() - empty
			for b.Loop() {
				n := 0
				for cursor, more := "", true; more; {
					c, err := s.Changes(b.Context(), ann, cursor)
					require.NoError(b, err)
					n, cursor, more = n+len(c.Records), c.Cursor, c.More
				}
				require.Equal(b, 10_000, n)
			}
			b.ReportMetric(float64(stored)/10_000, "redisB/memory")
		})
	}
}

// record is a memory with a vector of so many bytes.
func record(id string, size int) *store.Record {
	return &store.Record{Vector: make([]byte, size), Memory: backends.Memory{ID: id, Kind: backends.KindFact,
		Text: "Ann moved to Bergen in spring and likes to drink green tea with " + id}}
}
