// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/testkit"
)

// blocksOn are core blocks in the partitions of mem0.
func blocksOn(t *testing.T, st store.Store) *core.Blocks {
	t.Helper()
	blocks, err := core.New(&core.Config{Records: st, Clock: fixed, Blocks: []core.Block{{Name: "human", Limit: 40}, {Name: "task", Owner: core.OwnerSession}}})
	require.NoError(t, err)
	return blocks
}

func note(t *testing.T, b *core.Blocks, block, text string) {
	t.Helper()
	_, err := b.Append(ctx, &core.AppendRequest{Scope: ann, Block: block, Text: text})
	require.NoError(t, err)
}

func blockTexts(t *testing.T, b *core.Blocks, s backends.Scope) map[string]string {
	t.Helper()
	values, err := b.Get(ctx, s)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, v := range values {
		texts[v.Block.Name] = v.Text
	}
	return texts
}

func TestCoreBlocksAreNoMemories(t *testing.T) {
	st := openStore(t)
	blocks := blocksOn(t, st)
	e := &testkit.Embedder{Dim: 16}
	b := open(t, on(st), with(resident(t)), embedded(e))
	note(t, blocks, "human", "I live in Beijing")
	note(t, blocks, "task", "The user lives in Shanghai.")

	items := add(t, b, ann, user("I live in Beijing")...).Items
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(&backends.AddResponse{Items: items}, backends.KindFact), "not known, nothing replaced")
	items = add(t, b, ann, user("I moved to Shanghai")...).Items
	require.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(&backends.AddResponse{Items: items}, backends.KindFact))
	require.Equal(t, map[string]string{"human": "I live in Beijing", "task": "The user lives in Shanghai."}, blockTexts(t, blocks, ann))

	for _, kinds := range [][]backends.Kind{nil, {backends.KindCore}, {backends.KindCore, backends.KindFact}} {
		resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "lives in Beijing Shanghai", TopK: 50, Kinds: kinds, IncludeSuperseded: true})
		require.NoError(t, err)
		for _, h := range resp.Hits {
			require.NotEqual(t, backends.KindCore, h.Kind)
		}
	}
	require.Len(t, list(t, b, ann), 3, "two turns, a fact that holds")
	require.ElementsMatch(t, []string{"I live in Beijing", "The user lives in Shanghai."}, list(t, b, ann, backends.KindCore))
}

// A tool that updates or deletes memories is no way round a block's limit.
func TestMemoryToolsCannotChangeCoreBlocks(t *testing.T) {
	st := openStore(t)
	blocks, b := blocksOn(t, st), open(t, on(st))
	note(t, blocks, "human", "likes tea")
	resp, err := b.List(ctx, &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindCore}})
	require.NoError(t, err)
	id := resp.Memories[0].ID
	long := strings.Repeat("x", 1000)
	for _, version := range []int64{0, resp.Memories[0].Version} {
		_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &long, Version: version})
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "core_memory_replace")
		require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id, Version: version}), backends.ErrInvalid)
	}
	require.Equal(t, "likes tea", blockTexts(t, blocks, ann)["human"])

	got, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	require.Equal(t, "likes tea", got.Text)
	events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	require.Len(t, events, 1)
	_, err = b.Get(ctx, &backends.GetRequest{Scope: backends.Scope{UserID: "bob"}, ID: id})
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestDumpLoadAndDeleteAllTakeCoreBlocks(t *testing.T) {
	st := openStore(t)
	blocks := blocksOn(t, st)
	e := &testkit.Embedder{Dim: 16}
	b := open(t, on(st), embedded(e), in(mem0.Verbatim))
	add(t, b, ann, user("hello")...)
	note(t, blocks, "human", "likes tea")
	note(t, blocks, "task", "x")
	_, err := blocks.Replace(ctx, &core.ReplaceRequest{Scope: ann, Block: "task", Old: "x"})
	require.NoError(t, err)

	var dump strings.Builder
	n, err := b.Dump(ctx, ann, &dump)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	bob := backends.Scope{UserID: "bob", SessionID: "s1"}
	n, err = b.Load(ctx, bob, strings.NewReader(dump.String()))
	require.NoError(t, err)
	require.Equal(t, 3, n, "an empty block, too")
	require.Equal(t, map[string]string{"human": "likes tea", "task": ""}, blockTexts(t, blocks, bob))
	p, err := bob.Speaker()
	require.NoError(t, err)
	recs, err := st.Get(ctx, p, "core/user/human")
	require.NoError(t, err)
	require.Empty(t, recs[0].Vector)
	require.Equal(t, "bob", recs[0].Scope.UserID)

	blocksAlone := backends.Eq("kind", "core")
	n, err = b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann, Filter: &blocksAlone})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: bob})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	for _, s := range []backends.Scope{ann, bob} {
		require.Equal(t, map[string]string{"human": "", "task": ""}, blockTexts(t, blocks, s))
	}
	require.Len(t, list(t, b, ann), 1)
	require.Empty(t, list(t, b, bob))
}

// Pages of a list that core blocks are among are those of one order.
func TestListPagesWithCoreBlocks(t *testing.T) {
	st := openStore(t)
	blocks, b := blocksOn(t, st), open(t, on(st), in(mem0.Verbatim))
	add(t, b, ann, user("one", "two", "three")...)
	note(t, blocks, "human", "a")
	note(t, blocks, "task", "b")
	r := &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindCore, backends.KindEpisode}, Limit: 1}
	seen := map[string]bool{}
	for {
		resp, err := b.List(ctx, r)
		require.NoError(t, err)
		for _, m := range resp.Memories {
			require.False(t, seen[m.ID])
			seen[m.ID] = true
		}
		if r.Cursor = resp.Next; r.Cursor == "" {
			break
		}
	}
	require.Len(t, seen, 5)
}
