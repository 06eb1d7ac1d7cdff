// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// A fact that is asked back with all its words is in the note: the question under way, and
// what was asked before in the chat, hide nothing. Each conversation's facts are the memory
// of one user.
func TestFactsAskedBackAreShown(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo")
	}
	s, err := place.SQLite(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Remove()) }()
	backend, err := mem0.New(t.Context(), &mem0.Config{Store: s})
	require.NoError(t, err)
	defer func() { require.NoError(t, backend.Close(t.Context())) }()
	var note hooks.Note
	mem, err := middleware.New(t.Context(), &middleware.Config{
		Backend: backend, SearchTimeout: -1, OnNote: func(_ context.Context, n hooks.Note) { note = n },
		OnError: func(_ context.Context, stage string, err error) { t.Errorf("%s: %v", stage, err) },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(t.Context())) }()
	asked, shown := 0, 0
	for user, facts := range observations(t, path) {
		b := &store.Batch{}
		for i, m := range facts {
			m.ID, m.Scope = fmt.Sprint("fact", i), userOf(user).Scope()
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
		}
		_, err := s.Apply(t.Context(), userOf(user), b)
		require.NoError(t, err)
		scope := userOf(user).Scope()
		scope.SessionID = "questions"
		ctx := middleware.WithScope(t.Context(), scope)
		var chat []*schema.Message
		for _, fact := range facts {
			question := "Is it true that " + strings.TrimSuffix(fact.Text, ".") + "?"
			chat = append(chat[max(0, len(chat)-4):], schema.UserMessage(question))
			note = hooks.Note{}
			_, err := mem.Prepare(ctx, chat)
			require.NoError(t, err)
			if slices.ContainsFunc(note.Hits, func(h backends.Hit) bool { return h.Text == fact.Text }) {
				shown++
			} else {
				t.Logf("not shown: %s\n%s", question, note.Text)
			}
			asked++
			chat = append(chat, schema.AssistantMessage("Let me think.", nil))
		}
	}
	t.Logf("%d of %d facts are shown", shown, asked)
	require.Equal(t, asked, shown)
}
