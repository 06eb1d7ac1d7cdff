// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

func TestNothingToDo(t *testing.T) {
	s := newShelf(t, held("a", "1", 3))
	out := s.plan()
	require.Equal(t, &plan.Plan{Results: []store.Result{}, Version: 10}, out)
	require.Empty(t, s.reads)
}

func TestWhatIsReadIsCheckedWrittenOrNot(t *testing.T) {
	gone := held("gone", "x", 2)
	gone.Invalidated = early
	s := newShelf(t, held("a", "1", 3), held("b", "2", 4), gone)
	out := s.plan(store.Retract("gone", now), store.Delete("nobody"), store.Put(record("new", "n")), store.Supersede("b", record("a", "3")), store.Delete("new"))
	require.Equal(t, []plan.Check{{ID: "gone", Version: 2}, {ID: "nobody"}, {ID: "new"}, {ID: "b", Version: 4}, {ID: "a", Version: 3}}, out.Checks)
	require.Equal(t, map[string]int{"gone": 1, "nobody": 1, "new": 1, "a": 1, "b": 1}, s.reads)
	require.Equal(t, []store.Result{{ID: "gone"}, {ID: "nobody"}, {ID: "new", Event: backends.EventAdded},
		{ID: "a", Event: backends.EventSuperseded}, {ID: "new", Event: backends.EventDeleted}}, out.Results)
}

func TestWritesAreInTheOrderOfTheirFirstChanges(t *testing.T) {
	s := newShelf(t, held("a", "1", 3), held("b", "2", 4), held("c", "3", 5))
	out := s.plan(store.Retract("c", early), store.Supersede("a", record("new", "n")), store.Put(record("c", "3b")), store.Delete("b"))
	var order []string
	for _, w := range out.Writes {
		order = append(order, fmt.Sprint(w.ID, " ", w.Old, " ", w.Record != nil))
		if w.Record != nil {
			require.Equal(t, int64(10), w.Record.Version)
			require.Equal(t, now, w.Record.Updated)
		}
	}
	require.Equal(t, []string{"c 5 true", "new 0 true", "a 3 true", "b 4 false"}, order)
}

func TestOnlyWhatChangesSomethingRaisesTheVersion(t *testing.T) {
	small := &store.Embedding{Model: "small", Dim: 3}
	gone := held("gone", "x", 2)
	gone.SupersededBy = "by"
	for name, c := range map[string]struct {
		b    store.Batch
		want bool
	}{
		"nothing":           {store.Batch{}, false},
		"same embedding":    {store.Batch{Embedding: &store.Embedding{Model: "small", Dim: 3}}, false},
		"delete of nothing": {*batchOf(store.Delete("nobody")), false},
		"retract of hidden": {*batchOf(store.Retract("gone", now)), false},
		"re-embedding":      {store.Batch{Embedding: &store.Embedding{Model: "large", Dim: 3}, Reembed: true}, true},
		"put of the same":   {*batchOf(store.Put(held("a", "1", 3))), true},
		"increment by 0":    {*batchOf(store.Increment("a", "n", 0)), true},
		"put and delete":    {*batchOf(store.Put(record("n", "")), store.Delete("n")), true},
	} {
		in := newShelf(t, held("a", "1", 3), gone).input(10)
		in.Embedding = small
		out, err := plan.Batch(&c.b, in)
		require.NoError(t, err, name)
		require.Equal(t, c.want, out.Changed, name)
	}
}

func TestARecordCreatedAndDeletedIsNotWritten(t *testing.T) {
	out := newShelf(t).plan(store.Put(record("a", "1")), store.Delete("a"))
	require.Empty(t, out.Writes)
	require.Equal(t, []plan.Check{{ID: "a"}}, out.Checks)
	require.Len(t, out.Events, 2, "it is told all the same")

	out = newShelf(t).plan(store.Put(record("a", "1")), store.Delete("a"), store.Put(record("a", "2")))
	require.Len(t, out.Writes, 1)
	require.Equal(t, "2", out.Writes[0].Record.Text)
	require.Equal(t, now, out.Writes[0].Record.Created)
}

