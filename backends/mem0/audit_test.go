// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
)

func TestD8_AuditTellsWhatIsWrong(t *testing.T) {
	st := openStore(t)
	b := open(t, on(st))
	p, err := ann.Speaker()
	require.NoError(t, err)
	taught := backends.Origin{MessageIDs: []string{"m1"}, Author: "model"}
	old := start.Add(-100 * 24 * time.Hour)
	put := func(id, text string, kind backends.Kind, o backends.Origin, at time.Time) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: kind, Text: text, Origin: o, Created: at, Updated: at}})
	}
	expired := put("over", "had a cold", backends.KindFact, taught, start)
	expired.Record.Expires = start.Add(-time.Hour)
	_, err = st.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{
		put("1", "Likes green tea.", backends.KindFact, taught, start),
		put("2", "likes Green Tea", backends.KindFact, taught, start.Add(time.Second)),
		put("3", "likes green tea", backends.KindEpisode, taught, start), // a turn does not repeat a fact
		put("4", "…!", backends.KindEpisode, taught, start),
		put("5", "For context: [planner] said: step one.", backends.KindEpisode, taught, start),
		put("6", "lives in Rome", backends.KindFact, backends.Origin{}, start),
		put("7", "works in Oslo", backends.KindFact, taught, old),
		put("8", "住在北京", backends.KindFact, taught, start),
		expired,
		put("9", "wrong", backends.KindFact, taught, start), store.Retract("9", start),
	}})
	require.NoError(t, err)
	_, err = st.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Supersede("8", put("10", "住在上海", backends.KindFact, taught, start).Record)}})
	require.NoError(t, err)

	a, err := b.Audit(ctx, ann, 90*24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 11, a.Memories)
	require.Equal(t, map[string]int{"fact": 5, "episode": 3}, a.Active)
	require.Equal(t, []int{1, 1, 1}, []int{a.Superseded, a.Retracted, a.Expired})
	require.ElementsMatch(t, []mem0.Finding{
		{Defect: mem0.DefectDuplicate, ID: "2", Text: "likes Green Tea", Of: "1"},
		{Defect: mem0.DefectJunk, ID: "4", Text: "…!"},
		{Defect: mem0.DefectJunk, ID: "5", Text: "For context: [planner] said: step one."},
		{Defect: mem0.DefectUnsourced, ID: "6", Text: "lives in Rome"},
		{Defect: mem0.DefectStale, ID: "7", Text: "works in Oslo"},
	}, a.Findings)
	require.Equal(t, map[mem0.Defect]float64{"duplicate": 1. / 8, "junk": 2. / 8, "unsourced": 1. / 8, "stale": 1. / 8}, a.Rates)

	a, err = b.Audit(ctx, ann, 0)
	require.NoError(t, err)
	require.NotContains(t, a.Rates, mem0.DefectStale)
	a, err = b.Audit(ctx, backends.Scope{UserID: "bob"}, 0)
	require.NoError(t, err)
	require.Zero(t, a.Memories)
	require.Empty(t, a.Findings)
	_, err = b.Audit(ctx, backends.Scope{}, 0)
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestD8_WhatIsLearntPassesTheAudit(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, user("I live in Beijing")...)
	add(t, b, ann, user("I moved to Shanghai")...)
	add(t, b, ann, user("I moved to Shanghai")...)
	a, err := b.Audit(ctx, ann, time.Hour)
	require.NoError(t, err)
	require.Empty(t, a.Findings)
	require.Equal(t, 1, a.Superseded)
	require.Equal(t, 1, a.Active["fact"])
}
