// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
)

// verbatim returns a mem0 that keeps each message as it was said.
func verbatim(t *testing.T, db *sqlitestore.Store) *mem0.Backend {
	t.Helper()
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Mode: mem0.Verbatim})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}

func texts(t *testing.T, b *mem0.Backend, s backends.Scope) map[string]int {
	t.Helper()
	page, err := b.List(t.Context(), &backends.ListRequest{Scope: s, Limit: 1000, IncludeSuperseded: true})
	require.NoError(t, err)
	require.Empty(t, page.Next)
	counts := make(map[string]int)
	for i := range page.Memories {
		counts[page.Memories[i].Text]++
	}
	return counts
}

// TestMem0LearnsEachTurnOnce runs two processes with mem0 behind them on one
// file, the second of which takes over what the first one leaves.
func TestMem0LearnsEachTurnOnce(t *testing.T) {
	path := t.TempDir() + "/memory.db"
	var wg sync.WaitGroup
	want := make(map[string]int)
	var backs []*mem0.Backend
	for n := range 2 {
		db := openStore(t, path, nil)
		back := verbatim(t, db)
		backs = append(backs, back)
		mem, err := working.New(t.Context(), &working.Config{
			Sessions: back.Sessions(), Backend: back, Idle: time.Millisecond, MaxTurns: 2, Backoff: time.Millisecond, Sweep: 5 * time.Millisecond,
			OnError: func(_ context.Context, stage string, err error) { t.Errorf("%s: %v", stage, err) },
		})
		require.NoError(t, err)
		for i := range 10 {
			id := fmt.Sprintf("%d.%d", n, i)
			want["question "+id], want["answer "+id] = 1, 1
		}
		wg.Go(func() {
			for i := range 10 {
				assert.NoError(t, mem.Record(t.Context(), say(fmt.Sprintf("%d.%d", n, i), ann)))
			}
			assert.NoError(t, mem.Flush(t.Context()))
			assert.NoError(t, mem.Close(t.Context()))
		})
	}
	wg.Wait()
	assert.Equal(t, want, texts(t, backs[0], ann))
}

// TestAModelThatFailsCostsNoTurn lets mem0's model fail: what was said stays in
// the log, and is learnt from when the model is back.
func TestAModelThatFailsCostsNoTurn(t *testing.T) {
	c := newClock()
	db := openStore(t, ":memory:", c.Now)
	broken := testkit.New(testkit.Fail(errors.New("503")))
	bad, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: broken})
	require.NoError(t, err)
	w := joinWorld(t, db, c, func(w *world) { w.cfg.Backend = bad })
	w.append(say("a", ann))
	_, err = w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NoError(t, bad.Close(t.Context()))

	good := verbatim(t, db)
	w = w.restart(func(w *world) { w.cfg.Backend = good })
	c.Advance(time.Hour)
	w.append(say("b", ann))
	w.sweep() // nothing of it: this process has the session on its list
	resp := w.consolidate(ann)
	assert.Len(t, resp.Items, 4)
	assert.True(t, resp.Checkpointed)
	assert.Equal(t, map[string]int{"question a": 1, "answer a": 1, "question b": 1, "answer b": 1}, texts(t, good, ann))
	hits, err := good.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "question b"})
	require.NoError(t, err)
	assert.Equal(t, "question b", hits.Hits[0].Text)
}
