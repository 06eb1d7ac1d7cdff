// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// chainOf moves the user from place to place and returns the ids of the facts.
func chainOf(t *testing.T, b *mem0.Backend, places ...string) []string {
	t.Helper()
	var ids []string
	for i, place := range places {
		m := user("I live in " + place)
		m[0].ID = fmt.Sprintf("m%d", i)
		ids = append(ids, add(t, b, ann, m...).Items[0].Memory.ID)
	}
	return ids
}

func historyOf(t *testing.T, b *mem0.Backend, id string) []backends.Event {
	t.Helper()
	events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	return events
}

// Whatever is deleted, the whole chain is found from each of its links.
func TestC1_08_HistoryAroundDeletedLinks(t *testing.T) {
	for deleted := range 1 << 4 {
		b := open(t, with(resident(t)), factsOnly)
		ids := chainOf(t, b, "Beijing", "Shanghai", "Beijing", "Shanghai")
		want := len(ids) + len(ids) - 1 // an addition each, a replacement each but the last
		for i, id := range ids {
			if deleted>>i&1 == 1 {
				require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}))
				want++
			}
		}
		for _, id := range ids {
			require.Len(t, historyOf(t, b, id), want, "%04b, from %s", deleted, id)
		}
	}
}

// Of a chain that was loaded from a dump no event tells who replaced whom.
func TestC1_08_HistoryOfALoadedChain(t *testing.T) {
	for deleted := range 3 {
		from := open(t, with(resident(t)), factsOnly)
		ids := chainOf(t, from, "Beijing", "Shanghai", "Beijing")
		var dump strings.Builder
		_, err := from.Dump(ctx, ann, &dump)
		require.NoError(t, err)
		b := open(t)
		_, err = b.Load(ctx, ann, strings.NewReader(dump.String()))
		require.NoError(t, err)
		require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: ids[deleted]}))
		for _, id := range ids {
			require.Len(t, historyOf(t, b, id), 4, "three additions and a deletion")
		}
	}
}

// A text that was replaced many times gets an id of its own each time.
func TestMovingBackManyTimes(t *testing.T) {
	b := open(t, with(resident(t)), factsOnly)
	var places []string
	for range 15 {
		places = append(places, "Beijing", "Shanghai")
	}
	ids := chainOf(t, b, places...)
	seen := map[string]bool{}
	for _, id := range ids {
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Equal(t, []string{"The user lives in Shanghai."}, facts(t, b, ann))
	require.Len(t, historyOf(t, b, ids[7]), 59)
}
