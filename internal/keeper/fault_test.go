// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// faulty is a store whose calls fail with fail, if it is set: those in only, or all.
// before is called ahead of each Apply.
type faulty struct {
	store.Store
	fail   error
	only   string
	before func()
}

func (f *faulty) failing(call string) error {
	if f.only != "" && f.only != call {
		return nil
	}
	return f.fail
}

func (f *faulty) Apply(c context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if f.before != nil {
		f.before()
	}
	if err := f.failing("Apply"); err != nil {
		return nil, err
	}
	return f.Store.Apply(c, p, b)
}

func (f *faulty) Get(c context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := f.failing("Get"); err != nil {
		return nil, err
	}
	return f.Store.Get(c, p, ids...)
}

func (f *faulty) Changes(c context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := f.failing("Changes"); err != nil {
		return nil, err
	}
	return f.Store.Changes(c, p, cursor)
}

func (f *faulty) History(c context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := f.failing("History"); err != nil {
		return nil, err
	}
	return f.Store.History(c, p, id)
}
