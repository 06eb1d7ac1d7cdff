// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func ann() map[string]any { return map[string]any{"user_id": "ann"} }

func TestAMemoryIsAddedFoundChangedAndForgotten(t *testing.T) {
	s := newServer(t, nil, nil)
	status, out := s.call("", "POST", "/api/v1/add", map[string]any{"scope": ann(), "verbatim": true,
		"messages": []any{map[string]any{"role": "user", "content": "I moved to Hangzhou in March."}}})
	require.Equal(t, http.StatusOK, status, out)
	status, out = s.call("", "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": "Hangzhou"})
	require.Equal(t, http.StatusOK, status, out)
	hits := out["hits"].([]any)
	require.Len(t, hits, 1)
	id := hits[0].(map[string]any)["id"].(string)

	status, out = s.call("", "PATCH", "/api/v1/memories/"+id+"?user_id=ann", map[string]any{"text": "I moved to Suzhou in March."})
	require.Equal(t, http.StatusOK, status, out)
	status, out = s.call("", "GET", "/api/v1/memories/"+id+"/history?user_id=ann", nil)
	require.Equal(t, http.StatusOK, status, out)
	require.Len(t, out["events"], 2)

	status, out = s.call("", "GET", "/api/v1/memories/"+id+"?user_id=bob", nil)
	require.Equal(t, http.StatusNotFound, status, out)
	status, out = s.call("", "POST", "/api/v1/forget", map[string]any{"scope": ann()})
	require.Equal(t, http.StatusOK, status, out)
	status, out = s.call("", "POST", "/api/v1/list", map[string]any{"scope": ann()})
	require.Equal(t, http.StatusOK, status, out)
	require.Empty(t, out["memories"])
}

func TestWhatIsNotConfiguredIsNotThere(t *testing.T) {
	s := newServer(t, nil, func(c *Config) { c.Store, c.Notes, c.Flows = nil, nil, nil })
	_, out := s.call("", "GET", "/api/v1/me", nil)
	require.ElementsMatch(t, []any{"blocks", "tools", "entities", "plans"}, out["features"])
	for _, path := range []string{"/api/v1/people", "/api/v1/sessions", "/api/v1/notes"} {
		status, out := s.call("", "GET", path+"?user_id=ann", nil)
		require.Equal(t, http.StatusNotFound, status)
		require.Equal(t, map[string]any{"code": "not_found", "error": "this server does not offer GET " + path + ": /openapi.json lists what it does"}, out)
	}
}

func TestAnErasureWithAnUnknownArgumentErasesNothing(t *testing.T) {
	s := newServer(t, nil, nil)
	s.tell("ann", "Likes tea.")
	for body, path := range map[string]string{
		`{"scope":{"user_id":"ann"},"session":"s1"}`:                                        "forget",
		`{"scope":{"user_id":"ann"},"prt":{"session":"s1"}}`:                                "forget",
		`{"scope":{"user_id":"ann"},"part":{"session":"s1","form":"2026-01-01T00:00:00Z"}}`: "forget",
		`{"scope":{"user_id":"ann","sesion_id":"s1"}}`:                                      "forget",
		`{"scope":{"user_id":"ann"},"filter":{"kind":"fact"},"session":"s1"}`:               "delete",
	} {
		status, out := s.ask("", "POST", "/api/v1/"+path, body)
		require.Equal(t, http.StatusBadRequest, status, "%s %s %v", path, body, out)
		require.Contains(t, out["error"], "there is no argument")
	}
	require.Len(t, s.holds("ann"), 1)
}

func TestAPanicSaysNothingAndAHalfAnswerIsCut(t *testing.T) {
	s := newServer(t, nil, nil)
	add(s.Handler, own, "GET /panic", "", traits{}, func(*call, *struct{}) (any, error) { panic("at 10.0.0.7") })
	status, out := s.call("", "GET", "/panic", nil)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Equal(t, map[string]any{"code": "internal", "error": "internal error"}, out)

	add(s.Handler, own, "GET /half", "", traits{stream: true}, func(c *call, _ *struct{}) (any, error) {
		_, err := c.Write([]byte("{}\n"))
		return nil, errors.Join(err, http.NewResponseController(c.w).Flush(), backends.ErrUnavailable)
	})
	res, err := http.Get(s.url + "/half")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	_, err = io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// What a session taught is listed and taken back over HTTP, of the key's person alone.
func TestWhatASessionTaughtIsTakenBack(t *testing.T) {
	s := newServer(t, nil, nil)
	scope := map[string]any{"user_id": "ann", "session_id": "web"}
	status, out := s.call("", "POST", "/api/v1/add", map[string]any{"scope": scope, "verbatim": true, "messages": []any{map[string]any{"id": "page", "role": "user", "content": "The user's doctor is Dr. Evil."}}})
	require.Equal(t, 200, status, out)
	for _, c := range []struct {
		user  string
		dry   bool
		items int
	}{{"bob", false, 0}, {"ann", true, 1}, {"ann", false, 1}, {"ann", false, 0}} {
		status, out = s.call("", "POST", "/api/v1/rollback", map[string]any{"scope": map[string]any{"user_id": c.user}, "session": "web", "messages": []string{"page"}, "dry_run": c.dry})
		require.Equal(t, 200, status, out)
		require.Len(t, out["items"], c.items, "%+v", c)
	}
	status, out = s.call("", "POST", "/api/v1/rollback", map[string]any{"scope": map[string]any{"user_id": "ann"}})
	require.Equal(t, 400, status, out)
}
