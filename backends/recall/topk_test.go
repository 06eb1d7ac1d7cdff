// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
)

func TestTopKEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}), 0, 60).Draw(t, "values")
		k := rapid.IntRange(0, 70).Draw(t, "k")
		times, names, order := make([]int64, len(values)), make([]string, len(values)), make([]int, len(values))
		for i := range values {
			times[i] = rapid.Int64Range(0, 2).Draw(t, "time")
			names[i] = fmt.Sprintf("%02d", (i*37)%100)
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(times[b], times[a]), cmp.Compare(names[a], names[b]))
		})
		require.ElementsMatch(t, order[:min(k, len(order))], recall.BestOf(k, values, times, names))
		require.True(t, slices.Equal(order[:min(k, len(order))], recall.BestOf(k, values, times, names)))
	})
}
