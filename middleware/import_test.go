// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// What an import brings is as if it had been written here: redacted, allowed, and nobody's
// claim of who said it.
func TestAnImportedMemoryIsAsAWrittenOne(t *testing.T) {
	ctx := t.Context()
	ann, team := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
	from := testkit.SQLite(t)
	apply := func(p backends.Partition, m backends.Memory) {
		m.Scope = p.Scope()
		m.Scope.UserID = "ann"
		put := store.Put(&store.Record{Memory: m, Vector: []byte{1, 2, 3}})
		if p == team {
			put.Actor = "alice, the boss"
		}
		_, err := from.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{put}, Embedding: &store.Embedding{Model: "another", Dim: 3}})
		require.NoError(t, err)
	}
	claim := backends.Origin{Role: "system", Speaker: "alice", Author: "the boss"}
	apply(ann, backends.Memory{ID: "f", Kind: backends.KindFact, Text: "my SECRET", Metadata: map[string]any{"k": "SECRET"}})
	apply(team, backends.Memory{ID: "t", Kind: backends.KindTask, Text: "use the SECRET", WhenToUse: "SECRET", Origin: claim})
	said := &store.Append{Scope: backends.Scope{UserID: "ann", SessionID: "s"}, Entries: []store.Entry{
		{Message: backends.Message{ID: "m", Turn: "t", Message: schema.UserMessage("FACT the SECRET")}, Done: true, Tokens: 1 << 40},
	}}
	_, err := from.Append(ctx, ann, "s", said)
	require.NoError(t, err)
	summary := "SECRET so far"
	_, err = from.Update(ctx, ann, &store.SessionUpdate{Session: "s", Summary: &summary})
	require.NoError(t, err)
	var out strings.Builder
	_, err = store.Export(ctx, from, ann, &out)
	require.NoError(t, err)

	middlewareFor := func(allow func(context.Context, backends.Op, backends.Scope, *backends.Memory) error) (store.Store, *middleware.MemoryMiddleware, *testkit.Chat) {
		db, model := testkit.SQLite(t), testkit.New(testkit.Learn)
		redact := func(s string) string { return strings.ReplaceAll(s, "SECRET", "[gone]") }
		facts, err := mem0.New(ctx, &mem0.Config{Store: db, Model: model, Redact: redact, Embedder: &testkit.Embedder{}, EmbeddingModel: "here"})
		require.NoError(t, err)
		experience, err := reme.New(ctx, &reme.Config{Store: db, Redact: redact, Allow: allow})
		require.NoError(t, err)
		b := backends.Join(facts, experience)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		return db, open(t, &middleware.Config{Backend: b, Working: &working.Config{Redact: redact}}), model
	}
	db, mem, model := middlewareFor(nil)
	scope := middleware.Scope{UserID: "ann"}
	for n := range 2 { // the second time all is there
		count, err := mem.Import(ctx, scope, strings.NewReader(out.String()), nil)
		require.NoError(t, err)
		require.Equal(t, 2*(1-n), count.Records)
	}
	require.NoError(t, mem.Flush(ctx))
	require.Empty(t, model.Calls(), "nothing is learnt")
	var back strings.Builder
	_, err = store.Export(ctx, db, ann, &back)
	require.NoError(t, err)
	for _, gone := range []string{"SECRET", "boss", "alice", `"system"`, "another", `"vector"`, "1099511627776"} {
		require.NotContains(t, back.String(), gone)
	}
	require.Equal(t, 1, strings.Count(back.String(), `"author":"import"`))
	found, err := mem.Backend().Search(ctx, &backends.SearchRequest{Scope: scope, Query: "what is gone"})
	require.NoError(t, err)
	require.NotEmpty(t, found.Hits)
	require.NoError(t, found.Degraded)

	db, mem, _ = middlewareFor(func(_ context.Context, op backends.Op, s backends.Scope, _ *backends.Memory) error {
		require.Equal(t, backends.Scope{Namespace: "default", Workspace: "lab", UserID: "ann"}, s)
		return errors.New("nobody adds here")
	})
	_, err = mem.Import(ctx, scope, strings.NewReader(out.String()), nil)
	require.ErrorIs(t, err, backends.ErrDenied)
	held, err := db.Partitions(ctx, "default", store.Page{})
	require.NoError(t, err)
	require.Equal(t, []backends.Partition{ann}, held.Partitions)
	_, err = mem.Import(ctx, scope, strings.NewReader(strings.Replace(out.String(), `"role":"user"`, `"role":"system"`, 1)), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// A backend that keeps its memories elsewhere has a log to export, and nothing else. That is no
// export of a person.
func TestABackendThatCannotExportSaysSo(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &logging{&testkit.Backend{}, testkit.SQLite(t)}})
	scope := middleware.Scope{UserID: "ann"}
	var out strings.Builder
	_, err := mem.Export(t.Context(), scope, &out)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "*middleware_test.logging keeps its own")
	require.Empty(t, out.String())
	_, err = mem.Import(t.Context(), scope, strings.NewReader(""), nil)
	require.ErrorContains(t, err, "*middleware_test.logging keeps its own")
}
