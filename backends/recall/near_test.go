// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// shelf is a store with 60 memories in ann's partition, and a ranker that leaves
// their vectors there and asks for few neighbours.
func shelf(t *testing.T, change func(*recall.Config)) (*nearRecords, *recall.Ranker) {
	f := newNearRecords()
	r := large(t, f, 1, change)
	r.AskFewer()
	stock(t, f, r, ann, 0, 60)
	return f, r
}

// loaded returns what a ranker that loads the vectors finds.
func loaded(t *testing.T, f store.Records, q *backends.SearchRequest) []string {
	return ids(find(t, large(t, f, -1, nil), ann, q))
}

// A store that cannot find neighbours is asked no more for a time: the partition is
// loaded. One that says so for sure is asked once, one that may only have been cut
// off a second time after it answered something else.
func TestStoreThatCannotFindNeighbours(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		asked int
	}{{"unavailable", backends.ErrUnavailable, 2}, {"unsupported", errors.ErrUnsupported, 1},
		{"both", fmt.Errorf("%w: %w", backends.ErrUnavailable, errors.ErrUnsupported), 1}} {
		t.Run(c.name, func(t *testing.T) {
			var now time.Time
			f, r := shelf(t, func(x *recall.Config) { x.Clock = func() time.Time { return now } })
			refusal := fmt.Errorf("no vector sets: %w", c.err)
			f.answer = func(*store.NearestQuery, *store.Neighbours) (*store.Neighbours, error) { return nil, refusal }
			want := loaded(t, f, tea)
			for range 3 {
				require.Equal(t, want, ids(find(t, r, ann, tea)))
			}
			require.Len(t, f.queries, c.asked)
			s := r.Stats()
			require.Equal(t, []int64{2, 0, 0}, []int64{s.Loads, int64(s.Large), s.Near})

			now = now.Add(recall.NearRetry - 1)
			require.Equal(t, want, ids(find(t, r, ann, tea)))
			require.Len(t, f.queries, c.asked)
			f.answer = nil
			now = now.Add(1)
			settle(t, r, 1)
			require.Equal(t, want, ids(find(t, r, ann, tea)))
			require.Positive(t, r.Stats().Near)
		})
	}
}

// A refusal is forgotten with the partition.
func TestRefusalIsForgottenOnEviction(t *testing.T) {
	f, r := shelf(t, func(c *recall.Config) { c.MaxBytes = 1 })
	f.answer = func(*store.NearestQuery, *store.Neighbours) (*store.Neighbours, error) {
		return nil, errors.ErrUnsupported
	}
	find(t, r, ann, tea)
	find(t, r, ann, tea)
	require.Len(t, f.queries, 1)
	find(t, r, user("bob"), tea) // ann leaves
	find(t, r, ann, tea)
	require.Len(t, f.queries, 2)
}

// A connection that fails for a moment does not make a process load what is too
// large for it: the words still answer, and the response says so.
func TestStoreThatFailsWhileItLooks(t *testing.T) {
	down := fmt.Errorf("connection refused: %w", backends.ErrUnavailable)
	odd := errors.New("out of memory")
	for _, c := range []struct {
		name string
		hold func(ctx context.Context, call string) error
		want error
	}{
		{"everything but the outline", func(_ context.Context, call string) error {
			if call != "Outline" {
				return down
			}
			return nil
		}, backends.ErrUnavailable},
		{"Nearest", func(_ context.Context, call string) error {
			if call == "Nearest" {
				return odd
			}
			return nil
		}, odd},
		{"Vectors", func(_ context.Context, call string) error {
			if call == "Vectors" {
				return down
			}
			return nil
		}, backends.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, r := shelf(t, nil)
			find(t, r, ann, tea)
			f.hold = c.hold
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea number 7", TopK: 1})
			require.NoError(t, err)
			require.ErrorIs(t, resp.Degraded, c.want)
			require.Equal(t, []string{"7"}, ids(resp.Hits))
			require.Zero(t, resp.Hits[0].Parts.Vector)
			require.Equal(t, 1, r.Stats().Large)
			f.hold = nil
			require.Positive(t, find(t, r, ann, tea)[0].Parts.Vector, "and it is well again")
		})
	}
	f, r := shelf(t, nil)
	f.hold = func(context.Context, string) error { return down }
	_, err := r.Search(t.Context(), ann, tea)
	require.ErrorIs(t, err, backends.ErrUnavailable, "without an index there is nothing to answer from")
}

