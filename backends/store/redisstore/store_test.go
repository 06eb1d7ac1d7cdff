// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
)

// The contract, on every kind of server that this machine has.
func TestStore(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
			return newStore(t, open(t), &redisstore.Config{Clock: o.Clock})
		})
		t.Run("shared", func(t *testing.T) {
			storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
				return newStore(t, open(t), nil), newStore(t, open(t), nil)
			})
		})
	})
}

// Many writers append to one session, over several clients: each message is there once,
// and those of each writer are in the order in which it wrote them; also behind a proxy
// that breaks connections, when they repeat what was unavailable.
func TestManyWritersAppendToOneSession(t *testing.T) {
	const writers = 64
	write := func(t *testing.T, stores []*redisstore.Store, each int) error {
		var all errgroup.Group
		for writer := range writers {
			s := stores[writer%len(stores)]
			all.Go(func() error {
				for i := 0; i < each; {
					_, err := s.Append(t.Context(), ann, "log", messages(fmt.Sprintf("%d-%d", writer, i)))
					switch {
					case err == nil:
						i++
					case !errors.Is(err, backends.ErrUnavailable):
						return err
					}
				}
				return nil
			})
		}
		return all.Wait()
	}
	check := func(t *testing.T, s *redisstore.Store, each int) {
		session, err := s.Session(t.Context(), ann, "log")
		require.NoError(t, err)
		require.EqualValues(t, writers*each, session.LastSeq)
		require.Equal(t, session.LastSeq, session.Tokens)
		var next [writers]int
		for seq := int64(0); seq < session.LastSeq; {
			page, err := s.Read(t.Context(), ann, "log", store.Range{After: seq, Limit: 10_000})
			require.NoError(t, err)
			require.NotEmpty(t, page)
			for _, e := range page {
				seq++
				require.Equal(t, seq, e.Seq)
				var writer, i int
				_, err := fmt.Sscanf(e.ID, "%d-%d", &writer, &i)
				require.NoError(t, err)
				require.Equal(t, next[writer], i, "writer %d", writer)
				require.Equal(t, "text of "+e.ID, e.Content)
				next[writer]++
			}
		}
	}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		each := several(200, 1000)
		if strings.HasSuffix(t.Name(), "miniredis") || testing.Short() {
			each = 50
		}
		var stores []*redisstore.Store
		for range 8 {
			stores = append(stores, newStore(t, open(t), nil))
		}
		require.NoError(t, write(t, stores, each))
		check(t, stores[0], each)
	})
	t.Run("behind a proxy", func(t *testing.T) {
		s, each := newStorm(t), several(150, 1000)
		s.during(20*time.Millisecond, 50, func() error { return write(t, s.stores, each) })
		check(t, s.direct, each)
	})
}

