// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

var (
	now   = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	early = now.Add(-24 * time.Hour)
)

// table is the plainest store: records in a map.
type table struct {
	rapid.TB
	records map[string]*store.Record
	blind   bool           // leaves out vectors when it is read for a plan
	reads   map[string]int // by id
}

func newTable(t rapid.TB, records ...*store.Record) *table {
	s := &table{TB: t, records: map[string]*store.Record{}, reads: map[string]int{}}
	for _, r := range records {
		s.records[r.ID] = r
	}
	return s
}

func (s *table) input(next int64) *plan.Input {
	return &plan.Input{Now: now, Next: next, Record: func(id string) (*store.Record, error) {
		s.reads[id]++
		r := s.records[id]
		if r != nil && s.blind {
			bare := *r
			bare.Vector = nil
			return &bare, nil
		}
		return r, nil
	}}
}

// plan plans mutations at version 10.
func (s *table) plan(ms ...store.Mutation) *plan.Plan {
	s.Helper()
	out, err := plan.Batch(batch(ms...), s.input(10))
	require.NoError(s, err)
	return out
}

// apply writes a plan as a store does, through JSON.
func (s *table) apply(p *plan.Plan) {
	s.Helper()
	for _, c := range p.Checks {
		r := s.records[c.ID]
		require.True(s, r == nil && c.Version == 0 || r != nil && r.Version == c.Version)
	}
	for _, w := range p.Writes {
		old := s.records[w.ID]
		require.Equal(s, old != nil, w.Old != 0)
		if w.Record == nil {
			require.NotNil(s, old, "what never was is not deleted")
			delete(s.records, w.ID)
			continue
		}
		r := stored(s, w.Record)
		if w.SameVector {
			r.Vector = old.Vector
		}
		s.records[w.ID] = r
	}
}

// stored returns r as a store returns it.
func stored(t rapid.TB, r *store.Record) *store.Record {
	out := &store.Record{Vector: append([]byte(nil), r.Vector...)}
	text, err := json.Marshal(&r.Memory)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out.Memory))
	return out
}

func batch(ms ...store.Mutation) *store.Batch { return &store.Batch{Mutations: ms} }

func record(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Text: text}}
}

// held is a record that a store has had since version v.
func held(id, text string, v int64) *store.Record {
	r := record(id, text)
	r.Version, r.Created, r.Updated, r.Vector = v, early, early, []byte("vector of "+text)
	return r
}

func expecting(m store.Mutation, version int64) store.Mutation {
	m.Expect = version
	return m
}

// byAnn returns a mutation with its author.
func byAnn(m store.Mutation) store.Mutation {
	m.Actor, m.Role = "ann", "user"
	return m
}

// event is one of byAnn's at version 10.
func event(id string, e backends.Event) backends.Event {
	e.MemoryID, e.Actor, e.Role, e.Time, e.Version = id, "ann", "user", now, 10
	return e
}