// The answers of a store that breaks its contract never bring up what may not be
// returned, and never end in a panic or a loop.
func TestStoreThatLies(t *testing.T) {
	hide := func(n int) *backends.Filter { f := backends.Nin("n", float64(n)); return &f }
	for name, lie := range map[string]func(q *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error){
		"unknown ids": func(_ *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error) {
			for i := range n.IDs {
				n.IDs[i] = "nobody " + n.IDs[i]
			}
			return n, nil
		},
		"hidden ids": func(q *store.NearestQuery, _ *store.Neighbours) (*store.Neighbours, error) {
			return &store.Neighbours{IDs: []string{"superseded", "expired", "filtered"}[:min(3, q.Limit)], Exact: q.Exact}, nil
		},
		"one id always": func(q *store.NearestQuery, _ *store.Neighbours) (*store.Neighbours, error) {
			return &store.Neighbours{IDs: slices.Repeat([]string{"5"}, q.Limit)}, nil
		},
		"more than asked for": func(_ *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error) {
			for i := range 60 {
				n.IDs = append(n.IDs, fmt.Sprint(i))
			}
			return n, nil
		},
		"nothing": func(*store.NearestQuery, *store.Neighbours) (*store.Neighbours, error) {
			return &store.Neighbours{}, nil
		},
		"nothing, exactly": func(*store.NearestQuery, *store.Neighbours) (*store.Neighbours, error) {
			return &store.Neighbours{Exact: true}, nil
		},
		"the wrong order": func(_ *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error) {
			slices.Reverse(n.IDs)
			return n, nil
		},
		"cosines that are none": func(_ *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error) {
			n.Cosines = []float64{math.NaN(), math.Inf(1)}
			return n, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, r := shelf(t, func(c *recall.Config) { c.Clock = func() time.Time { return time.Unix(2e9, 0) } })
			putEmbedded(t, f, r, ann,
				backends.Memory{ID: "superseded", Text: "tea", SupersededBy: "1"},
				backends.Memory{ID: "expired", Text: "tea", Expires: time.Unix(1, 0)},
				backends.Memory{ID: "filtered", Text: "tea", Metadata: map[string]any{"n": float64(1)}})
			f.answer = lie
			hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 10, Filter: hide(1)})
			require.Len(t, hits, 10)
			for _, h := range hits {
				require.NotContains(t, []string{"superseded", "expired", "filtered"}, h.ID)
				require.Positive(t, h.Score)
			}
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids(hits)))), 10, "each once")
		})
	}
}

// A store that answers with another number of vectors than was asked for.
func TestVectorsThatAreMissing(t *testing.T) {
	f, r := shelf(t, nil)
	f.vectors = func(_ []string, found [][]byte) ([][]byte, error) { return found[1:], nil }
	resp, err := r.Search(t.Context(), ann, tea)
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, backends.ErrUnavailable)
	require.Len(t, resp.Hits, 3)
}

// What a filter leaves is found, however far it is from the query and however
// little it is; the store is asked for more as often as it takes.
func TestFiltersAreNotRelaxed(t *testing.T) {
	for name, c := range map[string]recall.Config{
		"weighted sum": {}, "reciprocal rank": {Fusion: recall.ReciprocalRank}, "mem0": {Scoring: recall.Mem0Compatible},
	} {
		t.Run(name, func(t *testing.T) {
			two := newBoth(t, c, dice{6})
			defer two.close(t)
			fillTopics(t, two, 1800)
			for _, hidden := range []int{100, 900, 1750} {
				q := &backends.SearchRequest{Query: about(rand6(), 3, 4), TopK: 5, Threshold: -1}
				q.Filter = two.farther(t, q.Query, hidden)
				require.Len(t, two.search(t, q), 5)
			}
			s := two.remote.Stats()
			if c.Fusion == recall.WeightedSum && c.Scoring == recall.Absolute {
				require.Greater(t, len(two.records.queries), int(s.Near), "more were asked for")
			}
			require.Positive(t, s.Near)
			require.Positive(t, s.Direct)
		})
	}
}

// An index that loses its way is asked to compare with every vector.
func TestShortAnswersAreAskedForExactly(t *testing.T) {
	f, r := shelf(t, nil)
	f.drop = func(id string) bool { return id > "2" }
	require.Equal(t, loaded(t, f, tea), ids(find(t, r, ann, tea)))
	require.Len(t, f.queries, 1, "as many as were asked for")
	f.queries, f.drop = nil, func(id string) bool { return id != "8" }
	q := &backends.SearchRequest{Query: "tea number 7", TopK: 3}
	require.Equal(t, loaded(t, f, q), ids(find(t, r, ann, q)))
	require.Equal(t, []bool{false, true}, []bool{f.queries[0].Exact, f.queries[1].Exact})
}

// What the store shows to have no vector is not asked for one.
func TestMemoriesWithoutVectorsInALargePartition(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 1, nil)
	r.AskFewer()
	stock(t, f, r, ann, 0, 20)
	var plain []store.Mutation
	for i := range 300 {
		plain = append(plain, fact(fmt.Sprint("plain", i), "skiing"))
	}
	apply(t, f, ann, plain...)
	q := &backends.SearchRequest{Query: "unheard", TopK: 19}
	require.Equal(t, loaded(t, f, q), ids(find(t, r, ann, q)))
	require.True(t, f.queries[1].Exact)
	require.LessOrEqual(t, len(f.read), 20)
}

// Searches ask for a part of the vectors, and for none of another partition.
func TestAsksForItsOwnAlone(t *testing.T) {
	f, r := shelf(t, nil)
	stock(t, f, r, user("bob"), 0, 60)
	clear(f.asked)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: text(7), TopK: 3}), 3)
	require.Equal(t, map[backends.Partition]bool{ann: true}, f.asked)
	require.Equal(t, int64(1), r.Stats().Near)
	require.Less(t, len(f.read), 40)
	require.Equal(t, int64(len(f.read)), r.Stats().Vectors)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(f.read))), len(f.read), "each once")
	require.Equal(t, 1, f.reads, "in one call")
}
