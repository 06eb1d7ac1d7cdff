// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	ann   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	bob   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "bob"}
	shop  = backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "shop"}
)

func fixed() time.Time { return start }

// world is a keeper on a store, and its ranker.
type world struct {
	*keeper.Keeper
	t      require.TestingT
	ranker *recall.Ranker
}

// open returns a keeper on a store of its own, unless a change gives it another.
func open(t testing.TB, change ...func(*keeper.Config, *recall.Config)) *world {
	t.Helper()
	c, rc := &keeper.Config{Name: "test", Clock: fixed}, &recall.Config{Clock: fixed, Keys: keeper.Keys}
	for _, f := range change {
		f(c, rc)
	}
	if c.Store == nil {
		c.Store = testkit.SQLite(t, func(s *sqlitestore.Config) { s.Clock = fixed })
	}
	rc.Records = c.Store
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	c.Ranker = ranker
	k, err := keeper.New(c)
	require.NoError(t, err)
	return &world{Keeper: k, t: t, ranker: ranker}
}

func on(st store.Store) func(*keeper.Config, *recall.Config) {
	return func(c *keeper.Config, _ *recall.Config) { c.Store = st }
}

func embedded(e *testkit.Embedder) func(*keeper.Config, *recall.Config) {
	return func(_ *keeper.Config, rc *recall.Config) { rc.Embedder, rc.EmbeddingModel = e, "hash" }
}

// fact returns a record that says text.
func fact(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
}

// put stores records, each after the one before.
func (w *world) put(p backends.Partition, records ...*store.Record) {
	stamp := w.Stamps(len(records))
	b := &store.Batch{}
	for i, r := range records {
		r.Created = stamp.Add(time.Duration(i) * time.Microsecond)
		r.Updated = r.Created
		b.Mutations = append(b.Mutations, store.Put(r))
	}
	_, err := w.Commit(ctx, p, b, nil)
	require.NoError(w.t, err)
}

// texts lists what the partition holds now.
func (w *world) texts(p backends.Partition) []string {
	resp, err := w.List(ctx, p, &backends.ListRequest{Limit: 1000})
	require.NoError(w.t, err)
	var out []string
	for _, m := range resp.Memories {
		out = append(out, m.Text)
	}
	return out
}

func (w *world) get(p backends.Partition, id string) *backends.Memory {
	m, err := w.Get(ctx, p, id)
	require.NoError(w.t, err)
	return m
}

func (w *world) found(p backends.Partition, query string) *backends.SearchResponse {
	resp, err := w.Search(ctx, p, &backends.SearchRequest{Query: query})
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Degraded)
	return resp
}