// The same memories and the same queries give the same hits in the same order with the
// same scores, to the last bit, on SQLite and on every server, whether they are loaded
// cold or followed while they are written.
func TestRankingIsTheSameOnEveryServer(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)
	clock := func() time.Time { return noon }
	vocabulary := strings.Fields("tea coffee green climbs mountain Ann Bob cat cats dog Paris London likes works at the 2026 绿茶 喜欢 北京 张伟 喝 咖啡 的 住在 猫")
	phrase := func(rnd *rand.Rand, n int) string {
		words := make([]string, n)
		for i := range words {
			words[i] = vocabulary[rnd.IntN(len(vocabulary))]
		}
		return strings.Join(words, []string{" ", ""}[rnd.IntN(2)])
	}
	write := func(t *testing.T, s store.Records, r *recall.Ranker, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		id := func() string { return fmt.Sprint("m", rnd.IntN(80)) }
		for range 30 {
			b := &store.Batch{}
			var texts []string
			for range 1 + rnd.IntN(4) {
				m := backends.Memory{ID: id(), Kind: []backends.Kind{backends.KindFact, backends.KindProcedure}[rnd.IntN(2)],
					Text: phrase(rnd, 1+rnd.IntN(6)*rnd.IntN(2)), Observed: noon.Add(-time.Duration(rnd.IntN(5)) * 24 * time.Hour),
					Scope: backends.Scope{SessionID: fmt.Sprint("s", rnd.IntN(3))}, Metadata: map[string]any{"n": float64(rnd.IntN(10))}}
				if rnd.IntN(8) == 0 {
					m.Expires = noon.Add(time.Duration(rnd.IntN(3)-1) * time.Hour)
				}
				texts = append(texts, m.Text)
				b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
			}
			vectors, space, err := r.Embed(t.Context(), texts)
			require.NoError(t, err)
			b.Embedding = space
			for i := range texts {
				b.Mutations[i].Record.Vector = vectors[i]
			}
			_, err = s.Apply(t.Context(), ann, b)
			require.NoError(t, err)
			change := []store.Mutation{store.Delete(id()), store.Retract(id(), noon), store.Increment(id(), "n", 0.1), store.Supersede(id(), b.Mutations[0].Record)}
			_, _ = s.Apply(t.Context(), ann, batch(change[rnd.IntN(4)])) // a conflict on one store is one on all
		}
	}
	search := func(t *testing.T, r *recall.Ranker) (out []*backends.SearchResponse) {
		rnd := rand.New(rand.NewPCG(9, 9))
		filters := []*backends.Filter{nil, pointer(backends.Gt("n", 4)), pointer(backends.Eq("session_id", "s1")), pointer(backends.In("kind", "fact"))}
		for i := range 60 {
			got, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: phrase(rnd, 1+rnd.IntN(4)), TopK: 100,
				Filter: filters[i%len(filters)], IncludeSuperseded: i%3 == 1, IncludeExpired: i%5 == 1})
			require.NoError(t, err)
			require.NoError(t, got.Degraded)
			out = append(out, got)
		}
		return out
	}
	rankings := func(t *testing.T, s store.Records) map[string][]*backends.SearchResponse {
		ranker := func(cfg recall.Config) *recall.Ranker {
			cfg.Records, cfg.Clock = s, clock
			r, err := recall.New(t.Context(), &cfg)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			return r
		}
		embeds := recall.Config{Embedder: &testkit.Embedder{Dim: 24}, EmbeddingModel: "hash"}
		following := ranker(embeds)
		write(t, s, following, 5)
		search(t, following) // loads what there is
		write(t, s, following, 6)
		return map[string][]*backends.SearchResponse{"followed": search(t, following), "cold": search(t, ranker(embeds)), "words": search(t, ranker(recall.Config{}))}
	}

	db, err := sqlitestore.Open(t.Context(), ":memory:", &sqlitestore.Config{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	want := rankings(t, db)
	require.Equal(t, want["followed"], want["cold"])
	for name, answers := range want {
		hits := 0
		for _, a := range answers {
			hits += len(a.Hits)
		}
		require.Greater(t, hits, 100, name)
	}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		require.Equal(t, want, rankings(t, newStore(t, open(t), &redisstore.Config{Clock: clock})))
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
		for list, want := range map[string][]string{"sess": {"kept"}, "pend": {"kept"}, "born": {"kept", "blob"}} {
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

// Between the names and the sizes a blob may go.
func TestABlobThatGoesWhileItIsListedIsLeftOut(t *testing.T) {
	server := miniredis.RunT(t)
	client := clientOf(t, server.Addr())
	s := newStore(t, client, nil)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, s.PutBlob(t.Context(), ann, "s", name, []byte{}))
	}
	testredis.Hook(client, func(cmds []redis.Cmder) error {
		if cmds[0].Name() == "hstrlen" {
			server.HDel(keyOf(ann, "s:s:blobs"), "b")
		}
		return nil
	}, nil)
	page, err := s.ListBlobs(t.Context(), ann, "s", "", store.Page{})
	require.NoError(t, err)
	require.Equal(t, []store.BlobInfo{{Name: "a"}, {Name: "c"}}, page.Blobs)
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
	testredis.Hook(client, func(cmds []redis.Cmder) error {
		if replaced || cmds[0].Name() != "evalsha" {
			return nil
		}
		replaced = true
		require.NoError(t, other.Delete(t.Context(), ann, "s"))
		_, err := other.Append(t.Context(), ann, "s", messages("d"))
		return err
	}, nil)
	session, err := late.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Watermark: pointer(int64(3))})
	require.NoError(t, err)
	require.True(t, replaced)
	require.Equal(t, int64(1), session.LastSeq)
	require.Equal(t, int64(1), session.Watermark, "not beyond the log")
}

// What is not legal never reaches the server.
func TestInvalidCallsAreRefusedFirst(t *testing.T) {
	server := miniredis.RunT(t)
	s := newStore(t, clientOf(t, server.Addr()), nil)
	server.SetError("ERR it was asked")
	ctx, none := t.Context(), backends.Partition{}
	_, apply := s.Apply(ctx, ann, nil)
	_, added := s.Append(ctx, ann, "s", nil)
	_, update := s.Update(ctx, ann, nil)
	_, cursor := s.Changes(ctx, ann, "garbage")
	_, list := s.List(ctx, store.SessionQuery{Page: store.Page{Cursor: "garbage"}})
	_, listed := s.List(ctx, store.SessionQuery{Partition: &none})
	_, partitions := s.Partitions(ctx, "n", store.Page{Cursor: "%"})
	_, namespace := s.Partitions(ctx, "a\x00", store.Page{})
	_, got := s.GetBlob(ctx, ann, "s", "")
	_, prefix := s.ListBlobs(ctx, ann, "s", "\xff", store.Page{})
	_, after := s.ListBlobs(ctx, ann, "s", "a", store.Page{Cursor: "Yg"})
	_, checked := s.Check(ctx, none)
	_, reindexed := s.Reindex(ctx, none)
	for i, err := range []error{apply, added, update, cursor, list, listed, partitions, namespace, got, prefix, after, checked, reindexed,
		s.PutBlob(ctx, ann, " s", "b", nil), s.Delete(ctx, none, "s")} {
		require.Error(t, err, i)
		require.True(t, errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNoScope), "%d: %v", i, err)
	}
}
