// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testredis"
)

// Turns of two messages of 300 bytes, the newest 50 messages of a session, and a page of 1,000.
func BenchmarkLog(b *testing.B) {
	client := testredis.Need(b).Start(b).Client(b)
	s := newStore(b, client, nil)
	used := func() (n int64) {
		_, err := fmt.Sscan(client.InfoMap(b.Context(), "memory").Item("Memory", "used_memory"), &n)
		require.NoError(b, err)
		return n
	}
	turns := 0
	turn := func() {
		id := backends.NewID()
		a := &store.Append{}
		for _, suffix := range []string{"-u", "-a"} {
			a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: id + suffix, Turn: id, Message: schema.UserMessage(strings.Repeat("some words ", 14))}, Tokens: 30})
		}
		_, err := s.Append(b.Context(), ann, fmt.Sprint(turns%20), a)
		require.NoError(b, err)
		turns++
	}
	empty := used()
	for range 12_000 {
		turn()
	}
	stored := float64(used()-empty) / float64(2*turns)
	for name, r := range map[string]store.Range{"newest50": {Last: true, Limit: 50}, "first1000": {}, "middle50": {After: 500, Limit: 50}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := s.Read(b.Context(), ann, "3", r)
				require.NoError(b, err)
			}
		})
	}
	b.Run("turn", func(b *testing.B) {
		for b.Loop() {
			turn()
		}
		b.ReportMetric(stored, "redisB/message")
	})
}
