// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
)

func TestANoteIsKnownByItsMark(t *testing.T) {
	m := schema.UserMessage("a note")
	require.False(t, einox.IsNote(m))
	require.False(t, einox.IsNote(nil))
	shared := map[string]any{"kept": 1}
	m.Extra = shared
	einox.MarkNote(m)
	require.True(t, einox.IsNote(m))
	require.Equal(t, 1, m.Extra["kept"])
	require.NotContains(t, shared, einox.MarkerKey, "a map that others may hold is not written to")
	m.Extra[einox.MarkerKey] = 7
	require.False(t, einox.IsNote(m), "a mark of another type is not ours")
}

func TestMarkTurnCopies(t *testing.T) {
	m := schema.UserMessage("hi")
	m.Extra = map[string]any{"kept": 1}
	got := einox.MarkTurn(m, "t1")
	require.Equal(t, "t1", einox.TurnOf(got))
	require.Equal(t, 1, got.Extra["kept"])
	require.Equal(t, "hi", got.Content)
	require.Empty(t, einox.TurnOf(m))
	require.Len(t, m.Extra, 1)
	require.Equal(t, "t2", einox.TurnOf(einox.MarkTurn(schema.UserMessage("x"), "t2")))
	require.Empty(t, einox.TurnOf(nil))
}
