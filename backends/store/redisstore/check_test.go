// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// fill gives a partition one of everything.
func fill(t testing.TB, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	apply := func(b *store.Batch) {
		_, err := s.Apply(t.Context(), p, b)
		require.NoError(t, err)
	}
	fact := func(id string) *store.Record {
		return &store.Record{Memory: backends.Memory{ID: id, Text: "text of " + id, Metadata: map[string]any{"n": 1.5}}, Vector: []byte{0, 1, 0xff, byte(len(id))}}
	}
	apply(&store.Batch{Key: "one", Embedding: &store.Embedding{Model: "m", Dim: 4},
		Mutations: []store.Mutation{store.Put(fact("a")), store.Put(fact("b")), store.Put(fact("gone"))}})
	apply(batch(store.Supersede("a", fact("c")), store.Delete("gone")))
	for i, a := range []*store.Append{messages("m1", "m2", "m3"), {Entries: messages("m1").Entries, TTL: time.Hour}, messages("m1")} {
		_, err := s.Append(t.Context(), p, []string{"s", "ttl", ""}[i], a)
		require.NoError(t, err)
	}
	for _, session := range []string{"s", "ttl", "no_session"} {
		require.NoError(t, s.PutBlob(t.Context(), p, session, "blob", []byte("\x00bytes\xff")))
	}
	apply(&store.Batch{Key: "two", Mutations: []store.Mutation{store.Increment("b", "n", 1)}, Session: &store.SessionUpdate{Session: "s", Watermark: pointer(int64(2))}})
	apply(&store.Batch{Session: &store.SessionUpdate{Session: "", Watermark: pointer(int64(1))}})
}

// contents describes the records and sessions of a partition, in no order.
func contents(t testing.TB, s *redisstore.Store, p backends.Partition) []string {
	t.Helper()
	out := slices.Collect(maps.Values(follow(t, s, p, &reader{}).records))
	for _, pending := range []bool{false, true} {
		page, err := s.List(t.Context(), store.SessionQuery{Partition: &p, Pending: pending})
		require.NoError(t, err)
		for _, session := range page.Sessions {
			out = append(out, fmt.Sprint(pending, session.ID, session.Version, session.LastSeq, session.Watermark))
		}
	}
	slices.Sort(out)
	return out
}

// reader is an index that follows the changes of a partition.
type reader struct {
	cursor  string
	records map[string]string
}

// follow brings a reader up to date.
func follow(t testing.TB, s *redisstore.Store, p backends.Partition, r *reader) *reader {
	t.Helper()
	for more := true; more; {
		c, err := s.Changes(t.Context(), p, r.cursor)
		require.NoError(t, err)
		if c.Reset || r.records == nil {
			r.records = map[string]string{}
		}
		for _, rec := range c.Records {
			r.records[rec.ID] = fmt.Sprintf("%s %s@%d %v %x", rec.ID, rec.Text, rec.Version, rec.Metadata, rec.Vector)
		}
		for _, id := range c.Removed {
			delete(r.records, id)
		}
		r.cursor, more = c.Cursor, c.More
	}
	return r
}

// damage runs commands, in which T: and P: stand for the partition's tag and the prefix.
func damage(t testing.TB, c redis.UniversalClient, p backends.Partition, commands ...string) {
	t.Helper()
	for _, command := range commands {
		var args []any
		for _, word := range strings.Fields(command) {
			word = strings.Replace(word, "T:", keyOf(p, ""), 1)
			args = append(args, strings.Replace(strings.ReplaceAll(word, "''", ""), "P:", "em:", 1))
		}
		require.NoError(t, c.Do(t.Context(), args...).Err(), command)
	}
}

