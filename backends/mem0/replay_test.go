// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
)

func TestD3_AHundredReplaysStoreNothing(t *testing.T) {
	everyMode(t, func(t *testing.T, mode mem0.Mode, b *mem0.Backend) {
		r := &backends.AddRequest{Scope: ann, Messages: user("I like tea"), IdempotencyKey: "turn"}
		first, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, mode != mem0.Verbatim, first.Usage.ModelCalls > 0)
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
func TestD3_AHundredRepeatsStoreNothing(t *testing.T) {
	everyMode(t, func(t *testing.T, _ mem0.Mode, b *mem0.Backend) {
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
	b := open(t, with(answering("no JSON", "no JSON", operations(`{"op":"add","text":"Ann likes tea."}`))), factsOnly)
	_, err := b.Load(ctx, ann, strings.NewReader(`{"id":"never","kind":"fact","text":"Never say never"}`))
	require.NoError(t, err)
	r := &backends.AddRequest{Scope: ann, Messages: user("I like tea"), IdempotencyKey: "turn"}
	_, err = b.Add(ctx, r)
	require.ErrorIs(t, err, backends.ErrModel)
	resp, err := b.Add(ctx, r)
	require.NoError(t, err)
	require.False(t, resp.Replayed)
	require.ElementsMatch(t, []string{"Never say never", "Ann likes tea."}, facts(t, b, ann))
}

func TestAReplayTellsWhatBecameOfTheMemories(t *testing.T) {
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
func TestAReplayTellsWhetherTheCheckpointIsWritten(t *testing.T) {
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
