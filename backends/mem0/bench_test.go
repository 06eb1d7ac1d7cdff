// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// BenchmarkAddVerbatim stores a turn of two messages in a file that is synced to
// the disk with every write.
func BenchmarkAddVerbatim(b *testing.B) {
	for _, held := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			st, err := sqlitestore.Open(ctx, b.TempDir()+"/memory.db", nil)
			require.NoError(b, err)
			defer st.Close()
			m, err := mem0.New(ctx, &mem0.Config{Store: st})
			require.NoError(b, err)
			turn := func(n int) *backends.AddRequest {
				return &backends.AddRequest{Scope: ann, Messages: []backends.Message{
					{Message: schema.UserMessage(fmt.Sprintf("On day %d I went to see the lighthouse with my sister and her two dogs", n))},
					{Message: schema.AssistantMessage(fmt.Sprintf("That sounds lovely, day %d must have been windy out there", n), nil)},
				}}
			}
			all := &backends.AddRequest{Scope: ann}
			for i := range held / 2 {
				all.Messages = append(all.Messages, turn(-i-1).Messages...)
			}
			_, err = m.Add(ctx, all)
			require.NoError(b, err)
			n := 0
			for b.Loop() {
				n++
				if _, err := m.Add(ctx, turn(n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
