// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestReMeSearchesAndLearns(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	open := func(exchanges ...string) *remote.ReMe {
		return must(remote.NewReMe(named(play(t, "reme.json", exchanges...), &failures)))(t)
	}
	crew, byAgent := backends.Scope{Namespace: "default", Workspace: "crew"}, backends.Eq("agent_id", "guide")
	found := must(open("search_personal").Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she sail?"}))(t)
	require.Equal(t, []string{"user sails on the Oslofjord"}, testkit.Texts(found.Hits))
	require.InDelta(t, 0.7, found.Hits[0].Score, 1e-9, "ReMe's scores of personal memories are a tenth of the cosine")
	require.ErrorContains(t, failures.Err(), "1 of 2 rows")
	require.NotContains(t, failures.Err().Error(), "sank")

	found = must(open("search_task").Search(ctx, &backends.SearchRequest{Scope: crew, Query: "Where does she sail?", Filter: &byAgent}))(t)
	require.Equal(t, []string{"check the wind first"}, testkit.Texts(found.Hits), "tool memories are no answer to a question")
	require.Equal(t, crew, found.Hits[0].Scope)

	resp := must(open("learn_personal").Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail on the Oslofjord", "Nice.")}))(t)
	require.Equal(t, "a1", resp.Items[0].Memory.ID)

	_, err := open().Add(ctx, &backends.AddRequest{Scope: crew, Messages: said("x")})
	require.ErrorIs(t, err, backends.ErrInvalid, "task memory is searched alone")
}

// ReMe answers 200 and success also where a step failed.
func TestWhatReMeSwallowsIsAnError(t *testing.T) {
	b := must(remote.NewReMe(config(play(t, "reme.json", "search_failed"), nil)))(t)
	_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	b = must(remote.NewReMe(config(play(t, "reme.json", "learn_failed"), nil)))(t)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("x"), Verbatim: true})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAgentMemoryServerSearchesAndLearns(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	b := must(remote.NewAgentMemoryServer(config(play(t, "ams.json", "search", "unknown", "learn", "pending", "learnt", "unmarked", "note"), &failures)))(t)
	found := must(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she sail?"}))(t)
	require.Equal(t, []string{"User sails on the Oslofjord", "I sail"}, testkit.Texts(found.Hits))
	require.Equal(t, []backends.Kind{backends.KindFact, backends.KindEpisode}, []backends.Kind{found.Hits[0].Kind, found.Hits[1].Kind})
	require.ErrorContains(t, failures.Err(), "2 of 4 rows")
	for n, queued := range []bool{true, true, false, false} { // at last the server has had it for long
		resp := must(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail on the Oslofjord", "Nice."), IdempotencyKey: "k"}))(t)
		require.Equal(t, &backends.AddResponse{Queued: queued}, resp, n)
	}
	resp := must(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("Ann sails"), Author: backends.AuthorAgent}))(t)
	require.True(t, resp.Queued, "a note is stored as it is")
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("x"), Metadata: map[string]any{"k": 1}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// watched answers all requests, and returns the last.
func watched(t *testing.T) (url string, last *asked) {
	last = &asked{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.path = r.URL.Path
		_ = json.NewDecoder(r.Body).Decode(last)
		reply(w, 200, map[string]any{"success": true, "metadata": map[string]any{"memory_list": []any{}}})
	}))
	t.Cleanup(srv.Close)
	return srv.URL, last
}

type asked struct {
	path      string
	Workspace string `json:"workspace_id"`
}

// A repeated batch replaces the same session of the server; two batches never share one.
func TestAgentMemoryServerGetsASessionForEachBatch(t *testing.T) {
	url, last := watched(t)
	b := must(remote.NewAgentMemoryServer(config(url, nil)))(t)
	batch := func(user, key string) string {
		scope := backends.Scope{UserID: user, SessionID: "s1"}
		must(b.Add(t.Context(), &backends.AddRequest{Scope: scope, Messages: said("a"), IdempotencyKey: key}))(t)
		return last.path
	}
	require.Equal(t, batch("ann", "k"), batch("ann", "k"))
	require.NotEqual(t, batch("ann", "k"), batch("ann", "k2"))
	require.NotEqual(t, batch("ann", "k"), batch("bob", "k"))
}

