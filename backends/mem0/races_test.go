// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"errors"
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
	"github.com/einomem/einomem/internal/test/testkit"
)

// Two backends on one file are two processes, in which many say and learn the same things at
// the same time.
func TestProcessesStoreOnce(t *testing.T) {
	for name, change := range map[string]func(*mem0.Config){"verbatim": func(*mem0.Config) {}, "by a model": with(resident(t))} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			var processes []*mem0.Backend
			var all sync.WaitGroup
			for range 2 {
				b := open(t, on(testkit.File(t, path)), change)
				processes = append(processes, b)
				for i := range 12 {
					all.Go(func() {
						_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user(fmt.Sprintf("thing %d", i%3), "I live in Beijing")})
						require.NoError(t, err)
					})
				}
			}
			all.Wait()
			for _, b := range processes {
				require.Len(t, list(t, b, ann, backends.KindEpisode), 4)
			}
			page, err := processes[0].List(ctx, &backends.ListRequest{Scope: ann, IncludeSuperseded: true, Kinds: []backends.Kind{backends.KindFact}})
			require.NoError(t, err)
			require.Len(t, page.Memories, map[string]int{"by a model": 1}[name])
		})
	}
}

// While the model thinks, another process replaces the fact that the model was
// shown: the model is asked again, and nothing is replaced twice.
func TestTheModelDecidesAgainWhenAMemoryChanged(t *testing.T) {
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

// Whenever another process stores the same facts, or takes away what the call is
// about, each fact is there once at the end.
func TestAnotherProcessAtEveryStep(t *testing.T) {
	for _, before := range []string{"", "Beijing"} {
		for n := 1; n <= 12; n++ {
			t.Run(fmt.Sprintf("known %q, reading %d", before, n), func(t *testing.T) {
				st := openStore(t)
				other := open(t, on(st), with(resident(t)))
				if before != "" {
					add(t, other, ann, user("I live in "+before)...)
				}
				spy, readings := testkit.Spy(st), 0
				b := open(t, on(spy), with(resident(t)))
				spy.Arm(func(c *testkit.StoreCall) error {
					if c.Method == "Changes" {
						if readings++; readings == n {
							add(t, other, ann, user("I live in Shanghai")...)
						}
					}
					return nil
				})
				add(t, b, ann, user("I live in Shanghai")...)
				require.Equal(t, []string{"The user lives in Shanghai."}, facts(t, b, ann))
				page, err := b.List(ctx, &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindEpisode}})
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Memories), 2)
				seen := map[string]bool{}
				for _, m := range page.Memories {
					require.False(t, seen[m.Text], m.Text)
					seen[m.Text] = true
				}
			})
		}
	}
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

func TestReplaysStoreNothing(t *testing.T) {
	everyMode(t, func(t *testing.T, asks bool, b *mem0.Backend) {
		r := &backends.AddRequest{Scope: ann, Messages: user("I like tea"), IdempotencyKey: "turn"}
		first, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, asks, first.Usage.ModelCalls > 0)
		for range 100 {
			again, err := b.Add(ctx, r)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, first.Items, again.Items)
			require.Zero(t, again.Usage, "what is known already asks no model")
		}
		require.Len(t, list(t, b, ann), len(first.Items))
	})
}

// Without a key the model is asked each time, and says the same.
func TestRepeatsStoreNothing(t *testing.T) {
	everyMode(t, func(t *testing.T, _ bool, b *mem0.Backend) {
		stored := len(add(t, b, ann, user("I like tea")...).Items)
		for range 100 {
			for _, item := range add(t, b, ann, user("I like tea")...).Items {
				require.Equal(t, backends.OutcomeUnchanged, item.Outcome)
			}
		}
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann, IncludeSuperseded: true})
		require.NoError(t, err)
		require.Len(t, page.Memories, stored)
	})
}