// What can be damaged by hand is found, and rebuilt from the records and sessions.
func TestReindexRebuildsWhatIsDerived(t *testing.T) {
	damages := []struct {
		name, commands string
		says           string // of what Check finds; T: is the partition's tag
	}{
		{"a record missing in the change log", "ZREM T:chg b", `T:chg "b": the version is none, the record has 3`},
		{"a record with another version there", "ZADD T:chg 1 b", `T:chg "b": the version is 1, the record has 3`},
		{"a record that counts as deleted", "ZADD T:del 3 b", `T:del "b": the version is 3, the record has none`},
		{"a change of no record", "ZADD T:chg 2 x", `T:chg "x": the version is 2, the record has none`},
		{"no change log", "DEL T:chg", `T:chg "a": the version is none`},
		{"no life", "HDEL T:meta inc", `T:meta "inc": it is missing: readers find nothing`},
		{"a version that fell", "HSET T:meta ver 1", `T:meta "ver": it is below the versions of the records`},
		{"a version that is no number", "HSET T:meta ver x", `T:meta "ver": it is below`},
		{"no nonces", "DEL T:tip", `T:tip: it is missing: readers cannot go on`},
		{"no meta", "DEL T:meta", `T:meta "ver": it is below`},
		{"no meta, no nonces", "DEL T:meta;DEL T:tip", `T:meta "born": the counter is below`},
		{"a counter that fell", "HSET T:meta born 1", `T:meta "born": the counter is below the numbers of its list`},
		{"a session in no list", "ZREM T:born s", `T:born "s": the session is missing`},
		{"a session in nothing", "DEL T:born;DEL T:pend", `T:born "ttl": the session is missing`},
		{"two sessions with one number", "ZADD T:born 1 s;ZADD T:born 1 ttl", `or has no number of its own`},
		{"a session without a number", "ZADD T:born 0 s", `or has no number of its own`},
		{"a session with half a number", "ZADD T:born 1.5 s", `or has no number of its own`},
		{"blobs that no drop finds", "ZREM T:born no_session", `T:born "no_session": the session is missing`},
		{"a session that is not pending", "ZREM T:pend s", `T:pend "s": the session is missing, or is at another place`},
		{"a session pending at another place", "ZADD T:pend 9 s", `T:pend "s": the session is missing, or is at another place`},
		{"a session pending for nothing", "ZADD T:pend 1 ''", `T:pend: the session has nothing to learn from`},
		{"not in the registry", "DEL P:namespaces;DEL P:partitions:n", `em:namespaces "n": the partition is missing: no listing finds it`},
		{"not in the work queue", "DEL P:work", `em:work "n:user:PARTITION": the partition is missing`},
	}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		for i, d := range damages {
			t.Run(d.name, func(t *testing.T) {
				c, p := open(t), user(fmt.Sprint("damaged", i))
				s, ctx := newStore(t, c, nil), t.Context()
				fill(t, s, p)
				before, old := contents(t, s, p), follow(t, s, p, &reader{})
				history, err := s.History(ctx, p, "gone")
				require.NoError(t, err)
				damage(t, c, p, strings.Split(d.commands, ";")...)
				says := strings.Replace(strings.Replace(d.says, "T:", keyOf(p, ""), 1), "PARTITION", p.ID, 1)
				found, err := s.Check(ctx, p)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(found), says)
				repaired, err := s.Reindex(ctx, p)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(repaired), says)
				found, err = s.Check(ctx, p)
				require.NoError(t, err)
				require.Empty(t, found)
				require.Equal(t, before, contents(t, s, p))
				after, err := s.History(ctx, p, "gone")
				require.NoError(t, err)
				require.Equal(t, history, after)
				begin(t, s, p) // it can be written
				require.Equal(t, follow(t, s, p, &reader{}).records, follow(t, s, p, old).records, "a reader of before sees what a new one sees")
				n, err := s.Drop(ctx, p)
				require.NoError(t, err)
				require.Equal(t, store.DropCount{Records: 5, Sessions: 3, Messages: 6, Blobs: 3}, n)
			})
		}
	})
}

