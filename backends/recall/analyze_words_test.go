// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
)

// A table of words is a map by their lower case.
func TestWordTableEqualsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table recall.WordTable
		want := map[string]int32{}
		for i, word := range rapid.SliceOfN(rapid.StringMatching(`[a-cA-C0-2'.,;]{1,16}`), 0, 400).Draw(t, "words") {
			number, ok := table.Get(word)
			known, has := want[strings.ToLower(word)]
			require.Equal(t, has, ok, word)
			require.Equal(t, known, number, word)
			table.Put(word, int32(i-1))
			want[strings.ToLower(word)] = int32(i - 1)
		}
		for word, number := range want {
			got, ok := table.Get(word)
			require.True(t, ok)
			require.Equal(t, number, got)
		}
	})
}

// A table that is full forgets, and goes on.
func TestWordTableIsBounded(t *testing.T) {
	var table recall.WordTable
	for i := range 3 * recall.MaxWords {
		table.Put(strings.Repeat("x", 1+i%3)+numeral(i), int32(i))
	}
	require.LessOrEqual(t, table.Cells(), 4*recall.MaxWords)
	last := 3*recall.MaxWords - 1
	number, ok := table.Get(strings.Repeat("x", 1+last%3) + numeral(last))
	require.True(t, ok)
	require.Equal(t, int32(last), number)
}

func numeral(i int) string {
	out := []byte{}
	for ; i > 0; i /= 26 {
		out = append(out, byte('a'+i%26))
	}
	return string(out)
}
