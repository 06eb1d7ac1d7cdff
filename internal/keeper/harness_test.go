// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	ann   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	bob   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "bob"}
	shop  = backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "shop"}
)

func fixed() time.Time { return start }

func openStore(t require.TestingT) *sqlitestore.Store {
	st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: fixed})
	require.NoError(t, err)
	return st
}

// world is a keeper and what it stands on.
type world struct {
	*keeper.Keeper
	t      require.TestingT
	ranker *recall.Ranker
}

// open returns a keeper on a store of its own, unless a change gives it another.
func open(t testing.TB, change ...func(*keeper.Config, *recall.Config)) *world {
	t.Helper()
	c, rc := &keeper.Config{Name: "test", Clock: fixed}, &recall.Config{Clock: fixed, Keys: keeper.Keys}
	for _, f := range change {
		f(c, rc)
	}
	if c.Store == nil {
		st := openStore(t)
		t.Cleanup(func() { _ = st.Close() })
		c.Store = st
	}
	rc.Records, c.Embeds = c.Store, rc.Embedder != nil
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	c.Ranker = ranker
	k, err := keeper.New(c)
	require.NoError(t, err)
	return &world{Keeper: k, t: t, ranker: ranker}
}

func on(st store.Store) func(*keeper.Config, *recall.Config) {
	return func(c *keeper.Config, _ *recall.Config) { c.Store = st }
}

// fact returns a record that says text.
func fact(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
}

// put stores records, each after the one before.
func (w *world) put(p backends.Partition, records ...*store.Record) {
	stamp := w.Stamps(len(records))
	b := &store.Batch{}
	for i, r := range records {
		r.Created = stamp.Add(time.Duration(i) * time.Microsecond)
		r.Updated = r.Created
		b.Mutations = append(b.Mutations, store.Put(r))
	}
	_, err := w.Commit(ctx, p, b, nil)
	require.NoError(w.t, err)
}

// texts lists what the partition holds now.
func (w *world) texts(p backends.Partition) []string {
	resp, err := w.List(ctx, p, &backends.ListRequest{Limit: 1000})
	require.NoError(w.t, err)
	var out []string
	for _, m := range resp.Memories {
		out = append(out, m.Text)
	}
	return out
}

func (w *world) get(p backends.Partition, id string) *backends.Memory {
	m, err := w.Get(ctx, p, id)
	require.NoError(w.t, err)
	return m
}

func (w *world) found(p backends.Partition, query string) *backends.SearchResponse {
	resp, err := w.Search(ctx, p, &backends.SearchRequest{Query: query})
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Degraded)
	return resp
}
