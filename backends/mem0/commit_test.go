// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testkit"
)

func TestD3_ConcurrentAddsStoreOnce(t *testing.T) {
	for _, mode := range []mem0.Mode{mem0.Verbatim, mem0.Reconcile} {
		t.Run(string(mode), func(t *testing.T) {
			b := open(t, in(mode), with(answering(operations(`{"op":"add","text":"The user likes tea.","said_by":"user"}`))))
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("I like tea")})
					require.NoError(t, err)
				})
			}
			wg.Wait()
			want := []string{"The user likes tea.", "I like tea"}
			if mode == mem0.Verbatim {
				want = want[1:]
			}
			require.Equal(t, want, list(t, b, ann))
		})
	}
}

// Two backends on one file are two processes: nothing in memory is shared.
func TestD3_ProcessesStoreOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var backendsOnFile [2]*mem0.Backend
	for i := range backendsOnFile {
		st, err := sqlitestore.Open(ctx, path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		backendsOnFile[i] = open(t, on(st))
	}
	var wg sync.WaitGroup
	for _, b := range backendsOnFile {
		for i := range 20 {
			wg.Go(func() {
				_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user(fmt.Sprintf("fact %d", i%5), "same")})
				require.NoError(t, err)
			})
		}
	}
	wg.Wait()
	require.Len(t, list(t, backendsOnFile[0], ann), 6)
	require.Len(t, list(t, backendsOnFile[1], ann), 6)
}

// While the model thinks, another process replaces the fact that the model was
// shown: the model is asked again, and nothing is replaced twice.
func TestD3_DecidesAgainWhenAMemoryChanged(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st), with(resident(t)), factsOnly)
	add(t, other, ann, user("I live in Beijing")...)
	calls := 0
	inner := resident(t)
	m := testkit.New(func(c context.Context, input []*schema.Message, o *model.Options) (*schema.Message, error) {
		calls++
		if calls == 1 {
			add(t, other, ann, user("I moved to Shanghai")...)
		}
		bound, err := inner.WithTools(o.Tools)
		require.NoError(t, err)
		return bound.Generate(c, input)
	})
	b := open(t, on(st), with(m), factsOnly)
	resp := add(t, b, ann, user("I moved to Shanghai")...)
	require.Equal(t, 2, calls)
	require.Equal(t, 2, resp.Usage.ModelCalls)
	require.Equal(t, []string{"The user lives in Shanghai."}, facts(t, b, ann))
}

func TestD3_IdempotencyKey(t *testing.T) {
	b := open(t, with(answering(
		operations(`{"op":"add","text":"The user likes tea."}`), operations(`{"op":"add","text":"The user is fond of tea."}`))), factsOnly)
	r := &backends.AddRequest{Scope: ann, Messages: user("I like tea"), IdempotencyKey: "turn-1"}
	first, err := b.Add(ctx, r)
	require.NoError(t, err)
	require.False(t, first.Replayed)
	again, err := b.Add(ctx, r)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Items, again.Items)
	require.Len(t, facts(t, b, ann), 1)
}

func TestCheckpointIsOneWriteWithTheMemories(t *testing.T) {
	for name, answer := range map[string]string{"something learnt": operations(`{"op":"add","text":"The user likes tea."}`), "nothing learnt": operations()} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t)
			b := open(t, on(st), with(answering(answer)), factsOnly)
			p, err := ann.Speaker()
			require.NoError(t, err)
			said := user("I like tea")
			_, err = st.Append(ctx, p, "s1", &store.Append{Scope: ann, Entries: []store.Entry{{Message: said[0], Done: true}}})
			require.NoError(t, err)
			lease := func(owner string) int64 {
				s, err := st.Update(ctx, p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: owner, For: time.Minute}})
				require.NoError(t, err)
				return s.Lease.Token
			}
			token := lease("me")
			r := &backends.AddRequest{Scope: ann, Messages: said, Checkpoint: &backends.Checkpoint{Session: "s1", Upto: 1, Token: token}}
			resp, err := b.Add(ctx, r)
			require.NoError(t, err)
			require.True(t, resp.Checkpointed)
			s, err := b.Sessions().Session(ctx, p, "s1")
			require.NoError(t, err)
			require.EqualValues(t, 1, s.Watermark)

			r.Checkpoint.Token = token + 1
			_, err = b.Add(ctx, r)
			require.ErrorIs(t, err, backends.ErrConflict, "another owner's lease")

			r.Checkpoint = &backends.Checkpoint{Session: "elsewhere", Upto: 1}
			resp, err = b.Add(ctx, r)
			require.NoError(t, err)
			require.False(t, resp.Checkpointed, "no session of this partition")
		})
	}
}

// A lease that is lost while the model thinks: nothing is stored, and the model
// is not asked in vain again.
func TestCheckpointLostOnTheWay(t *testing.T) {
	now := start
	clock := func() time.Time { return now }
	st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	p, err := ann.Speaker()
	require.NoError(t, err)
	_, err = st.Append(ctx, p, "s1", &store.Append{Scope: ann, Entries: []store.Entry{{Message: user("x")[0]}}})
	require.NoError(t, err)
	s, err := st.Update(ctx, p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "me", For: time.Minute}})
	require.NoError(t, err)
	m := thinking(t, func(shown) string {
		now = now.Add(2 * time.Minute)
		_, err := st.Update(ctx, p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "you", For: time.Minute}})
		require.NoError(t, err)
		return operations(`{"op":"add","text":"The user likes tea."}`)
	})
	b := open(t, on(st), with(m), func(c *mem0.Config) { c.Clock = clock })
	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("x"), Checkpoint: &backends.Checkpoint{Session: "s1", Upto: 1, Token: s.Lease.Token}})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Len(t, m.Calls(), 1)
	require.Empty(t, list(t, b, ann))
}
