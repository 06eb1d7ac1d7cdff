// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
)

// A matrix holds for each slot the vector that it was given last, and no other.
func TestMatrixEqualsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := recall.NewMatrix(2)
		want := map[int32][]float32{}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			slot := int32(rapid.IntRange(0, 9).Draw(t, "slot"))
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				m.Remove(slot)
				delete(want, slot)
			} else {
				m.Put(slot, []float32{float32(i), float32(slot)})
				want[slot] = []float32{float32(i), float32(slot)}
			}
			require.Equal(t, want, m.Rows())
		}
	})
}

// What leaves makes room for what comes.
func TestMatrixUsesItsRoomAgain(t *testing.T) {
	m := recall.NewMatrix(4)
	for slot := range int32(100) {
		m.Put(slot, make([]float32, 4))
	}
	before := m.Bytes()
	for slot := range int32(50) {
		m.Remove(slot)
	}
	for slot := range int32(50) {
		m.Put(slot+100, make([]float32, 4))
	}
	require.Equal(t, before, m.Bytes())
}
