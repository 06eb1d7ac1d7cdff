// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// faulty is a store that counts its calls, and asks before each whether it fails.
type faulty struct {
	store.Store
	mu     sync.Mutex
	calls  int
	before func(call int, name string) error // ahead of the call; nil: go on
	after  func(call int, name string) error // the call was carried out; nil: say so
}

func (f *faulty) call(name string, do func() error) error {
	f.mu.Lock()
	f.calls++
	n, before, after := f.calls, f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(n, name); err != nil {
			return err
		}
	}
	if err := do(); err != nil || after == nil {
		return err
	}
	return after(n, name)
}

func answer[T any](f *faulty, name string, do func() (T, error)) (out T, err error) {
	err = f.call(name, func() (err error) { out, err = do(); return err })
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

func (f *faulty) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	return answer(f, "Apply", func() (*store.Applied, error) { return f.Store.Apply(ctx, p, b) })
}

func (f *faulty) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return answer(f, "Get", func() ([]store.Record, error) { return f.Store.Get(ctx, p, ids...) })
}

func (f *faulty) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return answer(f, "Changes", func() (*store.ChangeSet, error) { return f.Store.Changes(ctx, p, cursor) })
}

func (f *faulty) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	return answer(f, "Append", func() (*store.Session, error) { return f.Store.Append(ctx, p, session, a) })
}

func (f *faulty) Session(ctx context.Context, p backends.Partition, session string) (*store.Session, error) {
	return answer(f, "Session", func() (*store.Session, error) { return f.Store.Session(ctx, p, session) })
}

func (f *faulty) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return answer(f, "Update", func() (*store.Session, error) { return f.Store.Update(ctx, p, u) })
}

func (f *faulty) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	return f.call("PutBlob", func() error { return f.Store.PutBlob(ctx, p, session, name, data) })
}

func (f *faulty) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return answer(f, "GetBlob", func() ([]byte, error) { return f.Store.GetBlob(ctx, p, session, name) })
}

func (f *faulty) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return answer(f, "ListBlobs", func() (*store.BlobPage, error) { return f.Store.ListBlobs(ctx, p, session, prefix, page) })
}
