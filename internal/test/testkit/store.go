// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"slices"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// StoreCall is one call of a [Store].
type StoreCall struct {
	Method string // such as "Apply"
	N      int    // its number, from 0 on, since the store was made or armed
	Lost   bool   // set by Fails: the call is carried out, and its answer lost
	// Arg is the argument of Append, Read, Update and List; else nil.
	Arg any
	// Before and After may be set by Fails. They are called before and after the call, if
	// it is carried out. They hold no lock, so they may wait, and call the store.
	Before, After func()
}

// Store is a store that counts its calls, and lets them fail as a test says. It is safe
// for concurrent use.
type Store struct {
	store.Store

	mu    sync.Mutex
	calls []string
	fails func(*StoreCall) error
}

// Spy returns a store that hands its calls on to s.
func Spy(s store.Store) *Store { return &Store{Store: s} }

// Arm counts anew. From now on each call fails with the error that fails returns for it;
// nil lets it through. With StoreCall.Lost set the call is carried out first. A nil fails
// lets every call through.
func (s *Store) Arm(fails func(*StoreCall) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.fails = nil, fails
}

// FailOn lets every call of the methods fail with err.
func (s *Store) FailOn(err error, methods ...string) {
	s.Arm(func(c *StoreCall) error {
		if slices.Contains(methods, c.Method) {
			return err
		}
		return nil
	})
}

// Calls returns the methods called since the store was made or armed.
func (s *Store) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *Store) called(method string, arg any) (c *StoreCall, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = &StoreCall{Method: method, N: len(s.calls), Arg: arg}
	s.calls = append(s.calls, method)
	if s.fails != nil {
		err = s.fails(c)
	}
	return c, err
}

// through makes one call.
func through[T any](s *Store, method string, arg any, call func() (T, error)) (T, error) {
	var none T
	c, fail := s.called(method, arg)
	if fail != nil && !c.Lost {
		return none, fail
	}
	if c.Before != nil {
		c.Before()
	}
	out, err := call()
	if c.After != nil {
		c.After()
	}
	if fail != nil {
		return none, fail
	}
	return out, err
}

func just(s *Store, method string, call func() error) error {
	_, err := through(s, method, nil, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// Apply implements store.Records.
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	return through(s, "Apply", nil, func() (*store.Applied, error) { return s.Store.Apply(ctx, p, b) })
}

// Get implements store.Records.
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return through(s, "Get", nil, func() ([]store.Record, error) { return s.Store.Get(ctx, p, ids...) })
}

// Changes implements store.Records.
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return through(s, "Changes", nil, func() (*store.ChangeSet, error) { return s.Store.Changes(ctx, p, cursor) })
}

// History implements store.Records.
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return through(s, "History", nil, func() ([]backends.Event, error) { return s.Store.History(ctx, p, id) })
}

// Append implements store.Sessions.
func (s *Store) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	return through(s, "Append", a, func() (*store.Session, error) { return s.Store.Append(ctx, p, session, a) })
}

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, p backends.Partition, session string) (*store.Session, error) {
	return through(s, "Session", nil, func() (*store.Session, error) { return s.Store.Session(ctx, p, session) })
}

// Read implements store.Sessions.
func (s *Store) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	return through(s, "Read", r, func() ([]store.Entry, error) { return s.Store.Read(ctx, p, session, r) })
}

// Update implements store.Sessions.
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return through(s, "Update", u, func() (*store.Session, error) { return s.Store.Update(ctx, p, u) })
}

// List implements store.Sessions.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	return through(s, "List", q, func() (*store.SessionPage, error) { return s.Store.List(ctx, q) })
}

// Delete implements store.Sessions.
func (s *Store) Delete(ctx context.Context, p backends.Partition, session string) error {
	return just(s, "Delete", func() error { return s.Store.Delete(ctx, p, session) })
}

// PutBlob implements store.Blobs.
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	return just(s, "PutBlob", func() error { return s.Store.PutBlob(ctx, p, session, name, data) })
}

// GetBlob implements store.Blobs.
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return through(s, "GetBlob", nil, func() ([]byte, error) { return s.Store.GetBlob(ctx, p, session, name) })
}

// ListBlobs implements store.Blobs.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return through(s, "ListBlobs", nil, func() (*store.BlobPage, error) { return s.Store.ListBlobs(ctx, p, session, prefix, page) })
}
