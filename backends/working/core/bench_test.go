// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/core"
)

// What the blocks cost each turn: three partitions, 6,000 characters.
func BenchmarkMessage(b *testing.B) {
	blocks := blocksOn(b, openStore(b))
	home := ann
	home.Workspace = "office"
	for _, name := range []string{"persona", "human", "house_rules"} {
		set(b, blocks, home, name, strings.Repeat("likes tea\n", 200))
	}
	for b.Loop() {
		_, err := blocks.Message(b.Context(), home)
		require.NoError(b, err)
	}
}

func BenchmarkReplace(b *testing.B) {
	blocks := one(b, 3000)
	set(b, blocks, ann, "human", strings.Repeat("likes tea\n", 200)+"tick")
	texts := []string{"tick", "tock"}
	for i := 0; b.Loop(); i++ {
		_, err := blocks.Replace(b.Context(), &core.ReplaceRequest{Scope: ann, Block: "human", Old: texts[i%2], New: texts[(i+1)%2]})
		require.NoError(b, err)
	}
}
