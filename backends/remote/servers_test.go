// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/testkit"
)

func TestReMeSearchesAndLearns(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	open := func(exchanges ...string) *remote.ReMe {
		cfg := config(play(t, "reme.json", exchanges...), &failures)
		cfg.Name = func(p backends.Partition) string { return p.ID }
		b, err := remote.NewReMe(cfg)
		require.NoError(t, err)
		return b
	}
	byAgent := backends.Eq("agent_id", "guide")
	found, err := open("search_personal").Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she sail?"})
	require.NoError(t, err)
	require.Equal(t, []string{"user sails on the Oslofjord"}, texts(found.Hits))
	require.InDelta(t, 0.7, found.Hits[0].Score, 1e-9, "ReMe's scores of personal memories are a tenth of the cosine")
	require.ErrorContains(t, failures.Err(), "1 of 2 rows")
	require.NotContains(t, failures.Err().Error(), "sank")

	found, err = open("search_task").Search(ctx, &backends.SearchRequest{Scope: backends.Scope{Workspace: "crew"}, Query: "Where does she sail?", Filter: byAgent.Without("agent_id")})
	require.NoError(t, err)
	require.Equal(t, []string{"check the wind first"}, texts(found.Hits), "tool memories are no answer to a question")
	require.Equal(t, backends.Scope{Namespace: "default", Workspace: "crew"}, found.Hits[0].Scope)

	resp, err := open("learn_personal").Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail on the Oslofjord", "Nice.")})
	require.NoError(t, err)
	require.Equal(t, "a1", resp.Items[0].Memory.ID)

	_, err = open().Add(ctx, &backends.AddRequest{Scope: backends.Scope{Workspace: "crew"}, Messages: said("x")})
	require.ErrorIs(t, err, backends.ErrInvalid, "task memory is searched alone")
}

// ReMe answers 200 and success also where a step failed.
func TestWhatReMeSwallowsIsAnError(t *testing.T) {
	b, err := remote.NewReMe(config(play(t, "reme.json", "search_failed", "learn_failed"), nil))
	require.NoError(t, err)
	_, err = b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("x"), Verbatim: true})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAgentMemoryServerSearchesAndLearns(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	b, err := remote.NewAgentMemoryServer(config(play(t, "ams.json", "search", "learn", "learn"), &failures))
	require.NoError(t, err)
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she sail?"})
	require.NoError(t, err)
	require.Equal(t, []string{"User sails on the Oslofjord", "I sail"}, texts(found.Hits))
	require.Equal(t, []backends.Kind{backends.KindFact, backends.KindEpisode}, []backends.Kind{found.Hits[0].Kind, found.Hits[1].Kind})
	require.ErrorContains(t, failures.Err(), "2 of 4 rows")
	for range 2 {
		resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail on the Oslofjord", "Nice."), IdempotencyKey: "k"})
		require.NoError(t, err)
		require.Empty(t, resp.Items, "the server learns later")
	}
}

// A repeated batch replaces the same session of the server; two batches never share one.
func TestAgentMemoryServerGetsASessionForEachBatch(t *testing.T) {
	var paths []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		reply(w, 200, map[string]any{})
	}))
	defer srv.Close()
	b, err := remote.NewAgentMemoryServer(config(srv.URL, nil))
	require.NoError(t, err)
	for _, r := range []*backends.AddRequest{
		{Scope: ann, Messages: said("a"), IdempotencyKey: "k"}, {Scope: ann, Messages: said("a"), IdempotencyKey: "k"},
		{Scope: ann, Messages: said("a"), IdempotencyKey: "k2"}, {Scope: backends.Scope{UserID: "bob", SessionID: "s1"}, Messages: said("a"), IdempotencyKey: "k"},
	} {
		_, err := b.Add(t.Context(), r)
		require.NoError(t, err)
	}
	require.Equal(t, paths[0], paths[1])
	slices.Sort(paths)
	require.Len(t, slices.Compact(paths), 3)
}