// A partition that lost a key says so and names it wherever an answer would lack something,
// and numbers nothing anew over what is left. Reindex brings back what can be derived.
func TestALostKeyIsNamed(t *testing.T) {
	rebuilt := []string{"meta", "chg", "tip", "pend", "born", "has"}
	goesOn := []string{"rec", "vec", "del", "his", "idem", "idemt", "s:s:blobs"}
	missed := map[string]string{ // a call that must not answer
		"meta": "changes", "rec": "get", "vec": "changes", "chg": "changes", "del": "changes", "his": "history", "idem": "apply", "idemt": "changes", "tip": "changes",
		"pend": "pending", "born": "list", "has": "list", "s:s:st": "session", "s:s:blobs": "get blob",
	}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		for key, call := range missed {
			t.Run(key, func(t *testing.T) {
				c, p, ctx := open(t), user(backends.NewID()), t.Context()
				s := newStore(t, c, nil)
				fill(t, s, p)
				before := contents(t, s, p)
				reads := func() (map[string]any, map[string]error) {
					out, errs := map[string]any{}, map[string]error{}
					out["get"], errs["get"] = s.Get(ctx, p, "a", "b")
					out["changes"], errs["changes"] = s.Changes(ctx, p, "")
					out["history"], errs["history"] = s.History(ctx, p, "a")
					out["deleted"], errs["deleted"] = s.Deleted(ctx, p, store.Page{})
					out["session"], errs["session"] = s.Session(ctx, p, "s")
					out["read"], errs["read"] = s.Read(ctx, p, "s", store.Range{})
					out["list"], errs["list"] = s.List(ctx, store.SessionQuery{Partition: &p})
					out["pending"], errs["pending"] = s.List(ctx, store.SessionQuery{Partition: &p, Pending: true})
					out["blobs"], errs["blobs"] = s.BlobSessions(ctx, p, store.Page{})
					out["get blob"], errs["get blob"] = s.GetBlob(ctx, p, "s", "blob")
					if key == "s:s:blobs" && errors.Is(errs["get blob"], backends.ErrNotFound) {
						delete(errs, "get blob") // after Reindex
					}
					return out, errs
				}
				want, _ := reads()
				require.NoError(t, c.Del(ctx, keyOf(p, key)).Err())
				left := keysOf(t, c, p)
				got, errs := reads()
				for name, err := range errs {
					if err == nil {
						require.Equal(t, want[name], got[name], name)
					}
				}
				_, errs["append"] = s.Append(ctx, p, "s", messages("m1"))
				again, err := s.Apply(ctx, p, &store.Batch{Key: "one", Mutations: []store.Mutation{put("b", "again")}})
				if errs["apply"] = err; err == nil {
					require.True(t, again.Replayed)
				}
				for name, err := range errs {
					if err != nil {
						require.ErrorIs(t, err, backends.ErrUnavailable, name)
						require.ErrorContains(t, err, "incomplete: the server lost "+keyOf(p, key)+" ", name)
					}
				}
				require.Error(t, errs[call])
				require.Subset(t, left, keysOf(t, c, p), "nothing begins anew")

				found, err := s.Check(ctx, p)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(found), keyOf(p, key))
				_, err = s.Reindex(ctx, p)
				require.NoError(t, err)
				_, errs = reads()
				switch {
				case slices.Contains(rebuilt, key):
					require.Equal(t, before, contents(t, s, p))
					fallthrough
				case slices.Contains(goesOn, key):
					for name, err := range errs {
						require.NoError(t, err, name)
					}
				default:
					require.ErrorContains(t, errs["read"], "delete the session")
					require.NoError(t, s.Delete(ctx, p, "s"))
				}
				begin(t, s, p)
				after, err := s.Append(ctx, p, "s", messages("m1", "next"))
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(after.LastSeq), c.HGet(ctx, keyOf(p, "s:s:st"), "i:next").Val())
			})
		}
	})
}

// What the builds before forgetting wrote, whose T:meta does not have its keys and since when
// it is in the lists, and which kept another list of sessions, is read and written as it is.
func TestDataOfEarlierBuilds(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, p, ctx := open(t), user(backends.NewID()), t.Context()
		old := newStore(t, c, nil)
		fill(t, old, p)
		want, history := contents(t, old, p), follow(t, old, p, &reader{})
		damage(t, c, p, "DEL em:store", "HDEL T:meta records sessions listed waiting", "HSET T:meta work 1 moved 9",
			"ZADD T:sess 1 ttl 2 s", "ZADD T:pend 8 s")
		s := newStore(t, c, nil)
		require.Equal(t, want, contents(t, s, p))
		require.Equal(t, history.records, follow(t, s, p, history).records, "a cursor of before goes on")
		health, err := working.ReadHealth(ctx, s)
		require.NoError(t, err)
		require.Equal(t, 2, health.Sessions)
		partitions, err := s.Partitions(ctx, p.Namespace, store.Page{})
		require.NoError(t, err)
		require.Contains(t, partitions.Partitions, p)
		for what, err := range everything(ctx, s, p) {
			if what != "get" { // there is no such memory
				require.NoError(t, err, what)
			}
		}
		found, err := s.Check(ctx, p)
		require.NoError(t, err)
		require.Empty(t, found)
		require.NoError(t, s.Delete(ctx, p, "s"))
		_, err = s.Drop(ctx, p)
		require.NoError(t, err)
		require.Equal(t, []string{keyOf(p, "lives")}, keysOf(t, c, p))
		require.Error(t, c.ZScore(ctx, "em:work", redisstore.MemberOf(p)).Err())
	})
}