// Two partitions never share a name on a server, whatever their parts look like.
func TestPartitionsHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	url, last := watched(t)
	b := must(remote.NewReMe(config(url, nil)))(t)
	for _, s := range []backends.Scope{
		{UserID: "ann"}, {UserID: "Ann"}, {UserID: "ann,bob"}, {UserID: "ann bob"}, {UserID: "ánn"}, {AgentID: "ann"}, {Workspace: "ann"},
		{Namespace: "ann", UserID: "x"}, {Namespace: "x", UserID: "ann"}, {Namespace: "a.b", UserID: "c"}, {Namespace: "a", UserID: "b.c"},
		{Namespace: "default.user", UserID: "ann"}, {UserID: "user.ann"}, {UserID: strings.Repeat("a", 200)}, {UserID: strings.Repeat("a", 199)},
	} {
		must(b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x"}))(t)
		name := last.Workspace
		require.NotContains(t, names, strings.ToLower(name), "%v", s)
		require.Regexp(t, `^[a-z0-9._@+-]{1,64}$`, name)
		names[strings.ToLower(name)] = true
		must(b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x"}))(t)
		require.Equal(t, name, last.Workspace)
	}
}

// The answers that real servers gave, where a folder has them.
func TestRecordedServers(t *testing.T) {
	folder := os.Getenv("EINOMEM_FIXTURES")
	if folder == "" {
		t.Skip("EINOMEM_FIXTURES names no folder with recorded servers (ams/*.json, reme/*.json)")
	}
	// serve answers as recorded, if the request has the recorded path and none but known fields.
	serve := func(t *testing.T, path string) string {
		var e exchange
		require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(folder, path)))(t), &e))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, e.Request.Method+" "+e.Request.Path, r.Method+" "+r.URL.RequestURI())
			answer(w, &e)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	scope := backends.Scope{Namespace: "demo", UserID: "ann"}
	for path, want := range map[string]int{"long_term_memory_search_semantic": 2, "long_term_memory_search_keyword": 2, "long_term_memory_search_filters": 1} {
		t.Run(path, func(t *testing.T) {
			b := must(remote.NewAgentMemoryServer(named(serve(t, "ams/"+path+".json"), nil)))(t)
			found := must(b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: "where does the user live"}))(t)
			require.Len(t, found.Hits, want)
			require.Equal(t, "User lives in Hangzhou", found.Hits[0].Text)
			none := must(b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{Namespace: "demo", UserID: "bob"}, Query: "where does the user live"}))(t)
			require.Empty(t, none.Hits)
		})
	}
	t.Run("agent-memory-server fails", func(t *testing.T) {
		b := must(remote.NewAgentMemoryServer(config(serve(t, "ams/long_term_memory_search_hybrid.json"), nil)))(t)
		_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: "x"})
		require.ErrorIs(t, err, backends.ErrUnavailable)
	})
	for path, want := range map[string]int{
		"retrieve_personal_memory": 0, "summary_personal_memory": 1,
		"retrieve_task_memory": 1, "retrieve_task_memory_after_record": 1, "retrieve_task_memory_unknown_workspace": 0,
	} {
		t.Run(path, func(t *testing.T) {
			kind, s := backends.KindPersonal, backends.Scope{UserID: "personal_workspace"}
			if strings.Contains(path, "task") {
				kind, s = backends.KindTask, backends.Scope{Workspace: "task_workspace"}
			}
			b := must(remote.NewReMe(named(serve(t, "reme/"+path+".json"), nil)))(t)
			if strings.HasPrefix(path, "retrieve") {
				found := must(b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x", Kinds: []backends.Kind{kind}}))(t)
				require.Len(t, found.Hits, want)
				return
			}
			resp := must(b.Add(t.Context(), &backends.AddRequest{Scope: s, Messages: said("x"), Kind: kind}))(t)
			require.Len(t, resp.Items, want)
			require.Equal(t, kind, resp.Items[0].Memory.Kind)
			require.False(t, resp.Items[0].Memory.Created.IsZero())
		})
	}
}
