// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/note"
)

func hits(ids ...string) []backends.Hit {
	out := make([]backends.Hit, len(ids))
	for i, id := range ids {
		out[i].ID = id
	}
	return out
}

func TestIDsAreShortAndDifferent(t *testing.T) {
	require.Equal(t, []string{"6c5d4e", "D1:3", "a name: 用户偏好一二三四五"},
		note.IDs(hits("0198c2d4-5b1a-7c3e-9f00-1a2b6c5d4e", "D1:3", "a name: 用户偏好一二三四五")))
	require.Equal(t, []string{"b6c5d4e", "a6c5d4e"}, note.IDs(hits("0198c2d4-5b1a-7c3e-9f00-1a2b6c5d4e", "0198c2d4-5b1a-7c3e-9f00-1a2a6c5d4e")))
}

func TestAnIDIsShownForItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{0,5}[ab-]{4,14}`), 1, 8, rapid.ID[string]).Draw(t, "ids")
		shown := note.IDs(hits(ids...))
		for i, id := range ids {
			for j, s := range shown {
				require.Equal(t, i == j, note.Shows(s, id) && s == shown[i], "%v %v", ids, shown)
			}
		}
	})
}
