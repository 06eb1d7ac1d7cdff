// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
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

// BenchmarkSearch finds among 10,000 memories, half of them facts that stand for
// the other half, and folds.
func BenchmarkSearch(b *testing.B) {
	m := open(b, with(thinking(b, func(shown) string { return operations() })))
	var dump strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&dump, `{"id":"e%d","kind":"episode","text":"On day %d I saw the lighthouse with my sister %d","origin":{"session":"s","message_ids":["m%d"]},"created":"2026-01-01T00:00:00Z"}`+"\n", i, i, i%97, i)
		fmt.Fprintf(&dump, `{"id":"f%d","kind":"fact","text":"The user saw lighthouse %d with a sister on day %d","origin":{"session":"s","message_ids":["m%d"]},"created":"2026-01-01T00:00:00Z"}`+"\n", i, i%97, i, i)
	}
	_, err := m.Load(ctx, ann, strings.NewReader(dump.String()))
	require.NoError(b, err)
	for name, kinds := range map[string][]backends.Kind{"folded": nil, "unfolded": {backends.KindFact, backends.KindEpisode}, "facts": {backends.KindFact}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Who saw lighthouse 42 on day 4242?", Kinds: kinds}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