func TestEmbedding(t *testing.T) {
	small, large := store.Embedding{Model: "small", Dim: 3}, store.Embedding{Model: "small", Dim: 4}
	for name, c := range map[string]struct {
		have, given *store.Embedding
		reembed     bool
		want        *store.Embedding
		err         error
	}{
		"none":                        {nil, nil, false, nil, nil},
		"none given":                  {&small, nil, true, nil, nil},
		"the first":                   {nil, &small, false, &small, nil},
		"the same":                    {&small, &small, false, nil, nil},
		"the same again, re-embedded": {&small, &small, true, nil, nil},
		"another":                     {&small, &large, false, nil, backends.ErrDimension},
		"another, re-embedded":        {&small, &large, true, &large, nil},
	} {
		in := newShelf(t).input(1)
		in.Embedding = c.have
		b := &store.Batch{Embedding: c.given, Reembed: c.reembed}
		out, err := plan.Batch(b, in)
		if c.err != nil {
			require.ErrorIs(t, err, c.err, name)
			require.ErrorContains(t, err, "small with 3 dimensions", name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, out.Embedding, name)
		require.Equal(t, c.want != nil, out.Changed, name)
		if c.want != nil {
			require.NotSame(t, c.given, out.Embedding, name)
		}
	}
}

func TestSameVector(t *testing.T) {
	with := func(id, vector string) *store.Record {
		r := record(id, "new text")
		r.Vector = []byte(vector)
		return r
	}
	for name, c := range map[string]struct {
		ms          []store.Mutation
		sees, blind bool
	}{
		"retract":                {[]store.Mutation{store.Retract("a", now)}, true, true},
		"increment":              {[]store.Mutation{store.Increment("a", "n", 1)}, true, true},
		"put of the same":        {[]store.Mutation{store.Put(with("a", "v"))}, true, false},
		"put of the same, twice": {[]store.Mutation{store.Put(with("a", "v")), store.Increment("a", "n", 1), store.Put(with("a", "v"))}, true, false},
		"put of another":         {[]store.Mutation{store.Put(with("a", "w"))}, false, false},
		"put of none":            {[]store.Mutation{store.Put(with("a", ""))}, false, false},
		"another and back":       {[]store.Mutation{store.Put(with("a", "w")), store.Put(with("a", "v"))}, false, false},
		"deleted and back":       {[]store.Mutation{store.Delete("a"), store.Put(with("a", "v")), store.Increment("a", "n", 1)}, false, false},
		"new":                    {[]store.Mutation{store.Put(with("new", "v")), store.Increment("new", "n", 1)}, false, false},
		"new without a vector":   {[]store.Mutation{store.Put(with("new", "")), store.Put(with("new", ""))}, false, false},
	} {
		for _, blind := range []bool{false, true} {
			s := newShelf(t, held("a", "1", 3))
			s.records["a"].Vector, s.blind = []byte("v"), blind
			out := s.plan(c.ms...)
			require.Len(t, out.Writes, 1, name)
			want := c.sees
			if blind {
				want = c.blind
			}
			require.Equal(t, want, out.Writes[0].SameVector, "%s, blind %t", name, blind)
		}
	}
}

func TestTouched(t *testing.T) {
	require.Empty(t, plan.Touched(&store.Batch{Session: &store.SessionUpdate{}}))
	require.Equal(t, []string{"c", "a", "b", "d", "e", "f"}, plan.Touched(batchOf(
		store.Put(record("c", "")), store.Supersede("a", record("b", "")), store.Retract("d", time.Time{}), store.Delete("e"),
		store.Increment("f", "n", 1), store.Put(record("a", "")), store.Supersede("b", record("c", "")), store.Delete("f"))))
}

// TestLargeBatchesAreLinear compares what planning allocates, which grows with
// the square where each mutation copies what those before it left.
func TestLargeBatchesAreLinear(t *testing.T) {
	for name, mutation := range map[string]func(i int) store.Mutation{
		"puts":                   func(i int) store.Mutation { return store.Put(record(fmt.Sprint(i), "x")) },
		"deletes":                func(i int) store.Mutation { return store.Delete(fmt.Sprint("held", i)) },
		"successors of each one": func(i int) store.Mutation { return store.Supersede(fmt.Sprint("held", i), record(fmt.Sprint(i), "x")) },
	} {
		cost := func(n int) float64 {
			b := &store.Batch{}
			for i := range n {
				b.Mutations = append(b.Mutations, mutation(i))
			}
			in := &plan.Input{Next: 2, Record: func(id string) (*store.Record, error) {
				if id[0] != 'h' {
					return nil, nil
				}
				return held(id, "x", 1), nil
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := plan.Batch(b, in)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Len(t, out.Results, n)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		few, many := cost(store.MaxBatch/16), cost(store.MaxBatch)
		require.Less(t, many, 40*few, name)
	}
}

func TestTheOrderOfChecksIsThatOfTouched(t *testing.T) {
	s := newShelf(t, held("a", "1", 3), held("b", "2", 4))
	ms := []store.Mutation{store.Delete("x"), store.Supersede("b", record("c", "")), store.Put(record("a", "")), store.Delete("b")}
	var got []string
	for _, c := range s.plan(ms...).Checks {
		got = append(got, c.ID)
	}
	require.Equal(t, plan.Touched(batchOf(ms...)), got)
}
