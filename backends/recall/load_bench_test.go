// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// readyPages is a store.Records that has its answers at hand, so that what is
// measured is the time of this package alone.
type readyPages struct {
	store.Records
	pages map[string]*store.ChangeSet // by cursor
}

func (r readyPages) Changes(_ context.Context, _ backends.Partition, cursor string) (*store.ChangeSet, error) {
	return r.pages[cursor], nil
}

// readPages reads a partition in pages of 1,000.
func readPages(b *testing.B, f *fakeRecords) readyPages {
	b.Helper()
	out := readyPages{pages: map[string]*store.ChangeSet{}}
	for cursor := ""; ; {
		c, err := f.Changes(b.Context(), ann, cursor)
		require.NoError(b, err)
		out.pages[cursor] = c
		if cursor == c.Cursor {
			return out
		}
		cursor = c.Cursor
	}
}

// BenchmarkColdLoad is what a new process does for its first search: it reads all
// pages, builds the index and ranks.
func BenchmarkColdLoad(b *testing.B) {
	for _, c := range []struct {
		name     string
		vectors  bool
		encoding recall.Encoding
	}{{"lexical", false, recall.Float32}, {"int8", true, recall.Int8}, {"float32", true, recall.Float32}} {
		b.Run(fmt.Sprintf("%s/%d", c.name, benchMemories), func(b *testing.B) {
			f, _ := benchRecords(b, benchMemories, c.encoding, c.vectors)
			pages := readPages(b, f)
			query := &backends.SearchRequest{Query: benchQueries()[0]}
			b.ReportAllocs()
			for b.Loop() {
				r := newRanker(b, pages, func(cfg *recall.Config) {
					if c.vectors {
						cfg.Embedder, cfg.EmbeddingModel, cfg.Encoding = dice{benchDim}, "dice", c.encoding
					}
				})
				require.NotEmpty(b, find(b, r, ann, query))
				require.NoError(b, r.Close())
			}
		})
	}
}
