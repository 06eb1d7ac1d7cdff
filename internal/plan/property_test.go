// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// deck draws batches and the records that they meet.
type deck struct{ *rapid.T }

func (d deck) pick(name string, of ...string) string { return rapid.SampledFrom(of).Draw(d.T, name) }
func (d deck) id() string                            { return d.pick("id", "a", "b", "c", "d") }

func (d deck) record(id string) *store.Record {
	r := record(id, d.pick("text", "", "x", "y"))
	if v := d.pick("vector", "", "v", "w"); v != "" {
		r.Vector = []byte(v)
	}
	r.Supersedes = d.pick("supersedes", "", "", "a")
	switch d.pick("metadata", "none", "int", "float", "text") {
	case "int":
		r.Metadata = map[string]any{"n": 3}
	case "float":
		r.Metadata = map[string]any{"n": 0.5, "k": "v"}
	case "text":
		r.Metadata = map[string]any{"n": "three"}
	}
	return r
}

func (d deck) shelf() *shelf {
	s := newShelf(d.T)
	s.blind = rapid.Bool().Draw(d.T, "blind")
	for _, id := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(d.T, "held") {
			r := d.record(id)
			r.Version, r.Created, r.Updated = int64(rapid.IntRange(1, 3).Draw(d.T, "version")), early, early
			if rapid.Bool().Draw(d.T, "hidden") {
				r.Invalidated = early
			}
			s.records[id] = stored(d.T, r)
		}
	}
	return s
}

func (d deck) mutation() store.Mutation {
	var m store.Mutation
	switch store.Op(d.pick("op", "put", "supersede", "retract", "delete", "increment")) {
	case store.OpPut:
		m = store.Put(d.record(d.id()))
	case store.OpSupersede:
		m = store.Supersede(d.id(), d.record(d.id()))
		if m.ID == m.Record.ID {
			m.Record.ID = "e"
		}
	case store.OpRetract:
		m = store.Retract(d.id(), rapid.SampledFrom([]time.Time{{}, early}).Draw(d.T, "at"))
	case store.OpDelete:
		m = store.Delete(d.id())
	case store.OpIncrement:
		m = store.Increment(d.id(), "n", 1.5)
	}
	m.Expect = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, -1, 1, 10}).Draw(d.T, "expect")
	m.Actor = d.pick("actor", "ann", "model")
	return m
}

func (d deck) batch() *store.Batch {
	b := &store.Batch{}
	for range rapid.IntRange(0, 8).Draw(d.T, "mutations") {
		b.Mutations = append(b.Mutations, d.mutation())
	}
	require.NoError(d.T, b.Validate())
	return b
}

// TestABatchIsItsMutationsOneByOne plans a batch, and each of its mutations on
// what the one before left in the store: both mean the same.
func TestABatchIsItsMutationsOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := deck{rt}
		whole := d.shelf()
		steps, b := whole.clone(), d.batch()
		steps.blind = rapid.Bool().Draw(rt, "steps are blind")
		got, err := plan.Batch(b, whole.input(10))
		want := plan.Plan{Results: []store.Result{}}
		for i, m := range b.Mutations {
			one, stepErr := plan.Batch(batchOf(m), steps.input(10))
			if stepErr != nil {
				sameFailure(rt, i, stepErr, err)
				return
			}
			steps.apply(one)
			want.Results, want.Events = append(want.Results, one.Results...), append(want.Events, one.Events...)
			want.Changed = want.Changed || one.Changed
		}
		require.NoError(rt, err)
		whole.apply(got)
		require.Equal(rt, steps.records, whole.records)
		require.Equal(rt, want.Results, got.Results)
		require.Equal(rt, want.Events, got.Events)
		require.Equal(rt, want.Changed, got.Changed)
	})
}

// sameFailure compares the error of one mutation with that of the batch in which
// it is the i-th.
func sameFailure(t rapid.TB, i int, one, whole error) {
	require.Error(t, whole)
	_, says, _ := strings.Cut(one.Error(), "mutation 0 ")
	require.Equal(t, "mutation "+string(rune('0'+i))+" "+says, whole.Error())
	require.ErrorIs(t, one, backends.ErrConflict)
	require.ErrorIs(t, whole, backends.ErrConflict)
}

// TestAPlanKeepsItsWord checks what holds of every plan, whatever the batch.
func TestAPlanKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := deck{rt}
		s, b := d.shelf(), d.batch()
		before := dump(rt, b, s.records)
		out, err := plan.Batch(b, s.input(10))
		touched := plan.Touched(b)
		for id, n := range s.reads {
			require.Equal(rt, 1, n, "reads of %s", id)
			require.Contains(rt, touched, id)
		}
		require.Equal(rt, before, dump(rt, b, s.records), "planning changes nothing")
		if err != nil {
			return
		}
		old, at := map[string]int64{}, map[string]bool{}
		for i, c := range out.Checks {
			require.Equal(rt, touched[i], c.ID)
			old[c.ID] = c.Version
		}
		require.Len(rt, out.Checks, len(touched))
		for _, w := range out.Writes {
			require.False(rt, at[w.ID], "%s is written twice", w.ID)
			at[w.ID] = true
			require.Equal(rt, old[w.ID], w.Old)
			require.True(rt, w.Record != nil || w.Old != 0)
			require.True(rt, w.Record == nil || w.Record.Version == 10)
		}
		for _, e := range out.Events {
			require.Equal(rt, int64(10), e.Version)
			require.Equal(rt, now, e.Time)
			require.NotEmpty(rt, e.Actor)
			require.Contains(rt, touched, e.MemoryID)
		}
		require.Len(rt, out.Results, len(b.Mutations))
		require.True(rt, out.Changed || len(out.Writes)+len(out.Events) == 0)
	})
}

func dump(t rapid.TB, all ...any) string {
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return string(text)
}
