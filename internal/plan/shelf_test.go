// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

var (
	now   = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	early = now.Add(-24 * time.Hour)
)

// shelf is the plainest store: records in a map.
type shelf struct {
	rapid.TB
	records map[string]*store.Record
	blind   bool           // leaves out vectors when it is read for a plan
	reads   map[string]int // by id
}

func newShelf(t rapid.TB, records ...*store.Record) *shelf {
	s := &shelf{TB: t, records: map[string]*store.Record{}, reads: map[string]int{}}
	for _, r := range records {
		s.records[r.ID] = r
	}
	return s
}

func (s *shelf) clone() *shelf {
	out := newShelf(s.TB)
	out.records, out.blind = maps.Clone(s.records), s.blind
	return out
}

func (s *shelf) read(id string) (*store.Record, error) {
	s.reads[id]++
	r := s.records[id]
	if r == nil || !s.blind {
		return r, nil
	}
	bare := *r
	bare.Vector = nil
	return &bare, nil
}

func (s *shelf) input(next int64) *plan.Input {
	return &plan.Input{Now: now, Next: next, Record: s.read}
}

// plan plans mutations at version 10.
func (s *shelf) plan(ms ...store.Mutation) *plan.Plan {
	s.Helper()
	out, err := plan.Batch(batchOf(ms...), s.input(10))
	require.NoError(s, err)
	return out
}

func (s *shelf) fails(want error, ms ...store.Mutation) (says string) {
	s.Helper()
	out, err := plan.Batch(batchOf(ms...), s.input(10))
	require.ErrorIs(s, err, want)
	require.Nil(s, out)
	return err.Error()
}

// apply writes a plan as a store does, through JSON.
func (s *shelf) apply(p *plan.Plan) {
	s.Helper()
	for _, c := range p.Checks {
		var version int64
		if r := s.records[c.ID]; r != nil {
			version = r.Version
		}
		require.Equal(s, version, c.Version)
	}
	for _, w := range p.Writes {
		old := s.records[w.ID]
		require.Equal(s, old != nil, w.Old != 0)
		if w.Record == nil {
			require.NotNil(s, old, "what never was is not deleted")
			delete(s.records, w.ID)
			continue
		}
		require.Equal(s, w.ID, w.Record.ID)
		r := stored(s, w.Record)
		if w.SameVector {
			require.NotNil(s, old)
			if !s.blind {
				require.Equal(s, old.Vector, w.Record.Vector)
			}
			r.Vector = old.Vector
		}
		s.records[w.ID] = r
	}
}

// stored returns r as a store gives it back.
func stored(t rapid.TB, r *store.Record) *store.Record {
	out := &store.Record{Vector: append([]byte(nil), r.Vector...)}
	text, err := json.Marshal(&r.Memory)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out.Memory))
	return out
}

func batchOf(ms ...store.Mutation) *store.Batch { return &store.Batch{Mutations: ms} }

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

func TestAnErrorOfReadingIsToldAsItIs(t *testing.T) {
	broken := errors.New("broken")
	in := &plan.Input{Record: func(id string) (*store.Record, error) {
		if id == "bad" {
			return nil, broken
		}
		return held(id, "x", 1), nil
	}}
	for _, m := range []store.Mutation{store.Put(record("bad", "")), store.Delete("bad"), store.Supersede("bad", record("b", "")), store.Supersede("a", record("bad", ""))} {
		_, err := plan.Batch(batchOf(store.Delete("a2"), m), in)
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "mutation 1 ("+string(m.Op)+")")
	}
}
