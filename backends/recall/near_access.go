// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/einomem/einomem/backends/store"
)

// nearRetry is how long a partition is searched in memory after the store said
// that it cannot find neighbours in it. Then it is asked again.
const nearRetry = 5 * time.Minute

// access is what is known of the store's ability to find neighbours in one
// partition. It is forgotten with the partition.
type access struct {
	mu      sync.Mutex
	refused bool      // the store said that it cannot
	since   time.Time // when it said so last
	granted bool      // a probe has shown that it can
	probing bool
}

// closed reports whether the store said lately that it cannot.
func (a *access) closed(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shut(now)
}

func (a *access) shut(now time.Time) bool {
	return a.refused && now.Sub(a.since) < nearRetry
}

func (a *access) isGranted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.granted
}

// refuse notes that the store cannot.
func (a *access) refuse(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused, a.since, a.granted = true, now, false
}

// startProbe reports whether the caller is to probe now.
func (a *access) startProbe(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.probing || a.shut(now) {
		return false
	}
	a.probing = true
	return true
}

func (a *access) endProbe(granted bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probing, a.granted = false, granted
	a.refused, a.since = !granted, now
}

// probe asks the store for one neighbour before a loaded partition gives its
// vectors up, off the path of the searches: the store may have to build its index
// first.
func (p *partition) probe(ctx context.Context, near store.Near) {
	clock := p.ranker.config.Clock
	if !p.access.startProbe(clock()) {
		return
	}
	ctx, finish, err := p.ranker.background(ctx)
	if err != nil { // closed
		p.access.endProbe(false, clock())
		return
	}
	space := *p.index.embedding // the caller is the flight: nobody else changes the index
	q := &store.NearestQuery{Vector: slices.Clone(p.index.matrix.row(0)), Limit: 1, Embedding: &space, Decode: Decoder(space)}
	go func() {
		defer finish()
		_, err := near.Nearest(ctx, p.key, q)
		p.access.endProbe(err == nil, clock())
	}()
}

// Decoder returns the function that reads the stored vectors of a space, as Embed
// returned it, for a [store.NearestQuery] or a store that is to build its index
// ahead. A vector of another model, and one that cannot be read, is an error. It is
// safe for concurrent use.
func Decoder(space store.Embedding) func([]byte) ([]float32, error) {
	return func(encoded []byte) ([]float32, error) {
		v := make([]float32, space.Dim)
		return v, decodeVector(v, encoded, space)
	}
}
