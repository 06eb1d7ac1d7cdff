// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/modes"
)

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

const tea = "Ann drinks green tea"

// backend is a fake that always finds the same.
type backend struct {
	backends.Backend
	mu       sync.Mutex
	texts    []string
	hits     []backends.Hit
	searches []backends.SearchRequest
	find     func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)
}

func (b *backend) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	b.mu.Lock()
	b.searches = append(b.searches, *r)
	b.mu.Unlock()
	if b.find != nil {
		return b.find(ctx, r)
	}
	hits := append([]backends.Hit(nil), b.hits...)
	for i, t := range b.texts {
		hits = append(hits, backends.Hit{Score: 0.9, Memory: backends.Memory{ID: fmt.Sprintf("m%d", i), Text: t, Observed: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}})
	}
	return &backends.SearchResponse{Hits: hits}, nil
}

func (b *backend) queries() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]string, len(b.searches))
	for i, r := range b.searches {
		out[i] = r.Query
	}
	return out
}

// failures collects what OnError is told.
type failures struct {
	mu     sync.Mutex
	stages []string
	errs   []error
}

func (f *failures) add(_ context.Context, stage string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stages, f.errs = append(f.stages, stage), append(f.errs, err)
}

func (f *failures) seen() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.stages...), errors.Join(f.errs...)
}

// memory is a Hooks value and what is behind it.
type memory struct {
	*hooks.Hooks
	backend  *backend
	log      *log
	failures *failures
}

var staticPlan = modes.Plan{Search: true, Record: true}

func newMemory(t testing.TB, change func(*hooks.Config)) *memory {
	t.Helper()
	m := &memory{backend: &backend{texts: []string{tea}}, log: newLog(), failures: &failures{}}
	n := 0
	var mu sync.Mutex
	cfg := &hooks.Config{
		Backend: m.backend, Log: m.log, Plan: staticPlan, Scope: ann, OnError: m.failures.add,
		Clock: func() time.Time { return time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC) },
		IDs: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("t%d", n)
		},
	}
	if change != nil {
		change(cfg)
	}
	h, err := hooks.New(cfg)
	require.NoError(t, err)
	m.Hooks = h
	return m
}

func (m *memory) fine(t *testing.T) {
	t.Helper()
	stages, err := m.failures.seen()
	require.Empty(t, stages, err)
}
