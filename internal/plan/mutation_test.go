// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// byAnn marks a mutation as that of somebody.
func byAnn(m store.Mutation) store.Mutation {
	m.Actor, m.Role = "ann", "user"
	return m
}

// told is an event of byAnn's at version 10.
func told(id string, e backends.Event) backends.Event {
	e.MemoryID, e.Actor, e.Role, e.Time, e.Version = id, "ann", "user", now, 10
	return e
}

func TestPutCreates(t *testing.T) {
	given := record("a", "1")
	given.Metadata, given.Vector = map[string]any{"k": "v"}, []byte{1}
	out := newShelf(t).plan(byAnn(store.Put(given)))
	want := *given
	want.Version, want.Created, want.Updated = 10, now, now
	require.Equal(t, want, *out.Writes[0].Record)
	require.Zero(t, given.Version, "the batch's record is the caller's")
	require.Equal(t, []backends.Event{told("a", backends.Event{Type: backends.EventAdded, New: "1"})}, out.Events)
}

func TestPutReplaces(t *testing.T) {
	before := held("a", "1", 3)
	before.Metadata, before.Supersedes = map[string]any{"k": "v"}, "z"
	out := newShelf(t, before).plan(byAnn(store.Put(record("a", "2"))))
	want := *record("a", "2")
	want.Version, want.Created, want.Updated = 10, early, now
	require.Equal(t, want, *out.Writes[0].Record, "nothing but created is kept")
	require.Equal(t, []backends.Event{told("a", backends.Event{Type: backends.EventUpdated, Old: "1", New: "2"})}, out.Events)
	require.Equal(t, []store.Result{{ID: "a", Event: backends.EventUpdated}}, out.Results)
}

func TestPutKeepsTheTimesItIsGiven(t *testing.T) {
	given := record("a", "2")
	given.Created, given.Updated = early.Add(time.Hour), early.Add(2*time.Hour)
	for _, s := range []*shelf{newShelf(t), newShelf(t, held("a", "1", 3))} {
		got := s.plan(store.Put(given)).Writes[0].Record
		require.Equal(t, given.Created, got.Created)
		require.Equal(t, given.Updated, got.Updated)
	}
}

func TestPutTellsTextsAndPredecessors(t *testing.T) {
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
		"new text":        {chained("a", "2", "z"), []backends.Event{{Type: backends.EventUpdated, Old: "1", New: "2"}}},
		"new predecessor": {chained("a", "1", "y"), []backends.Event{{Type: backends.EventUpdated, Old: "1", New: "1", Supersedes: "y"}}},
		"both":            {chained("a", "2", "y"), []backends.Event{{Type: backends.EventUpdated, Old: "1", New: "2", Supersedes: "y"}}},
		"created, blank":  {chained("b", "", ""), []backends.Event{{Type: backends.EventAdded}}},
		"created, chain":  {chained("b", "3", "y"), []backends.Event{{Type: backends.EventAdded, New: "3", Supersedes: "y"}}},
	} {
		out := newShelf(t, before).plan(byAnn(store.Put(c.put)))
		require.Len(t, out.Events, len(c.want), name)
		for i := range c.want {
			require.Equal(t, told(c.put.ID, c.want[i]), out.Events[i], name)
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
		out := newShelf(t, old).plan(byAnn(store.Supersede("old", by)))
		hidden := *held("old", "1", 3)
		require.Equal(t, hidden, *old, "what was read stays as it was")
		hidden.SupersededBy, hidden.Invalidated, hidden.Version, hidden.Updated = "new", c.want, 10, now
		require.Equal(t, hidden, *out.Writes[1].Record, name)
		require.Equal(t, "old", out.Writes[0].Record.Supersedes)
		require.Empty(t, by.Supersedes)
		require.Equal(t, []store.Result{{ID: "new", Event: backends.EventSuperseded}}, out.Results)
		require.Equal(t, []backends.Event{
			told("new", backends.Event{Type: backends.EventAdded, New: "2", Supersedes: "old"}),
			told("old", backends.Event{Type: backends.EventSuperseded, Old: "1", New: "2", By: "new"}),
		}, out.Events)
	}
}

func TestRetract(t *testing.T) {
	old := held("a", "1", 3)
	out := newShelf(t, old).plan(byAnn(store.Retract("a", early)), store.Retract("a", now))
	require.Equal(t, early, out.Writes[0].Record.Invalidated)
	require.True(t, old.Active())
	require.Equal(t, []store.Result{{ID: "a", Event: backends.EventRetracted}, {ID: "a"}}, out.Results)
	require.Equal(t, []backends.Event{told("a", backends.Event{Type: backends.EventRetracted, Old: "1"})}, out.Events)
	require.Equal(t, now, newShelf(t, old).plan(store.Retract("a", time.Time{})).Writes[0].Record.Invalidated)
}

func TestDelete(t *testing.T) {
	out := newShelf(t, held("a", "1", 3)).plan(byAnn(store.Delete("a")), store.Delete("a"))
	require.Len(t, out.Writes, 1)
	require.Nil(t, out.Writes[0].Record)
	require.Equal(t, int64(3), out.Writes[0].Old)
	require.Equal(t, []store.Result{{ID: "a", Event: backends.EventDeleted}, {ID: "a"}}, out.Results)
	require.Equal(t, []backends.Event{told("a", backends.Event{Type: backends.EventDeleted, Old: "1"})}, out.Events)
}

