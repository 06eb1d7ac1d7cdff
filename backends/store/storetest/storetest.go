// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the contract of package store as a test suite, which every
// store passes unchanged:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
//			s, err := mystore.Open(t.TempDir(), &mystore.Config{Clock: o.Clock})
//			require.NoError(t, err)
//			t.Cleanup(func() { require.NoError(t, s.Close()) })
//			return s
//		})
//	}
//
// A subtest is named by the behaviour that it proves. The suite moves the clock of
// [Options] instead of waiting. Every test works in a namespace of its own, so the
// storage may be shared and hold other data.
package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Options are the settings that a store under test must be opened with.
type Options struct {
	Clock backends.Clock // the time that the store must use
}

// behaviour is one test of the suite.
type behaviour struct {
	name string
	test func(*env)
}

// Run runs the whole suite. open is called once for each subtest; it closes the
// store in a cleanup of t.
func Run(t *testing.T, open func(t *testing.T, o Options) store.Store) {
	for _, group := range []struct {
		name string
		all  []behaviour
	}{
		{"records", recordBehaviours}, {"changes", changesBehaviours}, {"sessions", sessionBehaviours}, {"lists", listBehaviours},
		{"blobs", blobBehaviours}, {"partitions", partitionBehaviours}, {"forget", forgetBehaviours}, {"isolation", isolationBehaviours}, {"invalid", invalidBehaviours},
		{"concurrency", concurrencyBehaviours}, {"property", propertyBehaviours},
	} {
		t.Run(group.name, func(t *testing.T) {
			runAll(t, group.all, func(t *testing.T, o Options) []store.Store { return []store.Store{open(t, o)} })
		})
	}
}

// RunShared runs the tests that two handles on one storage pass like one: each sees the
// writes of the other, and writes at the same time are all kept. The function openTwo is
// called once for each subtest.
func RunShared(t *testing.T, openTwo func(t *testing.T, o Options) (a, b store.Store)) {
	runAll(t, slices.Concat(concurrencyBehaviours, forgetBehaviours, propertyBehaviours), func(t *testing.T, o Options) []store.Store {
		first, second := openTwo(t, o)
		return []store.Store{first, second}
	})
}

// runAll runs each test with handles of its own.
func runAll(t *testing.T, all []behaviour, open func(t *testing.T, o Options) []store.Store) {
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			clock := newClock()
			b.test(newEnv(t, clock, open(t, Options{Clock: clock.Now})...))
		})
	}
}

// env is the setting of a test: a store, its clock, and a partition of its own.
type env struct {
	rapid.TB    // of the subtest, or of one run of the property
	store.Store // the first handle, unless a test takes another
	handles     []store.Store
	ctx         context.Context
	clock       *clock
	p           backends.Partition
}

func newEnv(t rapid.TB, c *clock, handles ...store.Store) *env {
	return &env{TB: t, Store: handles[0], handles: handles, ctx: context.Background(), clock: c,
		p: backends.Partition{Namespace: "storetest-" + backends.NewID(), Kind: backends.PartitionUser, ID: "ann"}}
}

// handle returns the same test on one of the handles, which i chooses.
func (e *env) handle(i int) *env {
	other := *e
	other.Store = e.handles[i%len(e.handles)]
	return &other
}

// in returns the same test in another partition.
func (e *env) in(p backends.Partition) *env {
	other := *e
	other.p = p
	return &other
}

// user returns the same test in the partition of another user.
func (e *env) user(id string) *env {
	p := e.p
	p.ID = id
	return e.in(p)
}

// clock stands still until a test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 1, 9, 30, 0, 250_000_000, time.UTC)}
}

// Now returns the time that the test has set.
func (c *clock) Now() time.Time { return c.pass(0) }

// pass moves the time on and returns it.
func (c *clock) pass(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