// Without the list of its sessions a partition is not dropped: their logs would stay.
func TestADropThatWouldMissSessionsIsRefused(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, p, ctx := open(t), user(backends.NewID()), t.Context()
		s := newStore(t, c, nil)
		fill(t, s, p)
		damage(t, c, p, "DEL T:born")
		before := keysOf(t, c, p)
		_, err := s.Drop(ctx, p)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "incomplete: the server lost "+keyOf(p, "born"))
		require.ElementsMatch(t, before, keysOf(t, c, p))
		_, err = s.Reindex(ctx, p)
		require.NoError(t, err)
		_, err = s.Drop(ctx, p)
		require.NoError(t, err)
		require.Equal(t, []string{keyOf(p, "lives")}, keysOf(t, c, p))
	})
}

// Whatever is done to the derived keys, one Reindex rebuilds them.
func TestAnyDamageToDerivedKeysIsRebuilt(t *testing.T) {
	c := testredis.Need(t).Start(t).Client(t)
	s, n := newStore(t, c, nil), 0
	checkServer(t, func(rt *rapid.T) {
		n++
		p := user(fmt.Sprint("damaged", n))
		fill(t, s, p)
		before := contents(t, s, p)
		for range rapid.IntRange(1, 6).Draw(rt, "damages") {
			key := rapid.SampledFrom([]string{"chg", "del", "pend", "born"}).Draw(rt, "key")
			member := rapid.SampledFrom([]string{"a", "b", "c", "gone", "s", "ttl", "''", "no_session", "zzz"}).Draw(rt, "member")
			command := rapid.SampledFrom([]string{
				"ZREM T:" + key + " " + member, fmt.Sprint("ZADD T:", key, " ", rapid.IntRange(0, 20).Draw(rt, "score"), " ", member), "DEL T:" + key,
				"HDEL T:meta " + rapid.SampledFrom([]string{"inc", "ver", "born", "listed", "waiting"}).Draw(rt, "field"), "DEL em:partitions:n", "DEL T:tip",
			}).Draw(rt, "command")
			damage(t, c, p, command)
		}
		_, err := s.Reindex(t.Context(), p)
		require.NoError(rt, err)
		found, err := s.Check(t.Context(), p)
		require.NoError(rt, err)
		require.Empty(rt, found)
		require.Equal(rt, before, contents(t, s, p))
		begin(t, s, p)
	})
}

// Check finds nothing wrong in a partition that others write to, and Reindex disturbs
// no writer, loses nothing, and leaves no reader behind.
func TestCheckAndReindexAmongWriters(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, p := open(t), user("busy")
		s := newStore(t, c, nil)
		fill(t, s, p)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all errgroup.Group
		for w := range 4 {
			all.Go(func() error {
				for i := 0; ctx.Err() == nil; i++ {
					id, session := fmt.Sprint("w", w, "-", i%20), fmt.Sprint("s", w, "-", i%3)
					_, applied := s.Apply(ctx, p, &store.Batch{Key: fmt.Sprint(w, "/", i), Mutations: []store.Mutation{put(id, id), store.Delete(fmt.Sprint("w", w, "-", (i+7)%20))}})
					_, appended := s.Append(ctx, p, session, &store.Append{Entries: messages(fmt.Sprint(i)).Entries, TTL: time.Duration(i%2) * time.Hour, Learnt: i%3 == 0})
					_, updated := s.Update(ctx, p, &store.SessionUpdate{Session: session, Watermark: pointer(int64(i % 5))})
					put := s.PutBlob(ctx, p, session, "blob", []byte(id))
					var deleted error
					if i%5 == 0 {
						deleted = s.Delete(ctx, p, session)
					}
					if err := errors.Join(applied, appended, updated, put, deleted); err != nil && ctx.Err() == nil {
						return err
					}
				}
				return nil
			})
		}
		follower := &reader{}
		for round := range testkit.Several(6, 40) {
			found, err := s.Check(ctx, p)
			require.NoError(t, err)
			require.Empty(t, found)
			follow(t, s, p, follower)
			if round%2 == 0 {
				damage(t, c, p, "ZADD T:chg 1 c", "ZADD T:born 0 no_session", "HDEL T:meta waiting") // writers go on
				repaired, err := s.Reindex(ctx, p)
				require.NoError(t, err)
				require.NotEmpty(t, repaired)
			}
		}
		cancel()
		require.NoError(t, all.Wait())
		found, err := s.Check(t.Context(), p)
		require.NoError(t, err)
		require.Empty(t, found)
		require.Equal(t, follow(t, s, p, &reader{}).records, follow(t, s, p, follower).records)
	})
}

