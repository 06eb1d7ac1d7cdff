// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// faulty is a store that calls before ahead of each call, and whose nth call from now
// fails.
type faulty struct {
	store.Store
	before func(call string)

	mu     sync.Mutex
	calls  int
	failAt int // the number of the call that fails, and all after it; 0: none
	once   bool
}

func (f *faulty) call(name string) error {
	if f.before != nil {
		f.before(name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.failAt > 0 && (f.calls == f.failAt || f.calls > f.failAt && !f.once) {
		return fmt.Errorf("call %d, %s: disk full: %w", f.calls, name, backends.ErrUnavailable)
	}
	return nil
}

func (f *faulty) Apply(c context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := f.call("Apply"); err != nil {
		return nil, err
	}
	return f.Store.Apply(c, p, b)
}

func (f *faulty) Get(c context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := f.call("Get"); err != nil {
		return nil, err
	}
	return f.Store.Get(c, p, ids...)
}

func (f *faulty) Changes(c context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := f.call("Changes"); err != nil {
		return nil, err
	}
	return f.Store.Changes(c, p, cursor)
}

// heard is an embedder that keeps what it is shown.
type heard struct {
	embedding.Embedder
	mu    sync.Mutex
	texts []string
}

func (h *heard) EmbedStrings(ctx context.Context, texts []string, opts ...embedding.Option) ([][]float64, error) {
	h.mu.Lock()
	h.texts = append(h.texts, texts...)
	h.mu.Unlock()
	return h.Embedder.EmbedStrings(ctx, texts, opts...)
}
