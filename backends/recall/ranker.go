// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"
	"sync"

	"github.com/einomem/einomem/backends"
)

// Ranker finds memories in a partition and orders them. It keeps partitions in
// memory and asks the store before each search what changed. All its methods are
// safe for concurrent use.
type Ranker struct {
	config   Config
	analyzer *analyzer
	cache    *cache
	scratch  sync.Pool // of *scratch

	life   context.Context // ends with Close
	end    context.CancelFunc
	mu     sync.Mutex // closed, and flights.Add against Close
	closed bool
	flying sync.WaitGroup
}

// New returns a Ranker. It makes no call to the store or the embedder. A
// configuration that cannot work is ErrInvalid. Close it after use.
func New(_ context.Context, cfg *Config) (*Ranker, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer()
	if err != nil {
		return nil, err
	}
	r := &Ranker{config: c, analyzer: a, cache: newCache(c.MaxBytes)}
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// Stats returns what the Ranker holds now.
func (r *Ranker) Stats() Stats { return r.cache.snapshot() }

// Close ends what is being loaded and waits for it. Calls after it are
// ErrUnavailable. The store and the embedder stay open.
func (r *Ranker) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.flying.Wait()
	return nil
}

// partition returns the index of p, current.
func (r *Ranker) partition(ctx context.Context, p backends.Partition) (*partition, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	part := r.cache.get(p, func() *partition { return &partition{ranker: r, key: p} })
	if err := part.current(ctx); err != nil {
		return nil, err
	}
	return part, nil
}

// background returns a context for work that goes on when the caller gives up:
// it keeps the values of ctx and ends with Close, which waits until finish.
func (r *Ranker) background(ctx context.Context) (work context.Context, finish func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, fmt.Errorf("recall: %w: the ranker is closed", backends.ErrUnavailable)
	}
	r.flying.Add(1)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.life, cancel)
	return work, func() { stop(); cancel(); r.flying.Done() }, nil
}

func (r *Ranker) newIndex() *index {
	x := newIndex(r.analyzer, r.config.Embedder != nil)
	x.keyFunc = r.config.Keys
	return x
}
