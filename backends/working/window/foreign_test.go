// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
)

// Messages that a caller carries from one session to another are archived by what
// they say: the log of the other session has something else at their numbers.
func TestMessagesCarriedToAnotherSessionKeepTheirWords(t *testing.T) {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	w, err := window.New(&window.Config{Sessions: db, Budget: compaction.Budget{Window: 1000, Answer: -1, Tools: -1, Memories: -1}})
	require.NoError(t, err)
	here, there := backends.Scope{UserID: "ann", SessionID: "here"}, backends.Scope{UserID: "ann", SessionID: "there"}
	for _, s := range []backends.Scope{here, there} {
		p, err := s.Speaker()
		require.NoError(t, err)
		var entries []store.Entry
		for i := range 6 {
			m := schema.UserMessage(strings.Repeat(fmt.Sprintf("%s%d ", s.SessionID, i), 60))
			if i%2 == 1 {
				m.Role = schema.Assistant
			}
			entries = append(entries, store.Entry{Message: backends.Message{ID: fmt.Sprintf("t%d-%d", i/2, i%2), Turn: fmt.Sprintf("t%d", i/2), Message: m}, Tokens: 100, Done: i%2 == 1})
		}
		_, err = db.Append(ctx, p, s.SessionID, &store.Append{Entries: entries, Scope: s})
		require.NoError(t, err)
	}
	history, err := w.History(ctx, here)
	require.NoError(t, err)
	loaded, err := w.Sessions().Load(ctx, &session.LoadRequest{Scope: here})
	require.NoError(t, err)
	for name, said := range map[string][]*schema.Message{"of the window": history, "of the session": loaded.Messages} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, said, 6)
			carried := append(said, schema.UserMessage(strings.Repeat("and now? ", 120)))
			fitted, err := w.Fit(ctx, there, carried)
			require.NoError(t, err)
			require.Less(t, len(fitted.Messages), len(carried))
			restored, err := w.Restore(ctx, there, fitted.Messages)
			require.NoError(t, err)
			require.Equal(t, words(carried), words(restored))

			// In their own session they are in the log, and nothing is written.
			fitted, err = w.Fit(ctx, here, carried)
			require.NoError(t, err)
			ref := einox.RefOf(fitted.Messages[0])
			require.True(t, strings.HasPrefix(ref, "log-"), ref)
			restored, err = w.Restore(ctx, here, fitted.Messages)
			require.NoError(t, err)
			require.Equal(t, words(carried), words(restored))

			// Elsewhere the log has something else at their numbers.
			_, err = w.Restore(ctx, there, fitted.Messages)
			require.ErrorIs(t, err, backends.ErrNotFound)
		})
	}
}

func words(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return out
}
