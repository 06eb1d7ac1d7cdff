// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// chain stores n memories, each in the place of the one before, and returns their ids.
func (w *world) chain(n int) []string {
	w.put(ann, fact("0", "text 0"))
	ids := []string{"0"}
	for i := 1; i < n; i++ {
		next := fact(fmt.Sprint(i), fmt.Sprintf("text %d", i))
		next.Created = w.Stamps(1)
		_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Supersede(ids[i-1], next)}}, nil)
		require.NoError(w.t, err)
		ids = append(ids, next.ID)
	}
	return ids
}

// Whatever is deleted, the whole chain is found from each of its links, and so after
// it was loaded from a dump, when no event tells who replaced whom.
func TestHistoryAroundDeletedLinks(t *testing.T) {
	const links = 4
	for deleted := range 1 << links {
		w := open(t)
		ids := w.chain(links)
		want := 2*links - 1 // an addition each, a replacement each but the last
		for i, id := range ids {
			if deleted>>i&1 == 1 {
				require.NoError(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: id}))
				want++
			}
		}
		for _, id := range ids {
			events, err := w.History(ctx, ann, id)
			require.NoError(t, err)
			require.Len(t, events, want, "%04b, from %s", deleted, id)
			for i := 1; i < len(events); i++ {
				require.LessOrEqual(t, events[i-1].Version, events[i].Version, "oldest first")
			}
		}
	}
	for deleted := range 3 {
		from, to := open(t), open(t)
		ids := from.chain(3)
		dump, _ := from.whole(ann)
		_, err := to.Load(ctx, ann, strings.NewReader(dump))
		require.NoError(t, err)
		require.NoError(t, to.Delete(ctx, ann, &backends.DeleteRequest{ID: ids[deleted]}))
		for _, id := range ids {
			events, err := to.History(ctx, ann, id)
			require.NoError(t, err)
			require.Len(t, events, 4, "three additions and a deletion")
		}
	}
}

func TestHistoryOfACycleEnds(t *testing.T) {
	w := open(t)
	_, err := w.Load(ctx, ann, strings.NewReader(
		`{"id":"1","kind":"fact","text":"A","supersedes":"2","superseded_by":"2"}`+"\n"+
			`{"id":"2","kind":"fact","text":"B","supersedes":"1","superseded_by":"1"}`+"\n"+
			`{"id":"3","kind":"fact","text":"C","supersedes":"3"}`))
	require.NoError(t, err)
	for id, want := range map[string]int{"1": 2, "2": 2, "3": 1} {
		events, err := w.History(ctx, ann, id)
		require.NoError(t, err)
		require.Len(t, events, want)
	}
	_, err = w.History(ctx, ann, "nobody")
	require.ErrorIs(t, err, backends.ErrNotFound)
}