func TestIncrement(t *testing.T) {
	old := held("a", "1", 3)
	old.Metadata = map[string]any{"n": 2.0, "other": "x"}
	out := newShelf(t, old, held("bare", "2", 4)).plan(store.Increment("a", "n", 1), store.Increment("a", "n", 0.5), store.Increment("bare", "m", -1))
	require.Equal(t, []store.Result{{ID: "a", Event: backends.EventUpdated, Value: 3}, {ID: "a", Event: backends.EventUpdated, Value: 3.5},
		{ID: "bare", Event: backends.EventUpdated, Value: -1}}, out.Results)
	require.Equal(t, map[string]any{"n": 3.5, "other": "x"}, out.Writes[0].Record.Metadata)
	require.Equal(t, map[string]any{"m": -1.0}, out.Writes[1].Record.Metadata)
	require.Equal(t, map[string]any{"n": 2.0, "other": "x"}, old.Metadata, "what was read stays as it was")
	require.Empty(t, out.Events)
}

// What a batch puts and increments was not through JSON, where each of these
// becomes a number, or none.
func TestIncrementOfWhatTheBatchPut(t *testing.T) {
	type count int
	for _, value := range []any{5, int64(5), uint8(5), float32(5), 5.0, count(5), json.Number("5")} {
		r := record("a", "1")
		r.Metadata = map[string]any{"n": value}
		out := newShelf(t).plan(store.Put(r), store.Increment("a", "n", 2))
		require.Equal(t, 7.0, out.Results[1].Value, "%T", value)
		require.Equal(t, value, r.Metadata["n"], "the batch's metadata is the caller's")
		require.Len(t, newShelf(t).plan(store.Put(r), store.Put(r), store.Increment("a", "n", 2)).Results, 3)
	}
	for _, value := range []any{"5", true, nil, []int{5}, map[string]any{}, []byte{5}} {
		r := record("a", "1")
		r.Metadata = map[string]any{"n": value}
		newShelf(t).fails(backends.ErrConflict, store.Put(r), store.Increment("a", "n", 2))
	}
}

func TestIncrementOfMetadataThatSeveralRecordsShare(t *testing.T) {
	shared := map[string]any{"n": 1.0}
	a, b := record("a", ""), record("b", "")
	a.Metadata, b.Metadata = shared, shared
	out := newShelf(t).plan(store.Put(a), store.Put(b), store.Increment("a", "n", 1), store.Put(a), store.Increment("a", "n", 4), store.Increment("b", "n", 2))
	require.Equal(t, 5.0, out.Writes[0].Record.Metadata["n"])
	require.Equal(t, 3.0, out.Writes[1].Record.Metadata["n"])
	require.Equal(t, map[string]any{"n": 1.0}, shared)
}

func TestWhatDoesNotHold(t *testing.T) {
	gone, text := held("gone", "x", 2), held("text", "x", 2)
	gone.Invalidated = early
	text.Metadata = map[string]any{"n": "x", "most": math.MaxFloat64}
	for name, c := range map[string]struct {
		m    store.Mutation
		want error
		says string
	}{
		"put what exists":           {expecting(store.Put(record("a", "")), store.MustNotExist), backends.ErrConflict, `"a" exists, at version 3`},
		"put another version":       {expecting(store.Put(record("a", "")), 2), backends.ErrConflict, "has version 3, 2 was expected"},
		"put what is not there":     {expecting(store.Put(record("x", "")), 2), backends.ErrConflict, `"x" does not exist`},
		"supersede nothing":         {store.Supersede("x", record("y", "")), backends.ErrConflict, `"x"`},
		"supersede what is hidden":  {store.Supersede("gone", record("y", "")), backends.ErrConflict, "superseded or retracted already"},
		"supersede another version": {expecting(store.Supersede("a", record("y", "")), 9), backends.ErrConflict, "version 3"},
		"retract nothing":           {store.Retract("x", now), backends.ErrConflict, "does not exist"},
		"retract another version":   {expecting(store.Retract("gone", now), 9), backends.ErrConflict, "version 2"},
		"delete what is not there":  {expecting(store.Delete("x"), 1), backends.ErrConflict, "does not exist"},
		"increment nothing":         {store.Increment("x", "n", 1), backends.ErrConflict, "does not exist"},
		"increment no number":       {store.Increment("text", "n", 1), backends.ErrConflict, "no number"},
		"increment without end":     {store.Increment("text", "most", math.MaxFloat64), backends.ErrInvalid, "infinite"},
	} {
		says := newShelf(t, held("a", "1", 3), gone, text).fails(c.want, store.Put(record("b", "")), c.m)
		require.Contains(t, says, "mutation 1 ("+string(c.m.Op)+")", name)
		require.Contains(t, says, c.says, name)
	}
}

func TestExpectSeesWhatTheBatchDidBefore(t *testing.T) {
	s := newShelf(t, held("a", "1", 3))
	s.plan(store.Put(record("a", "2")), expecting(store.Put(record("a", "3")), 10), store.Delete("a"), expecting(store.Put(record("a", "4")), store.MustNotExist))
	s.fails(backends.ErrConflict, store.Put(record("a", "2")), expecting(store.Put(record("a", "3")), 3))
	s.fails(backends.ErrConflict, store.Put(record("b", "2")), expecting(store.Put(record("b", "3")), store.MustNotExist))
}
