// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

func TestR21Copy(t *testing.T) {
	for _, oneBatch := range []int{0, 100} {
		e := &embedder{}
		w := open(t, options{embedder: e, config: library.Config{OneBatch: oneBatch}})
		w.load(shop, many("a", 450))
		w.put(shop, backends.Memory{ID: "old", Kind: backends.KindTask, Text: "before", SupersededBy: "a1", Invalidated: start})
		w.load(lab, many("b", 3))
		made := e.count()
		got, err := w.Copy(w.ctx, &library.CopyRequest{From: shop, To: lab})
		require.NoError(t, err)
		require.Equal(t, []int{451, 3}, []int{got.Loaded, got.Removed})
		require.Equal(t, 1, e.count()-made, "vectors are copied, one is made to know that they fit")
		want := w.all(shop)
		for id, m := range want {
			m.Scope.Workspace = "lab"
			want[id] = m
		}
		require.Equal(t, want, w.all(lab))
		require.Equal(t, w.vectors(shop, 451), w.vectors(lab, 451))
	}
}

func TestR21CopyNamesBoth(t *testing.T) {
	w := open(t, options{})
	w.load(shop, many("a", 2))
	ctx := backends.WithScope(w.ctx, lab)
	for _, r := range []*library.CopyRequest{nil, {From: shop}, {To: shop}} {
		_, err := w.Copy(ctx, r)
		require.ErrorIs(t, err, backends.ErrNoScope)
	}
	_, err := w.Copy(ctx, &library.CopyRequest{From: shop, To: backends.Scope{Workspace: " shop "}})
	require.ErrorIs(t, err, backends.ErrInvalid, "onto itself")
	_, err = w.Copy(ctx, &library.CopyRequest{From: lab, To: shop})
	require.ErrorIs(t, err, backends.ErrInvalid, "nothing empties a workspace")
	require.Len(t, w.ids(shop), 2)
	got, err := w.Copy(ctx, &library.CopyRequest{From: shop, To: backends.Scope{Namespace: "other", Workspace: "shop"}, Mode: library.Add})
	require.NoError(t, err)
	require.Equal(t, 2, got.Loaded)
}

// Two workspaces never meet, whatever their names have in common.
func TestR22WorkspacesNeverMeet(t *testing.T) {
	w := open(t, options{})
	scopes := []backends.Scope{{Workspace: "a-b"}, {Workspace: "a_b"}, {Workspace: "A-B"}, {Workspace: "a/b"}, {Workspace: "工作区"}, {Workspace: "a-b", Namespace: "other"}}
	for i, s := range scopes {
		w.load(s, task("same-id", "when the same comes up", string(rune('0'+i)))+task("own", "w", "x"))
	}
	for i, s := range scopes {
		require.Equal(t, string(rune('0'+i)), w.all(s)["same-id"].Text)
		require.Equal(t, []string{"same-id"}, w.found(s, "same comes"))
	}
	got, err := w.DeleteIDs(w.ctx, &library.DeleteIDsRequest{Scope: scopes[0], IDs: []string{"same-id"}})
	require.NoError(t, err)
	require.Equal(t, []string{"same-id"}, got.Deleted)
	_, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: scopes[1], Erase: true})
	require.NoError(t, err)
	require.Equal(t, []string{"own"}, w.ids(scopes[0]))
	require.Empty(t, w.ids(scopes[1]))
	for _, s := range scopes[2:] {
		require.Len(t, w.ids(s), 2)
	}
	for _, p := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent} {
		list, err := w.keeper.All(w.ctx, backends.Partition{Namespace: "default", Kind: p, ID: "a-b"})
		require.NoError(t, err)
		require.Empty(t, list)
	}
}
