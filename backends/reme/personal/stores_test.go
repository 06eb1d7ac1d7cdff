// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// biography learns a life in several requests, in an order of its own, and returns what
// can be seen of it.
func biography(t *testing.T, st store.Store) string {
	w := open(t, on(st))
	w.summarize(t, ann, said(5, "I moved to Shanghai"), said(6, "我喜欢绿茶"))
	w.summarize(t, ann, said(-30, "I live in Beijing"), said(-60, "I live in Tianjin"), said(-20, "I like teapots"))
	w.summarize(t, ann, said(7, "I moved to Oslo"), said(8, "I live in Shanghai"), said(9, "I like tea"))
	var seen strings.Builder
	for _, m := range w.all(t, partitionOf(t, ann)) {
		fmt.Fprintln(&seen, m.ID, m.Text, m.Observed, m.Invalidated, m.Supersedes, m.SupersededBy, m.Version)
		history, err := w.keeper.History(ctx, partitionOf(t, ann), m.ID)
		require.NoError(t, err)
		for _, e := range history {
			fmt.Fprintln(&seen, "  ", e.Type, e.MemoryID, e.By, e.Supersedes, e.Version)
		}
	}
	for _, query := range []string{"Where does user live?", "喝什么茶", "what was said last month"} {
		got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: query})
		fmt.Fprintf(&seen, "%s\n%s\n", query, got.Answer)
	}
	return seen.String()
}

func TestR26EveryStoreKeepsTheSameMemories(t *testing.T) {
	want := biography(t, openStore(t))
	assert.Contains(t, want, "user lives in Shanghai. (said 2026-03-10")
	testredis.Each(t, func(t *testing.T, client func(testing.TB) redis.UniversalClient) {
		st, err := redisstore.New(ctx, client(t), &redisstore.Config{Clock: fixed, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		assert.Equal(t, want, biography(t, st))
	})
}
