// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

func TestAMemoryWithoutNamesHasNoEntities(t *testing.T) {
	for _, v := range []any{nil, "", " ", 7.0, true, []any{}, []any{7.0, nil, map[string]any{"name": "Bob"}}, map[string]any{"Bob": true}} {
		m := backends.Memory{Metadata: map[string]any{backends.MetaEntities: v}}
		require.Empty(t, m.Entities(), "%v", v)
	}
	require.Empty(t, (&backends.Memory{}).Entities())
}

// What a filter by an entity finds are the memories that are counted for it, of which each
// counts once; the order of memories does not matter.
func TestEntitiesAreThoseThatAFilterFinds(t *testing.T) {
	spellings := []string{"Bob", "bob", "ＢＯＢ", " Bob ", "Bobby", "Σίδερη", "ΣΊΔΕΡΗ", "上海", "Ann Lee", "ＡＮＮ\u3000lee", "ｱﾝ", "アン"}
	rapid.Check(t, func(t *rapid.T) {
		var all []*backends.Memory
		for i := range rapid.IntRange(0, 12).Draw(t, "memories") {
			m := &backends.Memory{ID: fmt.Sprint(i), Created: day.AddDate(0, 0, rapid.IntRange(0, 3).Draw(t, "created"))}
			if rapid.Bool().Draw(t, "observed") {
				m.Observed = day.AddDate(0, 0, rapid.IntRange(-9, 3).Draw(t, "day"))
			}
			m.Metadata = map[string]any{backends.MetaEntities: rapid.SliceOfN(rapid.SampledFrom(spellings), 0, 4).Draw(t, "names")}
			all = append(all, m)
		}
		found := backends.CountEntities(slices.Values(all))
		covered := map[string]int{} // by spelling: entities that it belongs to
		for i, e := range found {
			is := backends.Eq("entity", e.Name)
			matches, err := is.Compile()
			require.NoError(t, err)
			var want backends.Entity
			for _, m := range all {
				at := m.Observed
				if at.IsZero() {
					at = m.Created
				}
				if !matches(m) {
					continue
				}
				want.Memories++
				if want.First.IsZero() || at.Before(want.First) {
					want.First = at
				}
				if at.After(want.Last) {
					want.Last = at
				}
			}
			for _, name := range spellings {
				if matches(&backends.Memory{Metadata: map[string]any{backends.MetaEntities: name}}) {
					covered[name]++
				}
			}
			require.Equal(t, backends.Entity{Name: e.Name, Memories: want.Memories, First: want.First, Last: want.Last}, e)
			if i > 0 {
				before := found[i-1]
				require.True(t, before.Memories > e.Memories || before.Memories == e.Memories && !before.Last.Before(e.Last))
			}
		}
		for _, m := range all {
			for _, name := range m.Entities() {
				require.Equal(t, 1, covered[name], name)
			}
		}
		slices.Reverse(all)
		require.Equal(t, found, backends.CountEntities(slices.Values(all)))
	})
}

func TestTheEntitiesOfMostMemoriesAreReturned(t *testing.T) {
	var all []*backends.Memory
	for i := range 1001 {
		for range 1 + i%2 {
			all = append(all, &backends.Memory{Metadata: map[string]any{backends.MetaEntities: fmt.Sprint("e", i)}})
		}
	}
	found := backends.CountEntities(slices.Values(all))
	require.Len(t, found, 1000)
	require.Equal(t, 2, found[0].Memories)
	require.Equal(t, 1, found[999].Memories)
}