func TestNewNeedsWhatIsRequired(t *testing.T) {
	w := open(t)
	for name, c := range map[string]*keeper.Config{
		"no config": nil,
		"no name":   {Store: w.Store(), Ranker: w.Ranker()},
		"no store":  {Name: "x", Ranker: w.Ranker()},
		"no ranker": {Name: "x", Store: w.Store()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keeper.New(c)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	k, err := keeper.New(&keeper.Config{Name: "x", Store: w.Store(), Ranker: w.Ranker()})
	require.NoError(t, err)
	require.Equal(t, "as it is", k.Redact("as it is"))
	require.False(t, k.Now().IsZero())
}

func TestErrorsBeginWithTheBackendsName(t *testing.T) {
	w := open(t, func(c *keeper.Config, _ *recall.Config) { c.Name = "50% notes" })
	_, err := w.Get(ctx, ann, "none")
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.EqualError(t, err, "50% notes: memory none of default/user/ann: not found")
}

func TestStampsGrowThoughTheClockStandsStill(t *testing.T) {
	now := start
	w := open(t, func(c *keeper.Config, _ *recall.Config) { c.Clock = func() time.Time { return now } })
	require.Equal(t, start, w.Stamps(3))
	require.Equal(t, start.Add(3*time.Microsecond), w.Stamps(0), "none counts as one")
	require.Equal(t, start.Add(4*time.Microsecond), w.Stamps(1))
	now = start.Add(-time.Hour)
	require.Equal(t, start.Add(5*time.Microsecond), w.Stamps(1), "the clock went back")
	now = start.Add(time.Hour)
	require.Equal(t, now, w.Stamps(1))
}

func TestStampsAreGivenOutOnce(t *testing.T) {
	w := open(t)
	const callers, calls = 4, 100
	out := make(chan time.Time, callers*calls)
	for range callers {
		go func() {
			for range calls {
				out <- w.Stamps(2)
			}
		}()
	}
	seen := map[time.Time]bool{}
	for range callers * calls {
		at := <-out
		require.False(t, seen[at] || seen[at.Add(time.Microsecond)])
		seen[at], seen[at.Add(time.Microsecond)] = true, true
	}
}

func TestMetadataIsRedactedAndCopied(t *testing.T) {
	w := open(t, func(c *keeper.Config, _ *recall.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	})
	given := map[string]any{"a": "hunter2", "n": 1.5, "i": 7, "deep": []any{map[string]any{"x hunter2": "hunter2"}}, "tags": []string{"hunter2"}, "of": map[string]string{"x": "hunter2"}}
	got := w.RedactJSON(given)
	require.Equal(t, map[string]any{"a": "***", "n": 1.5, "i": 7, "deep": []any{map[string]any{"x ***": "***"}}, "tags": []any{"***"}, "of": map[string]any{"x": "***"}}, got)
	broken := func() {}
	require.NotNil(t, w.RedactJSON(broken), "no store takes it, and says so")
	require.Nil(t, w.RedactJSON(nil))
	require.Equal(t, "hunter2", given["a"], "the caller's stay as they are")
	require.Equal(t, []string{"hunter2"}, given["tags"])

	w.put(ann, fact("1", "tea"))
	m, err := w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Metadata: given})
	require.NoError(t, err)
	require.Equal(t, "***", m.Metadata["a"])
}

func TestLookupFindsTheSameWords(t *testing.T) {
	w := open(t)
	r := fact("1", "Deploys need a tag.")
	r.Kind, r.WhenToUse = backends.KindTask, "a deploy fails"
	w.put(shop, r, fact("2", "Deploys need a tag."))
	found, err := w.Lookup(ctx, shop, keeper.TextKey(backends.KindTask, "A deploy fails!", "deploys need a TAG"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "1", found[0].ID)
	found, err = w.Lookup(ctx, ann, keeper.TextKey(backends.KindTask, "a deploy fails", "Deploys need a tag."))
	require.NoError(t, err)
	require.Empty(t, found, "a key is its partition's")
}

func TestHeldIsByID(t *testing.T) {
	w := open(t)
	w.put(ann, fact("1", "tea"), fact("2", "coffee"))
	held, err := w.Held(ctx, ann, "2", "3", "2")
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, "coffee", held["2"].Text)
	held, err = w.Held(ctx, ann)
	require.NoError(t, err)
	require.Empty(t, held)
}

func TestKeys(t *testing.T) {
	m := &backends.Memory{ID: "b", Kind: backends.KindFact, Text: "tea"}
	require.Equal(t, []string{keeper.TextKey(backends.KindFact, "", "tea")}, keeper.Keys(m))
	require.NotEqual(t, text.HashKey("a", "bc"), text.HashKey("ab", "c"))
	require.NotEqual(t, keeper.TextKey(backends.KindTask, "a", "b"), keeper.TextKey(backends.KindTask, "", "ab"))
	require.Equal(t, keeper.TextKey(backends.KindPersonal, "keywords", "b"), keeper.TextKey(backends.KindPersonal, "", "b"), "keywords are no part of what is said")
}

