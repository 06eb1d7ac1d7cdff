// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
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