// Two partitions never share a name on a server, whatever their parts look like.
func TestPartitionsHaveNamesOfTheirOwn(t *testing.T) {
	scopes := []backends.Scope{
		{UserID: "ann"}, {UserID: "Ann"}, {UserID: "ann,bob"}, {UserID: "ann bob"}, {UserID: "ánn"}, {AgentID: "ann"}, {Workspace: "ann"},
		{Namespace: "ann", UserID: "x"}, {Namespace: "x", UserID: "ann"}, {Namespace: "a.b", UserID: "c"}, {Namespace: "a", UserID: "b.c"},
		{Namespace: "default.user", UserID: "ann"}, {UserID: "user.ann"}, {UserID: strings.Repeat("a", 200)}, {UserID: strings.Repeat("a", 199)},
	}
	names := map[string]backends.Scope{}
	var last string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Workspace string `json:"workspace_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		last = body.Workspace
		reply(w, 200, map[string]any{"answer": "", "success": true, "metadata": map[string]any{"memory_list": []any{}}})
	}))
	defer srv.Close()
	b, err := remote.NewReMe(config(srv.URL, nil))
	require.NoError(t, err)
	for _, s := range scopes {
		_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x"})
		require.NoError(t, err)
		require.NotContains(t, names, strings.ToLower(last), "%v", s)
		require.Regexp(t, `^[a-z0-9._@+-]{1,64}$`, last)
		names[strings.ToLower(last)] = s
		first := last
		_, err = b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x"})
		require.NoError(t, err)
		require.Equal(t, first, last)
	}
}

// The answers that real servers gave, where a folder has them.
func TestRecordedServers(t *testing.T) {
	folder := os.Getenv("EINOMEM_FIXTURES")
	if folder == "" {
		t.Skip("EINOMEM_FIXTURES names no folder with recorded servers (ams/*.json, mem0/*.json, reme/*.json)")
	}
	recorded := func(t *testing.T, path string, into any) {
		data, err := os.ReadFile(filepath.Join(folder, path))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	// serve answers as recorded, if the request has the recorded path and none but known fields.
	serve := func(t *testing.T, path string) string {
		var e exchange
		recorded(t, path, &e)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, e.Request.Method+" "+e.Request.Path, r.Method+" "+r.URL.RequestURI())
			answer(w, &e)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	named := func(url string) *remote.Config {
		cfg := config(url, nil)
		cfg.Name = func(p backends.Partition) string { return p.ID }
		return cfg
	}
	scope := backends.Scope{Namespace: "demo", UserID: "ann"}
	for path, want := range map[string]int{"long_term_memory_search_semantic": 2, "long_term_memory_search_keyword": 2, "long_term_memory_search_filters": 1} {
		t.Run(path, func(t *testing.T) {
			b, err := remote.NewAgentMemoryServer(named(serve(t, "ams/"+path+".json")))
			require.NoError(t, err)
			found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: "where does the user live"})
			require.NoError(t, err)
			require.Len(t, found.Hits, want)
			require.Equal(t, "User lives in Hangzhou", found.Hits[0].Text)
			none, err := b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{Namespace: "demo", UserID: "bob"}, Query: "where does the user live"})
			require.NoError(t, err)
			require.Empty(t, none.Hits)
		})
	}
	t.Run("agent-memory-server fails", func(t *testing.T) {
		b, err := remote.NewAgentMemoryServer(config(serve(t, "ams/long_term_memory_search_hybrid.json"), nil))
		require.NoError(t, err)
		_, err = b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: "x"})
		require.ErrorIs(t, err, backends.ErrUnavailable)
	})
	for path, want := range map[string]int{"retrieve_personal_memory": 0, "summary_personal_memory": 1, "retrieve_task_memory": 1, "retrieve_task_memory_after_record": 1, "retrieve_task_memory_unknown_workspace": 0} {
		t.Run(path, func(t *testing.T) {
			kind, s := backends.KindPersonal, backends.Scope{UserID: "personal_workspace"}
			if strings.Contains(path, "task") {
				kind, s = backends.KindTask, backends.Scope{Workspace: "task_workspace"}
			}
			b, err := remote.NewReMe(named(serve(t, "reme/"+path+".json")))
			require.NoError(t, err)
			if strings.HasPrefix(path, "retrieve") {
				found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: "x", Kinds: []backends.Kind{kind}})
				require.NoError(t, err)
				require.Len(t, found.Hits, want)
				return
			}
			resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: s, Messages: said("x"), Kind: kind})
			require.NoError(t, err)
			require.Len(t, resp.Items, want)
			require.Equal(t, kind, resp.Items[0].Memory.Kind)
			require.False(t, resp.Items[0].Memory.Created.IsZero())
		})
	}
	t.Run("mem0", func(t *testing.T) {
		var listed struct {
			Endpoints []struct{ Method, Path string }
		}
		recorded(t, "mem0/endpoints_from_source.json", &listed)
		var all []string
		for _, e := range listed.Endpoints {
			path, _, _ := strings.Cut(e.Path, "?")
			all = append(all, e.Method+" "+path)
		}
		require.Subset(t, all, []string{"POST /memories", "POST /search"})
	})
}
