// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

func TestLookupFindsTheSameWords(t *testing.T) {
	w := open(t)
	r := fact("1", "Deploys need a tag.")
	r.Kind, r.WhenToUse = backends.KindTask, "a deploy fails"
	w.put(shop, r, fact("2", "Deploys need a tag."))
	found, err := w.Lookup(ctx, shop, keeper.TextKey(backends.KindTask, "A deploy fails!", "deploys need a TAG"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "1", found[0].ID)
	found, err = w.Lookup(ctx, ann, keeper.TextKey(backends.KindTask, "a deploy fails", "Deploys need a tag."))
	require.NoError(t, err)
	require.Empty(t, found, "a key is its partition's")
}

func TestHeldIsByID(t *testing.T) {
	w := open(t)
	w.put(ann, fact("1", "tea"), fact("2", "coffee"))
	held, err := w.Held(ctx, ann, "2", "3", "2")
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, "coffee", held["2"].Text)
	held, err = w.Held(ctx, ann)
	require.NoError(t, err)
	require.Empty(t, held)
}

func TestKeys(t *testing.T) {
	m := &backends.Memory{ID: "b", Kind: backends.KindFact, Text: "tea"}
	require.Equal(t, []string{keeper.TextKey(backends.KindFact, "", "tea")}, keeper.Keys(m))
	require.Empty(t, keeper.ChainKeys(m))
	m.Supersedes, m.SupersededBy = "a", "c"
	require.Subset(t, keeper.Keys(m), keeper.ChainKeys(m))
	before := &backends.Memory{ID: "a", SupersededBy: "b"}
	shared := 0
	for _, k := range keeper.ChainKeys(before) {
		for _, l := range keeper.ChainKeys(m) {
			if k == l {
				shared++
			}
		}
	}
	require.Positive(t, shared, "neighbours in a chain find each other")
	require.NotEqual(t, keeper.Key("a", "bc"), keeper.Key("ab", "c"))
}

func TestContentIDFollowsFromWhatItIs(t *testing.T) {
	base := keeper.ContentID(ann, backends.KindFact, "a", "b")
	require.Equal(t, base, keeper.ContentID(ann, backends.KindFact, "a", "b"))
	require.Equal(t, "0c928549-93e6-8a00-9091-0fdb9b251e5b", base, "ids stay what they are from release to release")
	require.Equal(t, base, keeper.HashID(ann.String(), "fact", "a", "b"))
	seen := map[string]bool{}
	for _, id := range []string{
		base, keeper.ContentID(bob, backends.KindFact, "a", "b"), keeper.ContentID(ann, backends.KindTask, "a", "b"), keeper.ContentID(ann, backends.KindFact, "ab"),
		keeper.ContentID(ann, backends.KindFact, "a", "b", ""), keeper.ContentID(ann, backends.KindFact, "b", "a"), keeper.ContentID(ann, backends.KindFact),
	} {
		require.False(t, seen[id])
		require.Len(t, id, 36)
		require.Equal(t, byte('8'), id[14], "version 8")
		seen[id] = true
	}
}

func TestCloneSharesNothing(t *testing.T) {
	fresh := func() *backends.Memory {
		q := 0.5
		return &backends.Memory{
			ID: "1", Quality: &q, Origin: backends.Origin{MessageIDs: []string{"a"}},
			Metadata: map[string]any{"list": []any{map[string]any{"x": 1.0}}, "none": nil},
		}
	}
	m := fresh()
	c := m.Clone()
	require.Equal(t, *m, c)
	*c.Quality = 1
	c.Origin.MessageIDs[0] = "b"
	c.Metadata["list"].([]any)[0].(map[string]any)["x"] = 2.0
	c.Metadata["new"] = true
	require.Equal(t, fresh(), m)

	bare := backends.Memory{ID: "2"}
	require.Equal(t, bare, bare.Clone(), "what is absent stays absent")
	require.Equal(t, map[string]any(nil), backends.CloneJSON(map[string]any(nil)))
	require.Nil(t, backends.CloneJSON(nil))
}

// The keys of every memory are made when a partition is loaded.
func BenchmarkKeys(b *testing.B) {
	for name, text := range map[string]string{
		"english": "When a deploy fails with a missing tag, create the tag on the release branch first and run it again with the same arguments.",
		"chinese": "部署因为缺少标签而失败时，先在发布分支上创建标签，再用相同的参数重新运行一次部署，并检查日志里的版本号。",
		"accents": "Quand le déploiement échoue à cause d'une étiquette manquante, créez-la d'abord sur la branche de publication, puis réessayez.",
	} {
		m := &backends.Memory{ID: "1", Kind: backends.KindTask, Text: text, WhenToUse: text}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				keeper.Keys(m)
			}
		})
	}
}

func TestTextKeyKeepsItsPartsApart(t *testing.T) {
	keys := map[string]bool{}
	for _, k := range []string{
		keeper.TextKey(backends.KindTask, "a", "b"), keeper.TextKey(backends.KindTask, "", "ab"), keeper.TextKey(backends.KindTask, "ab", ""),
		keeper.TextKey(backends.KindPersonal, "a", "b"), keeper.TextKey(backends.KindTask, "b", "a"), keeper.TextKey("task1:a", "", "b"),
	} {
		require.False(t, keys[k])
		keys[k] = true
	}
}