// A connection that breaks at any step makes Reindex an error or is retried; the next
// one does the rest. Many records are rebuilt page by page.
func TestReindexOverABadConnection(t *testing.T) {
	server := testredis.Need(t).Start(t)
	for n := range testkit.Several(20, 60) {
		c, p := server.Client(t), user(fmt.Sprint("p", n))
		s := newStore(t, c, nil)
		fill(t, s, p)
		for i := range testkit.Several(1, 3) {
			var many []store.Mutation
			for j := range 500 {
				many = append(many, put(fmt.Sprint(i, "-", j), "x"))
			}
			_, err := s.Apply(t.Context(), p, batch(many...))
			require.NoError(t, err)
		}
		before := contents(t, s, p)
		damage(t, c, p, "DEL T:chg", "DEL T:tip", "ZREM T:born s", "HDEL T:meta born")
		answers := 0
		c.AddHook(testredis.Hook(func(_ []redis.Cmder, send func() error) error {
			err := send()
			if answers++; answers == n {
				return io.EOF
			}
			return err
		}))
		_, err := s.Reindex(t.Context(), p)
		require.NoError(t, err, "it is retried")
		requireSound := func() {
			found, err := s.Check(t.Context(), p)
			require.NoError(t, err)
			require.Empty(t, found)
		}
		requireSound()
		require.Equal(t, before, contents(t, s, p))
	}
}

func TestCheckAndReindexOfWhatIsNotThere(t *testing.T) {
	c := clientOf(t, miniredis.RunT(t).Addr())
	s, none := newStore(t, c, nil), user("none")
	damage(t, c, none, "ZADD em:partitions:n 0 user:none", "ZADD em:work 0 n:user:none")
	for _, call := range []func(context.Context, backends.Partition) ([]string, error){s.Check, s.Reindex} {
		found, err := call(t.Context(), none)
		require.NoError(t, err)
		require.Empty(t, found)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = call(ctx, none)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, []string{"em:store"}, c.Keys(t.Context(), "*").Val(), "entries of nothing are removed")
}

// A partition is dropped: no key of the server, and no entry of a list, has its name any
// more, whatever the name is; the count is that of what was stored; other partitions,
// with names like it, are as before.
func TestDropLeavesNoTrace(t *testing.T) {
	names := []string{"a", "a:b", "{a}", "}{", "a b", "%61", "%3A", "?", "[a-z]", `\`, `"'`, "é", "🎈", "..", "s:s:st", ":meta", "user:ann", "ann:user", "Ann", "ann}"}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		prefix := "t" + strings.ReplaceAll(backends.NewID(), "-", "")
		c := open(t)
		s := newStore(t, c, &redisstore.Config{Prefix: prefix})
		traces := func(p backends.Partition) (out []string) {
			_, _, registry := s.KeysOf(p, "")
			member := redisstore.MemberOf(p)
			for _, list := range registry {
				for _, entry := range c.ZRange(t.Context(), list, 0, -1).Val() {
					if entry == member || "n:"+entry == member {
						out = append(out, list+" "+entry)
					}
				}
			}
			partition, session, _ := s.KeysOf(p, p.ID)
			for _, key := range append(partition, session...) {
				if c.Exists(t.Context(), key).Val() > 0 {
					out = append(out, key)
				}
			}
			return out
		}
		for i, name := range names {
			fill(t, s, user(name))
			erased := user(fmt.Sprintf("%s-%d-erased", name, i))
			fill(t, s, erased)
			require.NoError(t, s.PutBlob(t.Context(), erased, erased.ID, name, []byte("x")))
			require.Greater(t, len(traces(erased)), 10)
			n, err := s.Drop(t.Context(), erased)
			require.NoError(t, err)
			require.Equal(t, store.DropCount{Records: 4, Sessions: 3, Messages: 5, Blobs: 4}, n, name)
			require.Empty(t, traces(erased), name)
			n, err = s.Drop(t.Context(), erased)
			require.NoError(t, err)
			require.Zero(t, n)
		}
		for _, name := range names {
			found, err := s.Check(t.Context(), user(name))
			require.NoError(t, err)
			require.Empty(t, found)
			n, err := s.Drop(t.Context(), user(name))
			require.NoError(t, err)
			require.Equal(t, store.DropCount{Records: 4, Sessions: 3, Messages: 5, Blobs: 3}, n, name)
			require.Empty(t, traces(user(name)))
		}
	})
}
