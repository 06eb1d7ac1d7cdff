// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/core"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ann  = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	// four is a block of each owner.
	four = []core.Block{
		{Name: "persona", Description: "Who you are", Owner: core.OwnerAgent, Initial: "I am helper."},
		{Name: "human", Description: "What you know about the user"},
		{Name: "house_rules", Owner: core.OwnerWorkspace, ReadOnly: true},
		{Name: "task", Owner: core.OwnerSession, Limit: 20},
	}
)

func openStore(t testing.TB) store.Store {
	t.Helper()
	st, err := sqlitestore.Open(context.Background(), ":memory:", &sqlitestore.Config{Clock: fixed})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func fixed() time.Time { return noon }

func blocksOn(t testing.TB, st store.Records, change ...func(*core.Config)) *core.Blocks {
	t.Helper()
	cfg := &core.Config{Records: st, Blocks: four, Clock: fixed}
	for _, f := range change {
		f(cfg)
	}
	b, err := core.New(cfg)
	require.NoError(t, err)
	return b
}

// one returns blocks with a single one, "human", of the given limit.
func one(t testing.TB, limit int, change ...func(*core.Config)) *core.Blocks {
	t.Helper()
	human := func(c *core.Config) { c.Blocks = []core.Block{{Name: "human", Limit: limit}} }
	return blocksOn(t, openStore(t), append([]func(*core.Config){human}, change...)...)
}

func appendTo(b *core.Blocks, name, text string) (*core.Value, error) {
	return b.Append(context.Background(), &core.AppendRequest{Scope: ann, Block: name, Text: text})
}

func replaceIn(b *core.Blocks, name, old, text string) (*core.Value, error) {
	return b.Replace(context.Background(), &core.ReplaceRequest{Scope: ann, Block: name, Old: old, New: text})
}

func set(t testing.TB, b *core.Blocks, s backends.Scope, name, text string) *core.Value {
	t.Helper()
	v, err := b.Set(context.Background(), &core.SetRequest{Scope: s, Block: name, Text: text, Version: core.AnyVersion})
	require.NoError(t, err)
	return v
}

// held returns what the scope's blocks hold, by name.
func held(t testing.TB, b *core.Blocks, s backends.Scope) map[string]string {
	t.Helper()
	values, err := b.Get(context.Background(), s)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, v := range values {
		texts[v.Block.Name] = v.Text
	}
	return texts
}

// elsewhere counts the calls of a store's Get, and can go between one and what
// follows it.
type elsewhere struct {
	store.Records
	reads   int
	between func()
}

func (e *elsewhere) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	e.reads++
	records, err := e.Records.Get(ctx, p, ids...)
	if f := e.between; f != nil {
		e.between = nil
		f()
	}
	return records, err
}
