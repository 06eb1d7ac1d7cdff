// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var historyBehaviours = []behaviour{
	{"an unknown id has no events", historyOfNothing},
	{"every change of the text is told, oldest first, and by whom", historyTellsAll},
	{"a put that leaves the text as it was is not told", historyTellsTexts},
	{"an event names the predecessor once", historyNamesPredecessors},
	{"the history answers after the record was deleted", historyOutlives},
}

func historyOfNothing(e *env) {
	require.Empty(e, e.history("a"))
	e.apply(store.Put(record("b", "1")))
	require.Empty(e, e.history("a"))
	require.Empty(e, e.history(""))
}

func historyTellsAll(e *env) {
	by := func(m store.Mutation, actor string) store.Mutation {
		m.Actor, m.Role = actor, "role of "+actor
		return m
	}
	t0 := e.clock.Now()
	e.apply(by(store.Put(record("a", "1")), "ann"))
	t1 := e.clock.pass(time.Minute)
	e.apply(store.Put(record("a", "2")), store.Increment("a", "n", 1))
	t2 := e.clock.pass(time.Minute)
	e.apply(by(store.Supersede("a", record("b", "3")), "model"))
	t3 := e.clock.pass(time.Minute)
	e.apply(by(store.Retract("b", t0), "bob"))

	require.Equal(e, []backends.Event{
		{MemoryID: "a", Type: backends.EventAdded, New: "1", Actor: "ann", Role: "role of ann", Time: t0, Version: 1},
		{MemoryID: "a", Type: backends.EventUpdated, Old: "1", New: "2", Time: t1, Version: 2},
		{MemoryID: "a", Type: backends.EventSuperseded, Old: "2", New: "3", By: "b", Actor: "model", Role: "role of model", Time: t2, Version: 3},
	}, e.history("a"))
	require.Equal(e, []backends.Event{
		{MemoryID: "b", Type: backends.EventAdded, New: "3", Supersedes: "a", Actor: "model", Role: "role of model", Time: t2, Version: 3},
		{MemoryID: "b", Type: backends.EventRetracted, Old: "3", Actor: "bob", Role: "role of bob", Time: t3, Version: 4},
	}, e.history("b"))
}

func historyTellsTexts(e *env) {
	e.apply(store.Put(record("a", "1")), store.Put(record("blank", "")))
	told := e.history("a")
	again := record("a", "1")
	again.Metadata, again.Vector = map[string]any{"n": 1.0}, []byte{1}
	applied := e.apply(store.Put(again), store.Put(record("blank", "")))
	require.Equal(e, []store.Result{{ID: "a", Event: backends.EventUpdated}, {ID: "blank", Event: backends.EventUpdated}}, applied.Results)
	require.Equal(e, applied.Version, e.one("a").Version)
	require.Equal(e, told, e.history("a"))
	require.Len(e, e.history("blank"), 1, "a record without a text was added too")
}

func historyNamesPredecessors(e *env) {
	names := func(id string) (out []string) {
		for _, event := range e.history(id) {
			out = append(out, string(event.Type)+" "+event.Supersedes)
		}
		return out
	}
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "2")))
	e.apply(store.Supersede("a", record("b", "2")))
	require.Equal(e, []string{"added ", "updated a"}, names("b"), "told, though the text is as it was")
	changed := e.one("b")
	changed.Text = "3"
	e.apply(store.Put(&changed))
	require.Equal(e, []string{"added ", "updated a", "updated "}, names("b"))
	loaded := record("c", "4")
	loaded.Supersedes = "b"
	e.apply(store.Put(loaded))
	require.Equal(e, []string{"added b"}, names("c"), "put with its chain, as a dump is")
	require.Equal(e, []string{"added ", "superseded "}, names("a"), "what was superseded names nobody")
}

func historyOutlives(e *env) {
	const n = 150
	for i := range n {
		e.apply(store.Put(record("a", fmt.Sprint(i))))
	}
	e.apply(store.Delete("a"))
	e.apply(store.Put(record("a", "again")))
	e.apply(store.Delete("a"))
	events := e.history("a")
	require.Len(e, events, n+3)
	for i, event := range events[:n] {
		require.Equal(e, fmt.Sprint(i), event.New)
		require.Equal(e, int64(i+1), event.Version)
	}
	require.Equal(e, backends.Event{MemoryID: "a", Type: backends.EventDeleted, Old: fmt.Sprint(n - 1), Time: e.clock.Now(), Version: n + 1}, events[n])
	require.Equal(e, backends.EventAdded, events[n+1].Type)
	require.Equal(e, backends.EventDeleted, events[n+2].Type)
	e.drop()
	require.Empty(e, e.history("a"))
}
