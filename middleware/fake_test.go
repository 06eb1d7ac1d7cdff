// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
)

// fake is a backend that records what it is asked and answers as it is told.
type fake struct {
	mu       sync.Mutex
	searches []backends.SearchRequest
	adds     []backends.AddRequest
	closed   int

	memories []string // what every search finds
	onSearch func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)
	onAdd    func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error)
}

func (f *fake) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	f.mu.Lock()
	f.searches = append(f.searches, *r)
	f.mu.Unlock()
	if f.onSearch != nil {
		return f.onSearch(ctx, r)
	}
	return hits(f.memories...), nil
}

func (f *fake) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	f.mu.Lock()
	f.adds = append(f.adds, *r)
	f.mu.Unlock()
	if f.onAdd != nil {
		return f.onAdd(ctx, r)
	}
	return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "new", Text: r.Messages[0].Content}}}}, nil
}

func (f *fake) Close(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// seen returns what was asked so far.
func (f *fake) seen() ([]backends.SearchRequest, []backends.AddRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.searches, f.adds
}

func hits(texts ...string) *backends.SearchResponse {
	resp := &backends.SearchResponse{}
	for _, text := range texts {
		resp.Hits = append(resp.Hits, backends.Hit{Memory: backends.Memory{ID: "id-" + text, Text: text}, Score: 1})
	}
	return resp
}

// said returns the roles and texts of what an Add was to learn from.
func said(r *backends.AddRequest) [][2]string {
	var out [][2]string
	for _, m := range r.Messages {
		out = append(out, [2]string{string(m.Role), m.Content})
	}
	return out
}

// openStore returns a store of the test's own, in memory.
func openStore(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// ann is the scope of the tests' runs, unless said otherwise.
var ann = middleware.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}

// open returns a middleware over cfg, with a log of its own where the backend has
// none, and closes it with the test.
func open(t testing.TB, cfg *middleware.Config) *middleware.MemoryMiddleware {
	t.Helper()
	if _, own := cfg.Backend.(interface{ Sessions() store.Sessions }); !own && cfg.Sessions == nil {
		cfg.Sessions = openStore(t)
	}
	mem, err := middleware.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	return mem
}
