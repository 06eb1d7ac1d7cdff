// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// later starts a job, and waits until it ended.
func (s *server) later(path string, body any) (url string) {
	status, job := s.call("", http.MethodPost, path, body, "Prefer", "respond-async")
	require.Equal(s.t, http.StatusAccepted, status, job)
	url = job["url"].(string)
	require.Eventually(s.t, func() bool {
		_, job = s.call("", http.MethodGet, url, nil)
		return job["status"] != nil
	}, 10e9, 1e6)
	return url
}

func TestForgettingOverRESTTakesWhatTheServerKeepsBesides(t *testing.T) {
	s := newServer(t, nil, nil)
	urls := map[string]string{}
	for _, user := range []string{"ann", "bob"} {
		scope := map[string]any{"user_id": user, "workspace": "lab"}
		status, out := s.call("", http.MethodPost, "/api/v1/add", map[string]any{"scope": scope, "messages": []any{map[string]any{"role": "user", "content": "I am called " + user + " of Bergen."}}})
		require.Equal(t, http.StatusOK, status, out)
		urls[user] = s.later("/api/v1/add", map[string]any{"scope": scope, "messages": []any{map[string]any{"role": "user", "content": "I like the words of " + user}}})
		s.notes.Record(t.Context(), hooks.Note{Scope: middleware.Scope{UserID: user}, Query: "words of " + user})
	}
	status, out := s.call("", http.MethodPost, "/api/v1/plans", map[string]any{"scope": ann()})
	require.Equal(t, http.StatusOK, status, out)
	status, receipt := s.call("", http.MethodPost, "/api/v1/forget", map[string]any{"scope": ann()})
	require.Equal(t, http.StatusOK, status, receipt)
	require.Equal(t, map[string]any{"results of jobs": 1.0, "notes that were shown": 1.0, "suggestions that wait": 1.0, "files": 0.0}, receipt["places"])
	require.NotEmpty(t, receipt["outside"])
	require.NotContains(t, fmt.Sprint(receipt["outside"]), "/", "no file of the server is named")

	status, _ = s.call("", http.MethodGet, urls["ann"], nil)
	require.Equal(t, http.StatusNotFound, status)
	status, job := s.call("", http.MethodGet, urls["bob"], nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, fmt.Sprint(job), "words of bob")
	_, notes := s.call("", http.MethodGet, "/api/v1/notes?user_id=bob", nil)
	require.Contains(t, fmt.Sprint(notes), "words of bob")
}

// Results and notes of others that show a memory which is gone go, too, and a result that comes
// after its person was forgotten says nothing.
func TestWhatShowsAForgottenMemoryGoes(t *testing.T) {
	s := newServer(t, nil, nil)
	gone := &backends.Receipt{Partition: backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"},
		Elsewhere: []backends.Share{{Erased: backends.Erased{IDs: []string{"m1"}}}}}
	hit := func(id string) []backends.Hit { return []backends.Hit{{Memory: backends.Memory{ID: id}}} }
	bob := backends.Scope{Namespace: "default", UserID: "bob"}
	s.notes.Record(t.Context(), hooks.Note{Scope: bob, Hits: hit("m1")})
	s.notes.Record(t.Context(), hooks.Note{Scope: bob, Hits: hit("m2")})
	n, err := s.notes.forget(t.Context(), nil, gone)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	require.True(t, (&job{of: bob, Body: hit("m1")}).shows(gone))
	require.False(t, (&job{of: bob, Body: hit("m2")}).shows(gone))
	running := &job{of: gone.Partition.Scope()}
	s.jobs.byID["running"] = running
	n, err = s.jobs.forget(t.Context(), nil, gone)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, []*backends.Receipt{gone}, running.gone)
	delete(s.jobs.byID, "running")
}
