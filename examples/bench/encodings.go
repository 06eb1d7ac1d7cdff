// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/einomem/einomem/examples/internal/trial"
)

// noteEncodings adds what it costs and saves to store vectors as int8 instead of
// float32, in one partition.
func noteEncodings(r *trial.Report) {
	for i := range r.Searches {
		for j := range r.Searches {
			a, b := &r.Searches[i], &r.Searches[j]
			if a.How == "float32" && b.How == "int8" && a.Where == b.Where && a.Partitions == 1 && b.Partitions == 1 && a.Memories == b.Memories {
				r.Notes = append(r.Notes, fmt.Sprintf("%s, %d memories, vectors as float32 → int8: first answer of a process %.0f → %.0f ms, %d → %d bytes a memory, recall@10 %.3f → %.3f",
					a.Where, a.Memories, a.Cold.P50, b.Cold.P50, a.Stored, b.Stored, *a.Recall10, *b.Recall10))
			}
		}
	}
}