func TestContentIDFollowsFromWhatItIs(t *testing.T) {
	base := keeper.ContentID(ann, backends.KindFact, "a", "b")
	require.Equal(t, base, keeper.ContentID(ann, backends.KindFact, "a", "b"))
	require.Equal(t, "0c928549-93e6-8a00-9091-0fdb9b251e5b", base, "ids stay what they are from release to release")
	require.Equal(t, base, text.HashID(ann.String(), "fact", "a", "b"))
	seen := map[string]bool{}
	for _, id := range []string{
		base, keeper.ContentID(bob, backends.KindFact, "a", "b"), keeper.ContentID(ann, backends.KindTask, "a", "b"), keeper.ContentID(ann, backends.KindFact, "ab"),
		keeper.ContentID(ann, backends.KindFact, "a", "b", ""), keeper.ContentID(ann, backends.KindFact, "b", "a"), keeper.ContentID(ann, backends.KindFact),
	} {
		require.False(t, seen[id])
		require.Len(t, id, 36)
		require.Equal(t, byte('8'), id[14], "version 8")
		seen[id] = true
	}
}

func TestCommitEmbedsWhatLacksAVector(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	w.put(ann, fact("old", "She lives in Beijing."))
	before, err := w.Records(ctx, ann, "old")
	require.NoError(t, err)

	expired := fact("kept", "It was so.")
	expired.Vector, expired.Version = before[0].Vector, 1 // as read from the store
	usage := backends.Usage{EmbeddedTexts: 1}
	b := &store.Batch{Mutations: []store.Mutation{
		store.Put(fact("new", "She likes tea.")), store.Supersede("old", fact("next", "She lives in Shanghai.")),
		store.Put(expired), store.Increment("new", "freq", 1),
	}}
	applied, err := w.Commit(ctx, ann, b, &usage)
	require.NoError(t, err)
	require.Len(t, applied.Results, 4)
	require.Equal(t, 3, usage.EmbeddedTexts, "two, beside the one before")
	require.Equal(t, &store.Embedding{Model: "hash", Dim: 8}, b.Embedding)
	recs, err := w.Records(ctx, ann, "new", "next", "kept")
	require.NoError(t, err)
	for i := range recs {
		require.NotEmpty(t, recs[i].Vector, recs[i].ID)
	}
	require.Equal(t, before[0].Vector, recs[2].Vector, "what has a vector keeps it")
}

func TestCommitWithoutAnEmbedder(t *testing.T) {
	w := open(t)
	b := &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "tea"))}}
	_, err := w.Commit(ctx, ann, b, nil)
	require.NoError(t, err)
	require.Nil(t, b.Embedding)
	require.Equal(t, []string{"tea"}, w.texts(ann))
}

func TestACommitThatFailsStoresNothing(t *testing.T) {
	down := errors.New("no route to host")
	for _, tc := range []struct {
		name string
		with func(*testkit.Embedder)
		last store.Mutation
		want error
	}{
		{"the embedder is down", func(e *testkit.Embedder) { e.Err = down }, store.Put(fact("2", "coffee")), backends.ErrUnavailable},
		{"it exists", nil, store.Mutation{Op: store.OpPut, Record: fact("0", "coffee"), Expect: store.MustNotExist}, backends.ErrConflict},
		{"another version", nil, store.Mutation{Op: store.OpDelete, ID: "0", Expect: 99}, backends.ErrConflict},
		{"nothing to replace", nil, store.Supersede("gone", fact("2", "coffee")), backends.ErrConflict},
		{"no record", nil, store.Put(nil), backends.ErrInvalid},
		{"not UTF-8", nil, store.Put(fact("2", "\xff")), backends.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &testkit.Embedder{Dim: 8}
			w := open(t, embedded(e))
			w.put(ann, fact("0", "water"))
			before := w.get(ann, "0")
			if tc.with != nil {
				tc.with(e)
			}
			b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(fact("1", "tea")), store.Increment("0", "n", 1), tc.last}}
			_, err := w.Commit(ctx, ann, b, nil)
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, "test: ")
			require.Equal(t, []string{"water"}, w.texts(ann))
			require.Equal(t, before, w.get(ann, "0"))
			known, err := w.Replayed(ctx, ann, "k", nil)
			require.NoError(t, err)
			require.Nil(t, known, "the key is unused")
		})
	}
}