// Asking whether a key is known changes nothing, even where there is a memory of
// the name that the question uses, and leaves the key to the call itself.
func TestAskingForAKeyChangesNothing(t *testing.T) {
	b := open(t, with(testkit.New(testkit.Fail(errors.New("503")), testkit.Text(operations(`{"op":"add","text":"Ann likes tea."}`)))), factsOnly)
	own, err := ann.Speaker()
	require.NoError(t, err)
	never := store.Put(&store.Record{Memory: backends.Memory{ID: "never", Kind: backends.KindFact, Text: "Never say never"}})
	_, err = b.Sessions().(store.Store).Apply(ctx, own, &store.Batch{Mutations: []store.Mutation{never}})
	require.NoError(t, err)
	r := &backends.AddRequest{Scope: ann, Messages: user("I like tea"), IdempotencyKey: "turn"}
	_, err = b.Add(ctx, r)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	resp, err := b.Add(ctx, r)
	require.NoError(t, err)
	require.False(t, resp.Replayed)
	require.ElementsMatch(t, []string{"Never say never", "Ann likes tea."}, facts(t, b, ann))
}

func TestAReplayReportsWhatBecameOfTheMemories(t *testing.T) {
	b := open(t, with(resident(t)), factsOnly)
	add(t, b, ann, user("I live in Beijing")...)
	r := &backends.AddRequest{Scope: ann, Messages: user("I moved to Shanghai"), IdempotencyKey: "turn"}
	first, err := b.Add(ctx, r)
	require.NoError(t, err)
	id := first.Items[0].Memory.ID
	again, err := b.Add(ctx, r)
	require.NoError(t, err)
	require.Equal(t, backends.OutcomeSuperseded, again.Items[0].Outcome)
	require.Equal(t, first.Items[0].Memory, again.Items[0].Memory)
	require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}))
	again, err = b.Add(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []backends.Item{{Outcome: backends.OutcomeSuperseded, Memory: backends.Memory{ID: id}}}, again.Items)
	require.Empty(t, facts(t, b, ann), "a replay does not bring back what was deleted")
}

// A replay wrote no checkpoint: it says so unless the first call came as far.
func TestAReplayReportsWhetherTheCheckpointIsWritten(t *testing.T) {
	st := openStore(t)
	b := open(t, on(st), with(answering(operations(`{"op":"add","text":"Ann likes tea."}`))))
	p, err := ann.Speaker()
	require.NoError(t, err)
	said := user("I like tea", "and coffee")
	_, err = st.Append(ctx, p, "s1", &store.Append{Scope: ann, Entries: []store.Entry{{Message: said[0]}, {Message: said[1], Done: true}}})
	require.NoError(t, err)
	r := &backends.AddRequest{Scope: ann, Messages: said, IdempotencyKey: "turn"}
	for _, step := range []struct {
		upto     int64
		replayed bool
		written  bool
	}{{0, false, false}, {2, true, false}} {
		if step.upto > 0 {
			r.Checkpoint = &backends.Checkpoint{Session: "s1", Upto: step.upto}
		}
		resp, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, step.replayed, resp.Replayed)
		require.Equal(t, step.written, resp.Checkpointed)
	}
	r.IdempotencyKey = "another turn"
	for range 2 {
		resp, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.True(t, resp.Checkpointed)
	}
}

// A store that fails is reported as such by every call.
func TestStoreFailuresAreReported(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails []string
		call  func(b *mem0.Backend) error
	}{
		{"Add", []string{"Apply", "Changes"}, func(b *mem0.Backend) error {
			_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("new")})
			return err
		}},
		{"Search", []string{"Changes"}, func(b *mem0.Backend) error {
			_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
			return err
		}},
	} {
		for _, call := range tc.fails {
			t.Run(tc.name+" when "+call+" fails", func(t *testing.T) {
				spy := testkit.Spy(openStore(t))
				b := open(t, on(spy), with(answering(operations(`{"op":"add","text":"A"}`))), factsOnly)
				_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Verbatim: true})
				require.NoError(t, err)
				spy.FailOn(fmt.Errorf("disk full: %w", backends.ErrUnavailable), call)
				err = tc.call(b)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.NotErrorIs(t, err, backends.ErrNotFound)
				spy.Arm(nil)
				require.Equal(t, []string{"tea"}, list(t, b, ann), "nothing happened")
			})
		}
	}
}
