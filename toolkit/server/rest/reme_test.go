// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReMesEnvelope(t *testing.T) {
	for name, c := range map[string]struct {
		alwaysOK bool
		path     string
		body     map[string]any
		status   int
		success  any
	}{
		"success":                      {false, "/vector_store", map[string]any{"workspace_id": "w", "action": "list"}, 200, true},
		"nothing known is no failure":  {false, "/retrieve_task_memory", map[string]any{"workspace_id": "w", "query": "how"}, 200, true},
		"a failure has its status":     {false, "/vector_store", map[string]any{"workspace_id": "w*", "action": "list"}, 400, false},
		"unless ReMe's way is asked":   {true, "/vector_store", map[string]any{"workspace_id": "w*", "action": "list"}, 200, false},
		"a missing field is as ReMe's": {true, "/retrieve_task_memory", map[string]any{"workspace_id": "w"}, 422, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil, func(cfg *Config) { cfg.AlwaysOK = c.alwaysOK })
			status, out := s.call("", "POST", c.path, c.body)
			require.Equal(t, c.status, status, out)
			if c.success == nil {
				detail := out["detail"].([]any)[0].(map[string]any)
				require.Equal(t, "missing", detail["type"])
				require.Equal(t, []any{"body", "query"}, detail["loc"])
				require.Equal(t, "Field required", detail["msg"])
				return
			}
			require.Equal(t, c.success, out["success"], out)
			require.Contains(t, out, "answer")
			require.Contains(t, out, "metadata")
		})
	}
	s := newServer(t, nil, nil)
	status, out := s.call("", "GET", "/health", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"status": "healthy"}, out)
}
