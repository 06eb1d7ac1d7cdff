// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

var ann = einomem.Scope{UserID: "ann", SessionID: "monday"}

// say has one turn in which the user says a text.
func say(t *testing.T, mem *einomem.Memory, text string) {
	t.Helper()
	ctx := einomem.WithScope(t.Context(), ann)
	asked, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage(text)})
	require.NoError(t, err)
	require.NoError(t, mem.Finish(ctx, append(asked, schema.AssistantMessage("Noted.", nil))))
}

// known returns the texts that are known of the user.
func known(t *testing.T, mem *einomem.Memory) (texts []string) {
	t.Helper()
	found, err := mem.Facts.List(t.Context(), &backends.ListRequest{Scope: ann})
	require.NoError(t, err)
	for _, m := range found.Memories {
		texts = append(texts, m.Text)
	}
	return texts
}

func TestCloseLearnsAndTheFileIsOpenedAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	mem, err := einomem.Open(t.Context(), file, nil, nil)
	require.NoError(t, err)
	say(t, mem, "I am allergic to peanuts.")
	require.NoError(t, mem.Close(t.Context()))
	mem, err = einomem.Open(t.Context(), file, nil, nil)
	require.NoError(t, err)
	assert.Contains(t, known(t, mem), "I am allergic to peanuts.")
	require.NoError(t, mem.Close(t.Context()))
}

func TestAnInterruptedCloseLeavesTheTurnForTheNextProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	mem, err := einomem.Open(t.Context(), file, nil, nil)
	require.NoError(t, err)
	say(t, mem, "I am allergic to peanuts.")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, mem.Close(over), context.Canceled)
	mem, err = einomem.Open(t.Context(), file, nil, nil)
	require.NoError(t, err)
	_, err = mem.Working().Consolidate(t.Context(), ann)
	require.NoError(t, err)
	assert.Contains(t, known(t, mem), "I am allergic to peanuts.")
	require.NoError(t, mem.Close(t.Context()))
}

func TestTheLearnerExtractsFactsAndOptionsReachTheParts(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	learner := testkit.New(testkit.Text(`{"operations":[{"op":"add","text":"Ann is allergic to peanuts","sources":[1]}]}`))
	o := &einomem.Options{Facts: mem0.Config{FactsOnly: true}, Agent: middleware.Config{Mode: modes.StaticControl}}
	mem, err := einomem.New(t.Context(), db, learner, o)
	require.NoError(t, err)
	say(t, mem, "I am allergic to peanuts.")
	require.NoError(t, mem.Flush(t.Context()))
	assert.Equal(t, []string{"Ann is allergic to peanuts"}, known(t, mem))
	assert.Nil(t, o.Facts.Store, "the options stay as they were")
	assert.Nil(t, o.Agent.Backend)
	require.NoError(t, mem.Close(t.Context()))

	mem, err = einomem.New(t.Context(), db, nil, nil)
	require.NoError(t, err, "the store is the caller's")
	assert.Len(t, known(t, mem), 1)
	require.NoError(t, mem.Close(t.Context()))
	require.NoError(t, db.Close())
}

func TestWhatCannotBeOpenedIsSaid(t *testing.T) {
	_, err := einomem.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "memory.db"), nil, nil)
	require.ErrorContains(t, err, "einomem: ")
	_, err = einomem.New(t.Context(), nil, nil, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = einomem.Open(t.Context(), ":memory:", nil, &einomem.Options{Agent: middleware.Config{Mode: "sideways"}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = einomem.Open(t.Context(), ":memory:", nil, &einomem.Options{Facts: mem0.Config{PromptTokens: 1}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// What is set stands. Of tools and of long notes the figures are in examples/bench.
func TestASmallModelGetsNoToolsAndShortNotes(t *testing.T) {
	for _, c := range []struct {
		set         middleware.Config
		tools, room int
	}{{middleware.Config{}, 0, 400}, {middleware.Config{Mode: modes.StaticControl}, 0, 400}, {middleware.Config{Mode: modes.Both, NoteTokens: 700}, 2, 700}} {
		mem, err := einomem.Open(t.Context(), ":memory:", nil, &einomem.Options{Facts: mem0.Config{Small: true}, Agent: c.set})
		require.NoError(t, err)
		offered, err := mem.Tools(t.Context())
		require.NoError(t, err)
		assert.Len(t, offered, c.tools, "mode %q", c.set.Mode)
		note, err := mem.Preview(t.Context(), backends.Scope{UserID: "ann"}, "Where do I live?")
		require.NoError(t, err)
		assert.Equal(t, c.room, note.Room)
		require.NoError(t, mem.Close(t.Context()))
	}
}
