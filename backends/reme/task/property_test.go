// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/keeper"
)

// Whatever is learnt in whatever requests, and whatever the model decides about what
// is near: each wording is there once, what was learnt is in a memory that holds or in
// the chain of one, the response tells what is stored, counts survive, and the same
// request again writes nothing.
func TestPropertyOfLearning(t *testing.T) {
	words := []string{"read", "every", "page", "until", "one", "comes", "empty", "then", "count", "token"}
	rapid.Check(t, func(rt *rapid.T) {
		w := open(t)
		w.brain.decide = func(fresh, known experience) (string, string, string) { // by the texts alone
			return []string{"same", "merge", "distinct"}[(len(fresh.Content)+len(known.Content))%3], known.WhenToUse, known.Content + " " + fresh.Content
		}
		lesson := rapid.Custom(func(rt *rapid.T) extract.Candidate {
			n := rapid.IntRange(5, len(words)).Draw(rt, "words")
			return extract.Candidate{WhenToUse: "reading pages", Content: strings.Join(words[:n], " ") + rapid.SampledFrom([]string{"", " soon", " twice"}).Draw(rt, "end")}
		})
		used := 0.0
		for range rapid.IntRange(1, 3).Draw(rt, "requests") {
			r := &task.SummaryRequest{Scope: shop, Candidates: rapid.SliceOfN(lesson, 1, 4).Draw(rt, "lessons")}
			resp, err := w.Summarize(ctx, r)
			require.NoError(rt, err)
			require.Len(rt, resp.Items, len(r.Candidates))
			checkWorkspace(rt, w, resp)
			ids := []string{resp.Items[0].Memory.ID}
			got, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: ids})
			require.NoError(rt, err)
			require.Empty(rt, got.Unknown)
			used++

			before := w.version()
			again, err := w.Summarize(ctx, r)
			require.NoError(rt, err)
			require.Equal(rt, before, w.version(), "the same again writes nothing: %v then %v", outcomes(resp), outcomes(again))
		}
		total := 0.0
		list, err := w.keeper.List(ctx, inn, &backends.ListRequest{Limit: 1000})
		require.NoError(rt, err)
		for i := range list.Memories {
			freq, _ := list.Memories[i].Metadata[task.MetaFreq].(float64)
			total += freq
		}
		require.Equal(rt, used, total, "no count was lost")
	})
}

func checkWorkspace(t *rapid.T, w *world, resp *task.SummaryResponse) {
	all, err := w.keeper.All(ctx, inn)
	require.NoError(t, err)
	seen := map[string]bool{}
	byID := map[string]*backends.Memory{}
	for _, m := range all {
		byID[m.ID] = m
		if key := keeper.TextKey(m.Kind, m.WhenToUse, m.Text); m.Active() {
			require.False(t, seen[key], "twice: %s", m.Text)
			seen[key] = true
		}
	}
	for i := range resp.Items {
		m := byID[resp.Items[i].Memory.ID]
		require.NotNil(t, m)
		require.True(t, m.Active(), "an item names what holds: %v %s", resp.Items[i].Outcome, m.Text)
	}
	for i := range resp.Memories {
		require.Equal(t, resp.Memories[i].Text, byID[resp.Memories[i].ID].Text)
		require.True(t, slices.ContainsFunc(resp.Items, func(it backends.Item) bool { return it.Memory.ID == resp.Memories[i].ID }), fmt.Sprint(resp.Memories[i].ID))
	}
}
