// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func TestAListOfBlobsReadsARangeOfTheIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	open(t, path, nil)
	plan := queryPlan(t, raw(t, path), strings.ReplaceAll(sqlitestore.BlobsQuery, "?", "1"))
	require.Len(t, plan, 3)
	require.Contains(t, strings.Join(plan, "\n"), "(part=? AND session=? AND name>? AND name<?)")
	for _, detail := range plan {
		require.Contains(t, detail, "USING")
		require.NotContains(t, detail, "TEMP B-TREE")
	}
}

// Putting a blob must cost the same however many others the session has, and so
// must a page of a list.
func BenchmarkBlobs(b *testing.B) {
	data, ctx := make([]byte, 200<<10), context.Background()
	for _, others := range []int{0, 500} {
		s := openBench(b, nil)
		for i := range others {
			require.NoError(b, s.PutBlob(ctx, ann, "s", fmt.Sprintf("archive/%04d", i), data))
		}
		b.Run(fmt.Sprintf("put 200 KB beside %d", others), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				require.NoError(b, s.PutBlob(ctx, ann, "s", "archive/b", data))
			}
		})
		b.Run(fmt.Sprintf("list 100 of %d", others), func(b *testing.B) {
			for b.Loop() {
				_, err := s.ListBlobs(ctx, ann, "s", "archive/", store.Page{})
				require.NoError(b, err)
			}
		})
	}
}