// With another embedder what is new is found by words, and what has a vector keeps it, until
// the partition is embedded anew.
func TestAnotherEmbedderStoresWithoutVectors(t *testing.T) {
	e := &testkit.Embedder{Dim: 8}
	w := open(t, embedded(e))
	w.put(ann, fact("0", "water"), fact("1", "milk"))
	e.Dim = 16
	changed := "black tea"
	kept, err := w.Records(ctx, ann, "0")
	require.NoError(t, err)
	_, err = w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Supersede("0", fact("2", "tea")), store.Put(&kept[0])}}, nil)
	require.NoError(t, err)
	_, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &changed})
	require.NoError(t, err)
	recs, err := w.Records(ctx, ann, "0", "1", "2")
	require.NoError(t, err)
	require.Equal(t, kept[0].Vector, recs[0].Vector)
	require.Empty(t, recs[1].Vector)
	require.Empty(t, recs[2].Vector)
	found, err := w.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, found.Degraded, backends.ErrDimension)
	require.Len(t, found.Hits, 2)
	n, err := w.Ranker().Reembed(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	found, err = w.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.Positive(t, found.Hits[0].Parts.Vector)
}

func TestABatchThatLostARaceIsNotEmbeddedAgain(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	var usage backends.Usage
	wait := store.Delete("0")
	wait.Expect = 1
	b := &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "tea")), wait}}
	_, err := w.Commit(ctx, ann, b, &usage)
	require.ErrorIs(t, err, backends.ErrConflict)
	b.Mutations = b.Mutations[:1]
	_, err = w.Commit(ctx, ann, b, &usage)
	require.NoError(t, err)
	require.Equal(t, 1, usage.EmbeddedTexts)
	require.Equal(t, "tea", w.found(ann, "tea").Hits[0].Text)
}

// A vector whose space nothing names would be found by nothing.
func TestARecordInAnotherBatchIsEmbeddedAgain(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	rec := fact("1", "tea")
	wait := store.Delete("0")
	wait.Expect = 1
	_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec), wait}}, nil)
	require.ErrorIs(t, err, backends.ErrConflict)
	_, err = w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec)}}, nil)
	require.NoError(t, err)
	require.InDelta(t, 1, w.found(ann, "tea").Hits[0].Parts.Vector, 1e-6)
}

func TestReplayedReturnsAnEarlierBatch(t *testing.T) {
	w := open(t)
	none, err := w.Replayed(ctx, ann, "", nil)
	require.NoError(t, err)
	require.Nil(t, none, "no key, no batch")
	b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(fact("1", "tea"))}}
	first, err := w.Commit(ctx, ann, b, nil)
	require.NoError(t, err)
	again, err := w.Replayed(ctx, ann, "k", nil)
	require.NoError(t, err)
	require.Equal(t, first.Results, again.Results)
	other, err := w.Replayed(ctx, bob, "k", nil)
	require.NoError(t, err)
	require.Nil(t, other, "a key is its partition's")

	spy := testkit.Spy(w.Store())
	spy.FailOn(fmt.Errorf("disk full: %w", backends.ErrUnavailable), "Apply")
	down := open(t, on(spy))
	_, err = down.Replayed(ctx, ann, "k", nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = down.Replayed(ctx, ann, "", nil)
	require.NoError(t, err, "the store is not asked for no key")
}

func TestRetryIsBounded(t *testing.T) {
	n := 0
	err := store.OnConflict(ctx, func() error { n++; return fmt.Errorf("lost: %w", backends.ErrConflict) })
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Equal(t, 16, n)
	n = 0
	require.ErrorIs(t, store.OnConflict(ctx, func() error { n++; return backends.ErrInvalid }), backends.ErrInvalid)
	require.Equal(t, 1, n, "only a lost race is worth another try")
	n = 0
	require.NoError(t, store.OnConflict(ctx, func() error {
		if n++; n < 3 {
			return backends.ErrConflict
		}
		return nil
	}))
	require.Equal(t, 3, n)
}
