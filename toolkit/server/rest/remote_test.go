// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	facts "github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/rest"
)

const key = "key-0123456789"

var ann = backends.Scope{UserID: "ann", SessionID: "s1"}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// served returns a backend, and the same one over HTTP, with a key for the users ann and bob.
func served(t *testing.T) (near *facts.Backend, far *remote.Einomem) {
	t.Helper()
	db := testkit.SQLite(t)
	near = must(facts.New(t.Context(), &facts.Config{Store: db}))(t)
	mem := must(middleware.New(t.Context(), &middleware.Config{Backend: near}))(t)
	keys := []access.Key{{Name: "test", Hash: access.Hash(key), Users: []string{"ann", "bob"}, Write: true}}
	guard := must(access.New(&access.Config{Log: slog.New(slog.DiscardHandler), Keys: keys}))(t)
	h := must(rest.New(&rest.Config{Memory: mem, Store: db, Guard: guard}))(t)
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.Close()
		require.NoError(t, h.Close(context.Background()))
		require.NoError(t, mem.Close(context.Background()))
		require.NoError(t, near.Close(context.Background()))
	})
	far = must(remote.NewEinomem(&remote.Config{BaseURL: srv.URL, APIKey: key, MaxRetries: -1}))(t)
	return near, far
}

func TestAnotherEinomemAnswersAsItsBackend(t *testing.T) {
	near, far := served(t)
	ctx := t.Context()
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	add := &backends.AddRequest{Scope: ann, Verbatim: true, IdempotencyKey: "1", Metadata: map[string]any{"topic": "moving"}, Messages: []backends.Message{
		{ID: "m1", Turn: "t1", Time: at, Message: schema.UserMessage("I moved to Hangzhou.")},
		{ID: "m2", Turn: "t2", Time: at, Message: schema.UserMessage("My heron is called Ada.")},
	}}
	added := must(far.Add(ctx, add))(t)
	require.Equal(t, backends.OutcomeAdded, added.Items[1].Outcome)
	require.True(t, must(far.Add(ctx, add))(t).Replayed)

	filter := backends.And(backends.Eq("topic", "moving"), backends.Not(backends.Filter{Op: "contains", Field: "topic", Value: "x"}))
	search := &backends.SearchRequest{Scope: ann, Query: "Where is Hangzhou?", TopK: 1, Filter: &filter}
	require.Equal(t, must(near.Search(ctx, search))(t).Hits, must(far.Search(ctx, search))(t).Hits)
	search.Filter, search.Beside = nil, []backends.Memory{{Kind: backends.KindEpisode, Text: "Hangzhou has a lake.", Observed: at, Scope: ann}}
	require.Equal(t, must(near.Search(ctx, search))(t).Hits, must(far.Search(ctx, search))(t).Hits, "what is not learnt yet is ranked there")

	id, text := added.Items[0].Memory.ID, "I moved to Suzhou."
	_, err := far.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text, Version: 99})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Equal(t, text, must(far.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text}))(t).Text)
	history := &backends.HistoryRequest{Scope: ann, ID: id}
	require.Equal(t, must(near.History(ctx, history))(t), must(far.History(ctx, history))(t))
	page := must(far.List(ctx, &backends.ListRequest{Scope: ann, Limit: 1}))(t)
	require.Len(t, page.Memories, 1)
	require.NotEmpty(t, page.Next)
	require.ElementsMatch(t, must(near.Entities(ctx, ann))(t), must(far.Entities(ctx, ann))(t))

	erased := page.Memories[0].ID
	require.NoError(t, far.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: erased, Erase: true}))
	_, err = far.History(ctx, &backends.HistoryRequest{Scope: ann, ID: erased})
	require.ErrorIs(t, err, backends.ErrNotFound)
	if erased != id {
		require.NoError(t, far.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}))
	}
	_, err = far.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.Positive(t, must(far.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann}))(t))
}

func TestAnotherEinomemRefusesWhatItsKeyDoesNotOpen(t *testing.T) {
	_, far := served(t)
	_, err := far.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "eve"}, Query: "x"})
	require.ErrorIs(t, err, backends.ErrDenied)
	_, err = far.Search(t.Context(), &backends.SearchRequest{Query: "x"})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = far.Get(t.Context(), &backends.GetRequest{Scope: backends.Scope{UserID: "bob"}, ID: "nothing"})
	require.ErrorIs(t, err, backends.ErrNotFound)
}
