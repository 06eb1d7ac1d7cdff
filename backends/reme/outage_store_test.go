// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// errAway is what a store says that is away, and a model, and an embedder.
var errAway = fmt.Errorf("it is away: %w", backends.ErrUnavailable)

// faulty is a store whose calls are counted, and some of which fail.
type faulty struct {
	store.Store
	mu    sync.Mutex
	calls int
	// fails is asked of each call, by its number: whether it is carried out, and whether
	// the caller hears of it. Nil: yes and yes.
	fails func(n int) (carriedOut, heard bool)
}

// arm counts from now on.
func (f *faulty) arm(fails func(n int) (carriedOut, heard bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fails = 0, fails
}

// disarm ends the faults, and returns how many calls there were.
func (f *faulty) disarm() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = nil
	return f.calls
}

func via[T any](f *faulty, do func() (T, error)) (out T, err error) {
	f.mu.Lock()
	f.calls++
	carriedOut, heard := true, true
	if f.fails != nil {
		carriedOut, heard = f.fails(f.calls)
	}
	f.mu.Unlock()
	if carriedOut {
		out, err = do()
	}
	if !carriedOut || !heard {
		var none T
		return none, errAway
	}
	return out, err
}

// viaErr is via for calls without an answer.
func viaErr(f *faulty, do func() error) error {
	_, err := via(f, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f *faulty) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	return via(f, func() (*store.Applied, error) { return f.Store.Apply(ctx, p, b) })
}

func (f *faulty) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return via(f, func() ([]store.Record, error) { return f.Store.Get(ctx, p, ids...) })
}

func (f *faulty) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return via(f, func() (*store.ChangeSet, error) { return f.Store.Changes(ctx, p, cursor) })
}

func (f *faulty) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return via(f, func() ([]backends.Event, error) { return f.Store.History(ctx, p, id) })
}

func (f *faulty) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return via(f, func() (store.DropCount, error) { return f.Store.Drop(ctx, p) })
}

func (f *faulty) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	return via(f, func() (*store.Session, error) { return f.Store.Append(ctx, p, session, a) })
}

func (f *faulty) Session(ctx context.Context, p backends.Partition, session string) (*store.Session, error) {
	return via(f, func() (*store.Session, error) { return f.Store.Session(ctx, p, session) })
}

func (f *faulty) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	return via(f, func() ([]store.Entry, error) { return f.Store.Read(ctx, p, session, r) })
}

func (f *faulty) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return via(f, func() (*store.Session, error) { return f.Store.Update(ctx, p, u) })
}

func (f *faulty) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	return via(f, func() (*store.SessionPage, error) { return f.Store.List(ctx, q) })
}

func (f *faulty) Delete(ctx context.Context, p backends.Partition, session string) error {
	return viaErr(f, func() error { return f.Store.Delete(ctx, p, session) })
}

func (f *faulty) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	return viaErr(f, func() error { return f.Store.PutBlob(ctx, p, session, name, data) })
}

func (f *faulty) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return via(f, func() ([]byte, error) { return f.Store.GetBlob(ctx, p, session, name) })
}

func (f *faulty) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return via(f, func() (*store.BlobPage, error) { return f.Store.ListBlobs(ctx, p, session, prefix, page) })
}
