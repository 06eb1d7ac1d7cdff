// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// A member of a workspace works there as the person that the key is, whether the request says so or not.
func TestAMemberOfAWorkspaceIsNotTheProgram(t *testing.T) {
	w := newWorld(t, t.TempDir())
	lab := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionWorkspace, ID: "lab"}
	w.fill(lab)
	hers := w.ids[lab][0]
	in := object{"workspace": "lab"}
	status, out := w.ask("member", "POST", "/add_tool_call_result", object{"workspace_id": "lab", "tool_call_results": calls})
	require.Equal(t, http.StatusOK, status, out)
	status, out = w.ask("member", "POST", "/api/v1/add", object{"scope": in, "kind": "task", "verbatim": true, "messages": said})
	require.Equal(t, http.StatusOK, status, out)
	mine := out["items"].([]any)[0].(object)["memory"].(object)
	require.Equal(t, "bob", mine["scope"].(object)["user_id"], "it is his, so that he is forgotten there, too")

	status, out = w.ask("member", "POST", "/api/v1/list", object{"scope": in, "kinds": []string{"task"}})
	require.Equal(t, http.StatusOK, status, out)
	require.Len(t, out["memories"], 5)
	for id, want := range map[string]int{hers: http.StatusForbidden, mine["id"].(string): http.StatusOK} {
		status, out = w.ask("member", "PATCH", "/api/v1/memories/"+id+"?workspace=lab", object{"text": "changed"})
		require.Equal(t, want, status, out)
		status, out = w.ask("member", "DELETE", "/api/v1/memories/"+id+"?workspace=lab", nil)
		require.Equal(t, want, status, out)
	}
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/api/v1/forget", object{"scope": in}}, {"GET", "/api/v1/export?workspace=lab", nil}, {"POST", "/api/v1/import?workspace=lab", nil},
		{"POST", "/api/v1/delete", object{"scope": in, "filter": object{"kind": "task"}}}, {"POST", "/reset", nil}, {"GET", "/api/v1/health", nil}, {"POST", "/api/v1/retry", object{}},
		{"POST", "/vector_store", object{"workspace_id": "lab", "action": "delete"}}, {"POST", "/vector_store", object{"workspace_id": "lab", "action": "dump", "path": "d"}},
		{"POST", "/vector_store", object{"workspace_id": "lab", "action": "load", "path": "d"}}, {"POST", "/vector_store", object{"workspace_id": "lab", "action": "copy", "src_workspace_id": "lab"}},
		{"POST", "/vector_store", object{"user_id": "bob", "action": "load", "path": "d"}},
		{"POST", "/api/v1/blocks", object{"scope": in, "name": "team", "text": "mine alone"}},
	} {
		status, out = w.ask("member", r.method, r.path, r.body)
		require.Equal(t, http.StatusForbidden, status, "%s %s %v: %v", r.method, r.path, r.body, out)
	}
	status, out = w.ask("member", "POST", "/api/v1/blocks", object{"scope": in, "name": "team", "append": "and bob's"})
	require.Equal(t, http.StatusOK, status, out)

	status, out = w.ask("admin", "PATCH", "/api/v1/memories/"+hers+"?workspace=lab", object{"text": "put right"})
	require.Equal(t, http.StatusOK, status, out)
	require.Equal(t, cleo, out["scope"].(object)["user_id"])
	export := w.send("admin", "GET", "/api/v1/export?workspace=lab", nil)
	require.Equal(t, http.StatusOK, export.Code, export.Body)
	require.Contains(t, export.Body.String(), "put right")
	status, out = w.ask("admin", "POST", "/api/v1/forget", object{"scope": in})
	require.Equal(t, http.StatusOK, status, out)
	got, err := w.db.Get(t.Context(), lab, hers)
	require.NoError(t, err)
	require.Empty(t, got)

	status, out = w.ask("reader", "GET", "/api/v1/me", nil)
	require.Equal(t, http.StatusOK, status, out)
	require.Equal(t, false, out["admin"])
	status, out = w.ask("nobody", "POST", "/retrieve_task_memory", object{"workspace_id": "lab", "query": "x"})
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, out["answer"], "give it as or admin", "the way out")
}
