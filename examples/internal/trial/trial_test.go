// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"
)

func TestACorpusIsMadeUpTheSameEachTime(t *testing.T) {
	a, b := NewCorpus(30, 5, 64), NewCorpus(30, 5, 64)
	require.Equal(t, a, b)
	require.NotEqual(t, a.Texts, NewCorpus(31, 5, 64).Texts[:30])
	require.Len(t, slices.Compact(slices.Clone(a.Strange)), 5, "each has a vector of its own")
	for _, q := range a.Strange {
		require.False(t, strings.ContainsAny(q, "wx0123456789"), q)
	}
}

func TestTextsOfOneTopicAreNear(t *testing.T) {
	topic, many := NewCorpus(1, 1, 256), NewCorpus(50_000, 1, 256)
	var one, other float64
	const n = 200
	for i := range n {
		x, y := strings.Repeat("a", i+1), strings.Repeat("b", i+1)
		v := topic.Vector(x)
		require.InDelta(t, 1, vek32.Dot(v, v), 1e-5)
		one += float64(vek32.Dot(v, topic.Vector(y))) / n
		other += float64(vek32.Dot(many.Vector(x), many.Vector(y))) / n
	}
	require.InDelta(t, 0.5, one, 0.15)
	require.InDelta(t, 0, other, 0.1)
}

func TestExactFindsWhatSortingAllFinds(t *testing.T) {
	c := NewCorpus(200, 6, 64)
	for i, got := range c.Exact(c.Queries, 10) {
		q := c.Vector(c.Queries[i])
		all := make([]int, len(c.Texts))
		for n := range all {
			all[n] = n
		}
		cosine := func(n int) float32 { return vek32.Dot(c.Vector(c.Texts[n]), q) }
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(cosine(b), cosine(a)) })
		require.Equal(t, all[:10], got)
	}
	require.Len(t, NewCorpus(3, 1, 64).Exact([]string{"q"}, 10)[0], 3, "no more than there are")
}

func TestSearchCountsWhatIsFoundOfTheNearest(t *testing.T) {
	c := NewCorpus(200, 4, 64)
	s := &Search{Partitions: 1}
	require.NoError(t, s.Search(c, true, func(_ int, query string) ([]int, error) { return c.Exact([]string{query}, 5)[0], nil }))
	require.InDelta(t, 0.5, *s.Recall10, 1e-9)
	require.Positive(t, s.Warm.P99)
	failed := errors.New("down")
	require.ErrorIs(t, s.Search(c, false, func(int, string) ([]int, error) { return nil, failed }), failed)
	_, _, err := Load(t.Context(), 3, 9, func(_ context.Context, _, op int) error {
		if op == 7 {
			return failed
		}
		return nil
	})
	require.ErrorIs(t, err, failed)
}

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := 101; i > 0; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, Quantiles{P50: 51, P95: 96, P99: 100}, QuantilesOf(times))
	require.Zero(t, QuantilesOf(nil))
}

func TestTheSizeOfAFolderIsThatOfAllFilesBelow(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
	for _, name := range []string{"a", "below/b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o600))
	}
	size, err := SizeOf(dir)
	require.NoError(t, err)
	require.Equal(t, int64(10), size)
	_, err = SizeOf(filepath.Join(dir, "missing"))
	require.Error(t, err)
	require.Positive(t, Heap())
}

func TestRowsAreMarkdown(t *testing.T) {
	half := 0.5
	s := &Search{Where: "redis", Partitions: 1, Memories: 1000, How: "int8", Recall10: &half, Times: 2, Stored: 7}
	require.Equal(t, "| redis | 1000 × 1 | int8 | 0.00 / 0.00 / 0.00 | 2.0 | 0.0 / 0.0 |  | 7 | 0 | 0.500 |\n", s.String(), "no ratio where there is no yardstick")
	w := &Write{Where: "redis", What: "add", Clients: 8, PerSec: 1234.5, Took: Quantiles{P50: 0.25, P95: 1}}
	require.Equal(t, "| redis | add | 8 | 1234 (0.25 / 1.00) |\n", w.String())
	for header, row := range map[string]string{SearchHeader: s.String(), WriteHeader: w.String()} {
		for line := range strings.Lines(header) {
			require.Equal(t, strings.Count(row, "|"), strings.Count(line, "|"))
		}
	}
}