// A store keeps records in a map: it plans, compares, writes.
func Example() {
	records := map[string]*store.Record{
		"1": {Memory: backends.Memory{ID: "1", Text: "lives in Beijing", Version: 4}},
	}
	b := &store.Batch{Mutations: []store.Mutation{
		store.Supersede("1", &store.Record{Memory: backends.Memory{ID: "2", Text: "lives in Shanghai"}}),
		store.Increment("2", "said", 1),
	}}
	todo, err := plan.Batch(b, &plan.Input{
		Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Next: 8,
		Record: func(id string) (*store.Record, error) { return records[id], nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range todo.Checks {
		fmt.Printf("needs %s at version %d\n", c.ID, c.Version)
	}
	for _, w := range todo.Writes {
		records[w.ID] = w.Record
		fmt.Printf("writes %s at version %d: %s, active %t, %v\n", w.ID, w.Record.Version, w.Record.Text, w.Record.Active(), w.Record.Metadata)
	}
	for _, e := range todo.Events {
		fmt.Printf("adds to the history of %s: %s\n", e.MemoryID, e.Type)
	}
	// Output:
	// needs 1 at version 4
	// needs 2 at version 0
	// writes 2 at version 8: lives in Shanghai, active true, map[said:1]
	// writes 1 at version 8: lives in Beijing, active false, map[]
	// adds to the history of 2: added
	// adds to the history of 1: superseded
}

func TestNothingToDo(t *testing.T) {
	s := newTable(t, held("a", "1", 3))
	require.Equal(t, &plan.Plan{Results: []store.Result{}, Version: 10}, s.plan())
	require.Empty(t, s.reads)
}

func TestWritesAreInTheOrderOfTheirFirstChanges(t *testing.T) {
	s := newTable(t, held("a", "1", 3), held("b", "2", 4), held("c", "3", 5))
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
		b    *store.Batch
		want bool
	}{
		"nothing":           {batch(), false},
		"same embedding":    {&store.Batch{Embedding: &store.Embedding{Model: "small", Dim: 3}}, false},
		"delete of nothing": {batch(store.Delete("unknown")), false},
		"retract of hidden": {batch(store.Retract("gone", now)), false},
		"re-embedding":      {&store.Batch{Embedding: &store.Embedding{Model: "large", Dim: 3}, Reembed: true}, true},
		"put of the same":   {batch(store.Put(held("a", "1", 3))), true},
		"increment by 0":    {batch(store.Increment("a", "n", 0)), true},
		"put and delete":    {batch(store.Put(record("n", "")), store.Delete("n")), true},
		"restored history":  {batch(store.Restore("n", nil, []backends.Event{{MemoryID: "n"}})), true},
	} {
		in := newTable(t, held("a", "1", 3), gone).input(10)
		in.Embedding = small
		out, err := plan.Batch(c.b, in)
		require.NoError(t, err, name)
		require.Equal(t, c.want, out.Changed, name)
		require.Equal(t, int64(10), out.Version, name)
	}
}

func TestARecordCreatedAndDeletedIsNotWritten(t *testing.T) {
	out := newTable(t).plan(store.Put(record("a", "1")), store.Delete("a"))
	require.Empty(t, out.Writes)
	require.Equal(t, []plan.Check{{ID: "a"}}, out.Checks)
	require.Len(t, out.Events, 2, "it is in the history all the same")

	out = newTable(t).plan(store.Put(record("a", "1")), store.Delete("a"), store.Put(record("a", "2")))
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
		"none":                  {nil, nil, false, nil, nil},
		"none given":            {&small, nil, true, nil, nil},
		"the first":             {nil, &small, false, &small, nil},
		"the same":              {&small, &small, false, nil, nil},
		"the same, re-embedded": {&small, &small, true, nil, nil},
		"another":               {&small, &large, false, nil, backends.ErrDimension},
		"another, re-embedded":  {&small, &large, true, &large, nil},
	} {
		in := newTable(t).input(1)
		in.Embedding = c.have
		out, err := plan.Batch(&store.Batch{Embedding: c.given, Reembed: c.reembed}, in)
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
	with := func(id, vector string) store.Mutation {
		r := record(id, "new text")
		r.Vector = []byte(vector)
		return store.Put(r)
	}
	for name, c := range map[string]struct {
		ms          []store.Mutation
		sees, blind bool
	}{
		"retract":                {[]store.Mutation{store.Retract("a", now)}, true, true},
		"increment":              {[]store.Mutation{store.Increment("a", "n", 1)}, true, true},
		"put of the same":        {[]store.Mutation{with("a", "v")}, true, false},
		"put of the same, twice": {[]store.Mutation{with("a", "v"), store.Increment("a", "n", 1), with("a", "v")}, true, false},
		"put of another":         {[]store.Mutation{with("a", "w")}, false, false},
		"put of none":            {[]store.Mutation{with("a", "")}, false, false},
		"another and back":       {[]store.Mutation{with("a", "w"), with("a", "v")}, false, false},
		"deleted and back":       {[]store.Mutation{store.Delete("a"), with("a", "v"), store.Increment("a", "n", 1)}, false, false},
		"new":                    {[]store.Mutation{with("new", "v"), store.Increment("new", "n", 1)}, false, false},
		"new without a vector":   {[]store.Mutation{with("new", ""), with("new", "")}, false, false},
		"restored":               {[]store.Mutation{store.Restore("new", with("new", "v").Record, nil)}, false, false},
	} {
		for _, blind := range []bool{false, true} {
			s := newTable(t, held("a", "1", 3))
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
	require.Equal(t, []string{"c", "a", "b", "d", "e", "f", "g"}, plan.Touched(batch(
		store.Put(record("c", "")), store.Supersede("a", record("b", "")), store.Retract("d", time.Time{}), store.Delete("e"), store.Increment("f", "n", 1),
		store.Restore("g", record("g", ""), nil), store.Put(record("a", "")), store.Supersede("b", record("c", "")), store.Delete("f"))))
}

// TestLargeBatchesAreLinear compares what planning allocates, which grows with
// the square where each mutation copies what those before it left.
func TestLargeBatchesAreLinear(t *testing.T) {
	for name, mutation := range map[string]func(i int) store.Mutation{
		"puts":                   func(i int) store.Mutation { return store.Put(record(fmt.Sprint(i), "x")) },
		"deletes":                func(i int) store.Mutation { return store.Delete(fmt.Sprint("held", i)) },
		"increments of one":      func(int) store.Mutation { return store.Increment("held", "n", 1) },
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

func TestPutCreates(t *testing.T) {
	given := record("a", "1")
	given.Metadata, given.Vector = map[string]any{"k": "v"}, []byte{1}
	out := newTable(t).plan(byAnn(store.Put(given)))
	want := *given
	want.Version, want.Created, want.Updated = 10, now, now
	require.Equal(t, want, *out.Writes[0].Record)
	require.Zero(t, given.Version, "the batch's record is the caller's")
	require.Equal(t, []backends.Event{event("a", backends.Event{Type: backends.OutcomeAdded, New: "1"})}, out.Events)
}

func TestPutReplaces(t *testing.T) {
	before := held("a", "1", 3)
	before.Metadata, before.Supersedes = map[string]any{"k": "v"}, "z"
	out := newTable(t, before).plan(byAnn(store.Put(record("a", "2"))))
	want := *record("a", "2")
	want.Version, want.Created, want.Updated = 10, early, now
	require.Equal(t, want, *out.Writes[0].Record, "nothing but created is kept")
	require.Equal(t, []backends.Event{event("a", backends.Event{Type: backends.OutcomeUpdated, Old: "1", New: "2"})}, out.Events)
	require.Equal(t, []store.Result{{ID: "a", Event: backends.OutcomeUpdated}}, out.Results)

	given := record("a", "2")
	given.Created, given.Updated = early.Add(time.Hour), early.Add(2*time.Hour)
	for _, s := range []*table{newTable(t), newTable(t, before)} {
		got := s.plan(store.Put(given)).Writes[0].Record
		require.Equal(t, given.Created, got.Created)
		require.Equal(t, given.Updated, got.Updated)
	}
}

func TestEventsAreAboutTextsAndPredecessors(t *testing.T) {
	chained := func(id, text, supersedes string) *store.Record {
		r := record(id, text)
		r.Supersedes = supersedes
		return r
	}
	before := held("a", "1", 3)
	before.Supersedes = "z"
	for name, c := range map[string]struct {
		put  *store.Record
		want []backends.Event
	}{
		"nothing new":     {chained("a", "1", "z"), nil},
		"no predecessor":  {chained("a", "1", ""), nil},
		"new text":        {chained("a", "2", "z"), []backends.Event{{Type: backends.OutcomeUpdated, Old: "1", New: "2"}}},
		"new predecessor": {chained("a", "1", "y"), []backends.Event{{Type: backends.OutcomeUpdated, Old: "1", New: "1", Supersedes: "y"}}},
		"both":            {chained("a", "2", "y"), []backends.Event{{Type: backends.OutcomeUpdated, Old: "1", New: "2", Supersedes: "y"}}},
		"created, blank":  {chained("b", "", ""), []backends.Event{{Type: backends.OutcomeAdded}}},
		"created, chain":  {chained("b", "3", "y"), []backends.Event{{Type: backends.OutcomeAdded, New: "3", Supersedes: "y"}}},
	} {
		out := newTable(t, before).plan(byAnn(store.Put(c.put)))
		require.Len(t, out.Events, len(c.want), name)
		for i := range c.want {
			require.Equal(t, event(c.put.ID, c.want[i]), out.Events[i], name)
		}
		require.Len(t, out.Writes, 1, name)
	}
}

func TestSupersede(t *testing.T) {
	valid, observed := now.Add(-time.Hour), now.Add(-time.Minute)
	for name, c := range map[string]struct{ valid, observed, want time.Time }{
		"valid": {valid, observed, valid}, "observed": {time.Time{}, observed, observed}, "now": {time.Time{}, time.Time{}, now},
	} {
		old, by := held("old", "1", 3), record("new", "2")
		by.Valid, by.Observed = c.valid, c.observed
		out := newTable(t, old).plan(byAnn(store.Supersede("old", by)))
		hidden := *held("old", "1", 3)
		require.Equal(t, hidden, *old, "what was read stays as it was")
		hidden.SupersededBy, hidden.Invalidated, hidden.Version, hidden.Updated = "new", c.want, 10, now
		require.Equal(t, hidden, *out.Writes[1].Record, name)
		require.Equal(t, "old", out.Writes[0].Record.Supersedes)
		require.Empty(t, by.Supersedes)
		require.Equal(t, []store.Result{{ID: "new", Event: backends.OutcomeSuperseded}}, out.Results)
		require.Equal(t, []backends.Event{
			event("new", backends.Event{Type: backends.OutcomeAdded, New: "2", Supersedes: "old"}),
			event("old", backends.Event{Type: backends.OutcomeSuperseded, Old: "1", New: "2", By: "new"}),
		}, out.Events)
	}
}

func TestRetractAndDelete(t *testing.T) {
	old := held("a", "1", 3)
	out := newTable(t, old).plan(byAnn(store.Retract("a", early)), store.Retract("a", now))
	require.Equal(t, early, out.Writes[0].Record.Invalidated)
	require.True(t, old.Active())
	require.Equal(t, []store.Result{{ID: "a", Event: backends.OutcomeRetracted}, {ID: "a"}}, out.Results)
	require.Equal(t, []backends.Event{event("a", backends.Event{Type: backends.OutcomeRetracted, Old: "1"})}, out.Events)
	require.Equal(t, now, newTable(t, old).plan(store.Retract("a", time.Time{})).Writes[0].Record.Invalidated)

	out = newTable(t, old).plan(byAnn(store.Delete("a")), store.Delete("a"))
	require.Equal(t, []plan.Write{{ID: "a", Old: 3}}, out.Writes)
	require.Equal(t, []store.Result{{ID: "a", Event: backends.OutcomeDeleted}, {ID: "a"}}, out.Results)
	require.Equal(t, []backends.Event{event("a", backends.Event{Type: backends.OutcomeDeleted, Old: "1"})}, out.Events)
}

func TestIncrement(t *testing.T) {
	old := held("a", "1", 3)
	old.Metadata = map[string]any{"n": 2.0, "other": "x"}
	out := newTable(t, old, held("bare", "2", 4)).plan(store.Increment("a", "n", 1), store.Increment("a", "n", 0.5), store.Increment("bare", "m", -1))
	require.Equal(t, []store.Result{{ID: "a", Event: backends.OutcomeUpdated, Value: 3}, {ID: "a", Event: backends.OutcomeUpdated, Value: 3.5},
		{ID: "bare", Event: backends.OutcomeUpdated, Value: -1}}, out.Results)
	require.Equal(t, map[string]any{"n": 3.5, "other": "x"}, out.Writes[0].Record.Metadata)
	require.Equal(t, map[string]any{"m": -1.0}, out.Writes[1].Record.Metadata)
	require.Equal(t, map[string]any{"n": 2.0, "other": "x"}, old.Metadata, "what was read stays as it was")
	require.Empty(t, out.Events)
}

// What a batch puts and increments was not through JSON, where each of these
// becomes a number, or none.
func TestIncrementOfWhatTheBatchPut(t *testing.T) {
	type count int
	for _, value := range []any{5, int64(5), uint8(5), float32(5), 5.0, count(5), json.Number("5"), "5", true, nil, []int{5}, map[string]any{}, []byte{5}} {
		a, b := record("a", "1"), record("b", "")
		a.Metadata = map[string]any{"n": value}
		b.Metadata = a.Metadata // which several records may share
		ms := []store.Mutation{store.Put(a), store.Put(b), store.Increment("a", "n", 2), store.Increment("b", "n", 4)}
		if _, err := plan.Batch(batch(ms...), newTable(t).input(10)); err != nil {
			require.ErrorIs(t, err, backends.ErrConflict)
			require.Contains(t, []string{"string", "bool", "<nil>", "[]int", "map[string]interface {}", "[]uint8"}, fmt.Sprintf("%T", value))
			continue
		}
		out := newTable(t).plan(ms...)
		require.Equal(t, 7.0, out.Writes[0].Record.Metadata["n"], "%T", value)
		require.Equal(t, 9.0, out.Writes[1].Record.Metadata["n"], "%T", value)
		require.Equal(t, value, a.Metadata["n"], "the batch's metadata is the caller's")
	}
}

func TestRestore(t *testing.T) {
	given := record("a", "2")
	given.Version, given.Created, given.Updated, given.Supersedes = 7, early, early.Add(1), "z"
	events := []backends.Event{
		{MemoryID: "a", Type: backends.OutcomeAdded, New: "1", Time: early, Version: 3},
		{MemoryID: "a", Type: backends.OutcomeUpdated, Old: "1", New: "2", Version: 7},
	}
	gone := []backends.Event{{MemoryID: "gone", Type: backends.OutcomeDeleted, Version: 30}}
	out := newTable(t).plan(store.Restore("a", given, events), store.Restore("gone", nil, gone), store.Restore("b", record("b", ""), nil), store.Put(record("c", "")))
	want := *given
	want.Version = 10
	require.Equal(t, want, *out.Writes[0].Record)
	require.Equal(t, int64(7), given.Version, "the batch's record is the caller's")
	gone[0].Version = 11 // there is no later one
	require.Equal(t, append(append([]backends.Event{}, events...), gone...), out.Events[:3])
	require.Equal(t, []int64{10, 12, 12}, []int64{out.Writes[0].Record.Version, out.Writes[1].Record.Version, out.Writes[2].Record.Version})
	require.Equal(t, now, out.Writes[1].Record.Created)
	require.Equal(t, int64(12), out.Version)
	require.Equal(t, int64(12), out.Events[3].Version, "what a put adds is not older")
	require.Equal(t, []store.Result{{ID: "a", Event: backends.OutcomeAdded}, {ID: "gone", Event: backends.OutcomeDeleted},
		{ID: "b", Event: backends.OutcomeAdded}, {ID: "c", Event: backends.OutcomeAdded}}, out.Results)

	for _, number := range []int64{math.MinInt64, -1, 50, math.MaxInt64} { // it comes from a stream
		foreign := record("a", "")
		foreign.Version = number
		out := newTable(t).plan(store.Restore("a", foreign, []backends.Event{{MemoryID: "a", Version: number}}))
		require.Equal(t, int64(10), out.Version)
		require.Equal(t, min(max(number, 0), 10), out.Events[0].Version)
	}
}

func TestMutationsThatConflict(t *testing.T) {
	gone, text := held("gone", "x", 2), held("text", "x", 2)
	gone.Invalidated = early
	text.Metadata = map[string]any{"n": "x", "most": math.MaxFloat64}
	put := func(id string) store.Mutation { return store.Put(record(id, "")) }
	for name, c := range map[string]struct {
		m    store.Mutation
		want error
		says string
	}{
		"put what exists":           {expecting(put("a"), store.MustNotExist), backends.ErrConflict, `"a" exists, at version 3`},
		"put another version":       {expecting(put("a"), 2), backends.ErrConflict, "has version 3, 2 was expected"},
		"put over nothing":          {expecting(put("x"), 2), backends.ErrConflict, `"x" does not exist`},
		"put the batch's version":   {expecting(put("b"), 3), backends.ErrConflict, "has version 10, 3 was expected"},
		"create twice":              {expecting(put("b"), store.MustNotExist), backends.ErrConflict, `"b" exists`},
		"supersede nothing":         {store.Supersede("x", record("y", "")), backends.ErrConflict, `"x"`},
		"supersede what is hidden":  {store.Supersede("gone", record("y", "")), backends.ErrConflict, "superseded or retracted already"},
		"supersede another version": {expecting(store.Supersede("a", record("y", "")), 9), backends.ErrConflict, "version 3"},
		"retract nothing":           {store.Retract("x", now), backends.ErrConflict, "does not exist"},
		"retract another version":   {expecting(store.Retract("gone", now), 9), backends.ErrConflict, "version 2"},
		"delete nothing":            {expecting(store.Delete("x"), 1), backends.ErrConflict, "does not exist"},
		"increment nothing":         {store.Increment("x", "n", 1), backends.ErrConflict, "does not exist"},
		"increment no number":       {store.Increment("text", "n", 1), backends.ErrConflict, "no number"},
		"increment without end":     {store.Increment("text", "most", math.MaxFloat64), backends.ErrInvalid, "infinite"},
		"restore what exists":       {store.Restore("a", record("a", ""), nil), backends.ErrConflict, "does not hold it"},
		"restore over the batch's":  {store.Restore("b", record("b", ""), nil), backends.ErrConflict, "does not hold it"},
	} {
		out, err := plan.Batch(batch(put("b"), c.m), newTable(t, held("a", "1", 3), gone, text).input(10))
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, "mutation 1 ("+string(c.m.Op)+")", name)
		require.ErrorContains(t, err, c.says, name)
		require.Nil(t, out, name)
	}
	newTable(t, held("a", "1", 3)).plan(put("a"), expecting(put("a"), 10), store.Delete("a"), expecting(put("a"), store.MustNotExist))
}

func TestAnErrorOfReadingIsReturned(t *testing.T) {
	broken := errors.New("broken")
	in := &plan.Input{Record: func(id string) (*store.Record, error) {
		if id == "bad" {
			return nil, broken
		}
		return held(id, "x", 1), nil
	}}
	for _, m := range []store.Mutation{store.Put(record("bad", "")), store.Delete("bad"), store.Supersede("bad", record("b", "")), store.Supersede("a", record("bad", ""))} {
		_, err := plan.Batch(batch(store.Delete("a2"), m), in)
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "mutation 1 ("+string(m.Op)+")")
	}
}

// TestProperties draws records and batches. A batch means the same as its mutations one
// by one, and a plan keeps what its documentation says.
func TestProperties(t *testing.T) {
	pick := func(t *rapid.T, name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	drawRecord := func(t *rapid.T, id string) *store.Record {
		r := record(id, pick(t, "text", "", "x", "y"))
		if v := pick(t, "vector", "", "v", "w"); v != "" {
			r.Vector = []byte(v)
		}
		r.Supersedes, r.Version = pick(t, "supersedes", "", "", "a"), int64(rapid.IntRange(1, 20).Draw(t, "version"))
		r.Metadata = rapid.SampledFrom([]map[string]any{nil, {"n": 3}, {"n": 0.5, "k": "v"}, {"n": "three"}}).Draw(t, "metadata")
		return r
	}
	drawTable := func(t *rapid.T) *table {
		s := newTable(t)
		s.blind = rapid.Bool().Draw(t, "blind")
		for _, id := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, "held") {
				r := drawRecord(t, id)
				r.Version, r.Created, r.Updated = min(r.Version, 9), early, early
				if rapid.Bool().Draw(t, "hidden") {
					r.Invalidated = early
				}
				s.records[id] = stored(t, r)
			}
		}
		return s
	}
	drawMutation := func(t *rapid.T) store.Mutation {
		id := pick(t, "id", "a", "b", "c", "d")
		r := drawRecord(t, pick(t, "record", "a", "b", "c", "d"))
		var m store.Mutation
		switch store.Op(pick(t, "op", "put", "put", "supersede", "retract", "delete", "increment", "restore")) {
		case store.OpPut:
			m = store.Put(r)
		case store.OpSupersede:
			if r.ID == id {
				r.ID = "e"
			}
			m = store.Supersede(id, r)
		case store.OpRetract:
			m = store.Retract(id, rapid.SampledFrom([]time.Time{{}, early}).Draw(t, "at"))
		case store.OpDelete:
			m = store.Delete(id)
		case store.OpIncrement:
			m = store.Increment(id, "n", 1.5)
		case store.OpRestore:
			r.ID = id
			m = store.Restore(id, r, []backends.Event{{MemoryID: id, Actor: "x", Version: r.Version}})
		}
		m.Expect = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, -1, 1, 10}).Draw(t, "expect")
		m.Actor = pick(t, "actor", "ann", "model")
		return m
	}
	drawBatch := func(t *rapid.T) *store.Batch {
		b := batch(rapid.SliceOfN(rapid.Custom(drawMutation), 0, 8).Draw(t, "mutations")...)
		require.NoError(t, b.Validate())
		return b
	}
	dump := func(t *rapid.T, all ...any) string {
		text, err := json.Marshal(all)
		require.NoError(t, err)
		return string(text)
	}

	t.Run("a batch is its mutations one by one", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			whole := drawTable(t)
			steps, b := newTable(t), drawBatch(t)
			steps.records, steps.blind = maps.Clone(whole.records), rapid.Bool().Draw(t, "steps are blind")
			got, err := plan.Batch(b, whole.input(10))
			want := plan.Plan{Results: []store.Result{}, Version: 10}
			restored := 0
			for i, m := range b.Mutations {
				next := want.Version
				if m.Op == store.OpRestore {
					next += int64(min(restored, 1)) // each has a version of its own
					restored++
				}
				one, stepErr := plan.Batch(batch(m), steps.input(next))
				if stepErr != nil {
					_, says, _ := strings.Cut(stepErr.Error(), "mutation 0 ")
					require.EqualError(t, err, fmt.Sprint("mutation ", i, " ", says))
					require.ErrorIs(t, err, backends.ErrConflict)
					return
				}
				steps.apply(one)
				want.Results, want.Events = append(want.Results, one.Results...), append(want.Events, one.Events...)
				want.Changed, want.Version = want.Changed || one.Changed, one.Version
			}
			require.NoError(t, err)
			whole.apply(got)
			require.Equal(t, steps.records, whole.records)
			require.Equal(t, want.Results, got.Results)
			require.Equal(t, want.Events, got.Events)
			require.Equal(t, want.Changed, got.Changed)
			require.Equal(t, want.Version, got.Version)
		})
	})
	t.Run("a plan is consistent, and planning changes nothing", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s, b := drawTable(t), drawBatch(t)
			before := dump(t, b, s.records)
			out, err := plan.Batch(b, s.input(10))
			touched := plan.Touched(b)
			for id, n := range s.reads {
				require.Equal(t, 1, n, "reads of %s", id)
				require.Contains(t, touched, id)
			}
			require.Equal(t, before, dump(t, b, s.records))
			if err != nil {
				return
			}
			old, written := map[string]int64{}, map[string]bool{}
			for i, c := range out.Checks {
				require.Equal(t, touched[i], c.ID)
				old[c.ID] = c.Version
			}
			require.Len(t, out.Checks, len(touched))
			for _, w := range out.Writes {
				require.False(t, written[w.ID], "%s is written twice", w.ID)
				written[w.ID] = true
				require.Equal(t, old[w.ID], w.Old)
				require.True(t, w.Record != nil || w.Old != 0)
				require.True(t, w.Record == nil || w.Record.Version >= 10 && w.Record.Version <= out.Version)
			}
			for _, e := range out.Events {
				require.LessOrEqual(t, e.Version, out.Version)
				require.NotEmpty(t, e.Actor)
				require.Contains(t, touched, e.MemoryID)
			}
			require.Len(t, out.Results, len(b.Mutations))
			require.True(t, out.Changed || len(out.Writes)+len(out.Events) == 0)
		})
	})
}
