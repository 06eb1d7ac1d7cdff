// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
)

func TestR11UseIsCounted(t *testing.T) { eachStore(t, onR11UseIsCounted) }

func onR11UseIsCounted(t *testing.T, st store.Store) {
	w := open(t, on(st))
	resp := w.summarize(pages, login)
	a, b := resp.Memories[0].ID, resp.Memories[1].ID
	got, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{a, b, a}, Useful: []string{b}})
	require.NoError(t, err)
	assert.ElementsMatch(t, []task.Recorded{{ID: a, As: a, Freq: 1}, {ID: b, As: b, Freq: 1, Utility: 1}}, got.Recorded)
	got, err = w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{a}, AllUseful: true})
	require.NoError(t, err)
	assert.Equal(t, []task.Recorded{{ID: a, As: a, Freq: 2, Utility: 1}}, got.Recorded)
	m := w.find(what(pages))
	assert.EqualValues(t, 2, m.Metadata[task.MetaFreq])
	assert.Equal(t, 0.8, *m.Quality)
}

// A hundred recorders of one memory, in two processes, add exactly a hundred.
func TestDEF08AHundredRecordersAddAHundred(t *testing.T) {
	eachStore(t, onDEF08AHundredRecordersAddAHundred)
}

func onDEF08AHundredRecordersAddAHundred(t *testing.T, st store.Store) {
	worlds := []*world{open(t, on(st)), open(t, on(st))}
	before := worlds[0].summarize(login).Memories[0]
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			_, err := worlds[i%2].Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{before.ID}, AllUseful: i%4 == 0})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	m := worlds[1].find(what(login))
	assert.EqualValues(t, 100, m.Metadata[task.MetaFreq])
	assert.EqualValues(t, 25, m.Metadata[task.MetaUtility])
	delete(m.Metadata, task.MetaFreq)
	delete(m.Metadata, task.MetaUtility)
	m.Version, m.Updated = before.Version, before.Updated
	assert.Equal(t, before, *m, "nothing else changed")
}

// A memory that is gone is told, and not brought back (DEF-08).
func TestDEF08WhatIsGoneStaysGone(t *testing.T) {
	w := open(t)
	resp := w.summarize(pages, login)
	a, b := resp.Memories[0].ID, resp.Memories[1].ID
	require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: a}))
	w.put(backends.Memory{ID: "tool", Kind: backends.KindTool, Text: "x"})
	got, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{a, b, "nobody", "tool"}, AllUseful: true})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{a, "nobody", "tool"}, got.Unknown)
	assert.Equal(t, []task.Recorded{{ID: b, As: b, Freq: 1, Utility: 1}}, got.Recorded)
	assert.ElementsMatch(t, []string{what(login), "x"}, w.active())
	got, err = w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{"nobody"}})
	require.NoError(t, err)
	assert.Empty(t, got.Recorded)
}

// One that is deleted between the look and the write is looked at again.
func TestRecordLooksAgain(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st))
	resp := other.summarize(pages, login)
	a, b := resp.Memories[0].ID, resp.Memories[1].ID
	f := &faulty{Store: st}
	f.before = func(call string) {
		if call == "Apply" {
			f.before = nil
			assert.NoError(t, other.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: a}))
		}
	}
	got, err := open(t, on(f)).Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{a, b}})
	require.NoError(t, err)
	assert.Equal(t, []string{a}, got.Unknown)
	assert.EqualValues(t, 1, other.find(what(login)).Metadata[task.MetaFreq], "once")
}

// What was joined meanwhile is counted where its words went, once a request.
func TestUseFollowsTheChain(t *testing.T) {
	w := open(t)
	old := w.summarize(pages).Memories[0]
	_, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{old.ID}})
	require.NoError(t, err)
	w.brain.decide = func(_, known experience) (string, string, string) {
		return "merge", known.WhenToUse, known.Content + " Then stop."
	}
	next := w.summarize(pagesNear).Memories[0]
	got, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{old.ID, next.ID}, AllUseful: true})
	require.NoError(t, err)
	want := []task.Recorded{{ID: old.ID, As: next.ID, Freq: 2, Utility: 1}, {ID: next.ID, As: next.ID, Freq: 2, Utility: 1}}
	assert.ElementsMatch(t, want, got.Recorded)
	gone, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop, Rule: &task.Rule{MaxUtility: 1}, DryRun: true})
	require.NoError(t, err)
	require.Len(t, gone.Deleted, 1, "the link of the chain that holds, and no other")
	assert.Equal(t, next.ID, gone.Deleted[0].ID)
}

func TestARepeatedRecordCountsOnce(t *testing.T) {
	w := open(t)
	id := w.summarize(login).Memories[0].ID
	for i := range 3 {
		got, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}, AllUseful: true, IdempotencyKey: "turn 7"})
		require.NoError(t, err)
		assert.Equal(t, i > 0, got.Replayed)
		assert.Equal(t, []task.Recorded{{ID: id, As: id, Freq: 1, Utility: 1}}, got.Recorded)
	}
	assert.EqualValues(t, 1, w.find(what(login)).Metadata[task.MetaFreq])
}

func TestRecordRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	for name, r := range map[string]*task.RecordRequest{
		"nothing":         nil,
		"useful, unasked": {Scope: shop, IDs: []string{"a"}, Useful: []string{"b"}},
		"no id":           {Scope: shop, IDs: []string{""}},
		"a long key":      {Scope: shop, IdempotencyKey: fmt.Sprint(make([]int, 300))},
	} {
		_, err := w.Record(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := w.Record(ctx, &task.RecordRequest{IDs: []string{"a"}})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

// Counts that are no numbers, as a library of somebody else may have them, neither make a
// request fail nor stay as they are.
func TestR11CountsThatAreNoNumbers(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		for written, want := range map[any]float64{"3": 4, " 2.0 ": 3, "many": 1, nil: 1, true: 1, "NaN": 1} {
			w := open(t, on(st))
			w.put(backends.Memory{ID: "a", WhenToUse: "when", Text: "what", Metadata: map[string]any{"freq": written, "utility": written, "tags": []any{"x"}}},
				backends.Memory{ID: "b", WhenToUse: "other", Text: "thing"})
			resp, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{"a", "b"}, Useful: []string{"a"}})
			require.NoError(t, err, written)
			assert.Equal(t, []task.Recorded{{ID: "a", As: "a", Freq: want, Utility: want}, {ID: "b", As: "b", Freq: 1}}, resp.Recorded)
			m := w.find("what")
			assert.Equal(t, map[string]any{"freq": want, "utility": want, "tags": []any{"x"}}, m.Metadata)
		}
	})
}
