// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
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
	near, url := serve(t)
	return near, must(remote.NewEinomem(&remote.Config{BaseURL: url, APIKey: key, MaxRetries: -1}))(t)
}

// serve returns a backend, and the address of a server of it, with a key for the users ann and bob.
func serve(t *testing.T) (near *facts.Backend, url string) {
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
	return near, srv.URL
}

// An agent remembers by our endpoints for clients of agent-memory-server. What is said is known at
// once, from the log, until the server has learnt it.
func TestAnAgentRemembersByTheEndpointsOfAgentMemoryServer(t *testing.T) {
	_, url := serve(t)
	var failures testkit.Failures
	far := must(remote.NewAgentMemoryServer(&remote.Config{BaseURL: url, APIKey: key, OnError: failures.Add}))(t)
	mem := must(middleware.New(t.Context(), &middleware.Config{Backend: far, Sessions: testkit.SQLite(t), OnError: failures.Add}))(t)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	ask := func(user, session, question string, script ...testkit.Reply) *testkit.Chat {
		chat := testkit.New(script...)
		agent := testkit.Agent(t, "assistant", chat, func(cfg *adk.ChatModelAgentConfig) { cfg.Middlewares = append(cfg.Middlewares, mem.AgentMiddleware()) })
		ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: user, SessionID: session, AgentID: "assistant"})
		testkit.Drain(testkit.Runner(agent, false, nil).Query(ctx, question))
		return chat
	}
	said := func(chat *testkit.Chat) string { return strings.Join(testkit.Lines(chat.Calls()[0]), "\n") }
	finds := func(user, query string) []string {
		return testkit.Texts(must(far.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: user}, Query: query}))(t).Hits)
	}
	ask("ann", "monday", "I sail on the Oslofjord every summer.", testkit.Text("How nice."))
	require.Contains(t, said(ask("ann", "tuesday", "Where do I sail?")), "Oslofjord")
	require.NotContains(t, said(ask("bob", "tuesday", "Where do I sail?")), "Oslofjord")
	require.Eventually(t, func() bool {
		require.NoError(t, mem.Flush(t.Context()))
		return must(mem.Working().Health(t.Context()))(t).Sessions == 0
	}, time.Minute, 10*time.Millisecond, "the server has yet to learn")
	require.Contains(t, finds("ann", "Who sails on the Oslofjord?"), "I sail on the Oslofjord every summer.")
	require.Zero(t, must(mem.Working().Health(t.Context()))(t).Parked)

	chat := ask("ann", "wednesday", "Note this.", testkit.Call("1", "add_memory", `{"thinking":"t","content":["Ann sails with Miso."]}`), testkit.Text("Noted."))
	result := chat.Calls()[1]
	require.Contains(t, result[len(result)-1].Content, "Accepted: memory will learn")
	require.Equal(t, "Ann sails with Miso.", finds("ann", "Who is Miso?")[0])
	require.Empty(t, finds("bob", "Who is Miso?"))
	require.NoError(t, failures.Err())
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
