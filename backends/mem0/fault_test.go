// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
)

// faulty is a store whose calls fail while fail is set.
type faulty struct {
	store.Store
	fail map[string]error
}

func (f *faulty) Apply(c context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := f.fail["Apply"]; err != nil {
		return nil, err
	}
	return f.Store.Apply(c, p, b)
}

func (f *faulty) Get(c context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := f.fail["Get"]; err != nil {
		return nil, err
	}
	return f.Store.Get(c, p, ids...)
}

func (f *faulty) Changes(c context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := f.fail["Changes"]; err != nil {
		return nil, err
	}
	return f.Store.Changes(c, p, cursor)
}

func (f *faulty) History(c context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := f.fail["History"]; err != nil {
		return nil, err
	}
	return f.Store.History(c, p, id)
}

func (f *faulty) Session(c context.Context, p backends.Partition, id string) (*store.Session, error) {
	if err := f.fail["Session"]; err != nil {
		return nil, err
	}
	return f.Store.Session(c, p, id)
}

func (f *faulty) Partitions(c context.Context, ns string, page store.Page) (*store.PartitionPage, error) {
	if err := f.fail["Partitions"]; err != nil {
		return nil, err
	}
	return f.Store.Partitions(c, ns, page)
}

func (f *faulty) Drop(c context.Context, p backends.Partition) (store.DropCount, error) {
	if err := f.fail["Drop"]; err != nil {
		return store.DropCount{}, err
	}
	return f.Store.Drop(c, p)
}

// A storage that fails is told apart from everything else, by every call.
func TestStoreFailuresAreReported(t *testing.T) {
	down := fmt.Errorf("disk full: %w", backends.ErrUnavailable)
	text := "coffee"
	for _, tc := range []struct {
		name  string
		fails []string
		call  func(b *mem0.Backend, id string) error
	}{
		{"Add", []string{"Apply", "Changes"}, func(b *mem0.Backend, _ string) error {
			_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("new")})
			return err
		}},
		{"Add with a checkpoint", []string{"Session", "Apply"}, func(b *mem0.Backend, _ string) error {
			_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("new"), Checkpoint: &backends.Checkpoint{Session: "s1", Upto: 1}})
			return err
		}},
		{"Search", []string{"Changes"}, func(b *mem0.Backend, _ string) error {
			_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
			return err
		}},
		{"Get", []string{"Get"}, func(b *mem0.Backend, id string) error {
			_, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
			return err
		}},
		{"List", []string{"Changes"}, func(b *mem0.Backend, _ string) error {
			_, err := b.List(ctx, &backends.ListRequest{Scope: ann})
			return err
		}},
		{"Update", []string{"Get", "Apply"}, func(b *mem0.Backend, id string) error {
			_, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
			return err
		}},
		{"Delete", []string{"Get", "Apply"}, func(b *mem0.Backend, id string) error {
			return b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id})
		}},
		{"DeleteAll", []string{"Changes", "Apply"}, func(b *mem0.Backend, _ string) error {
			_, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann})
			return err
		}},
		{"History", []string{"Changes", "History"}, func(b *mem0.Backend, id string) error {
			_, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
			return err
		}},
		{"Reset", []string{"Partitions", "Drop"}, func(b *mem0.Backend, _ string) error {
			_, err := b.Reset(ctx, backends.DefaultNamespace)
			return err
		}},
	} {
		for _, call := range tc.fails {
			t.Run(tc.name+" when "+call+" fails", func(t *testing.T) {
				f := &faulty{Store: openStore(t), fail: map[string]error{}}
				b := open(t, on(f))
				id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
				p, err := ann.Speaker()
				require.NoError(t, err)
				_, err = f.Append(ctx, p, "s1", &store.Append{Scope: ann, Entries: []store.Entry{{Message: user("x")[0]}}})
				require.NoError(t, err)
				f.fail[call] = down
				err = tc.call(b, id)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.NotErrorIs(t, err, backends.ErrNotFound)
				delete(f.fail, call)
				require.Equal(t, []string{"tea"}, list(t, b, ann), "nothing happened")
			})
		}
	}
}

// A conflict that never ends is given up.
func TestConflictsAreBounded(t *testing.T) {
	f := &faulty{Store: openStore(t), fail: map[string]error{}}
	m := thinking(t, func(shown) string { return operations(`{"op":"add","text":"A"}`) })
	b := open(t, on(f), with(m))
	id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
	f.fail["Apply"] = fmt.Errorf("somebody was faster: %w", backends.ErrConflict)
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("coffee")})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Len(t, m.Calls(), 2, "nothing that the model decided about changed: it is not asked again")
	text := "x"
	_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}), backends.ErrConflict)
}
