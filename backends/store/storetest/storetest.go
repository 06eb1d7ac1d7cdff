// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the contract of package store as a test suite. Whoever
// writes a store runs it unchanged:
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
// A subtest is named by the behaviour that it proves. Nothing waits for real
// time: the suite moves the clock of [Options]. Every test works in namespaces of
// its own, so that the storage may be shared and need not be empty.
package storetest

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Options are what a store under test must be opened with.
type Options struct {
	Clock backends.Clock // the time that the store must go by
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
		{"apply", applyBehaviours}, {"key", keyBehaviours}, {"mutation", mutationBehaviours}, {"brief", briefBehaviours}, {"embedding", embeddingBehaviours},
		{"changes", changesBehaviours}, {"history", historyBehaviours}, {"drop", dropBehaviours}, {"partitions", partitionBehaviours},
		{"append", appendBehaviours}, {"learnt", learntBehaviours}, {"read", readBehaviours}, {"update", updateBehaviours}, {"lease", leaseBehaviours},
		{"expiry", expiryBehaviours}, {"list", listBehaviours}, {"blob", blobBehaviours}, {"blob list", blobListBehaviours}, {"title", titleBehaviours},
		{"isolation", isolationBehaviours}, {"invalid", invalidBehaviours}, {"context", contextBehaviours}, {"property", propertyBehaviours},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, b := range group.all {
				t.Run(b.name, func(t *testing.T) {
					clock := newClock()
					b.test(newEnv(t, open(t, Options{Clock: clock.Now}), clock))
				})
			}
		})
	}
}

// RunShared runs the tests of two handles on one storage: what one writes the
// other sees. openTwo is called once for each subtest.
func RunShared(t *testing.T, openTwo func(t *testing.T) (a, b store.Store)) {
	for _, b := range sharedBehaviours {
		t.Run(b.name, func(t *testing.T) {
			first, second := openTwo(t)
			e := newEnv(t, first, newClock())
			b.test(e, e.with(second))
		})
	}
}

// env is what a test works with: a store, its clock, and a partition that
// nobody else uses.
type env struct {
	rapid.TB // of the subtest, or of one run of the property
	store.Store
	ctx   context.Context
	clock *clock
	p     backends.Partition
}

func newEnv(t rapid.TB, s store.Store, c *clock) *env {
	return &env{TB: t, Store: s, ctx: context.Background(), clock: c,
		p: backends.Partition{Namespace: "storetest-" + backends.NewID(), Kind: backends.PartitionUser, ID: "ann"}}
}

// with returns the same test on another handle.
func (e *env) with(s store.Store) *env {
	other := *e
	other.Store = s
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
