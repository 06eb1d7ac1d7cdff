// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/toolkit/server/access"
)

// toolPlans are those of the MCP tools.
var toolPlans = map[string]plan{
	"search_memory": {shows: true}, "list_memories": {shows: true}, "memory_history": {shows: true}, "add_memory": {with: object{"content": []any{"INTRUDER was here."}}},
	"update_memory": {}, "delete_memory": {order: 2}, "forget": {order: 3},
	"grep_working_memory": {shows: true}, "read_working_memory": {shows: true, with: object{"archive": "log-1"}},
	"memory": {shows: true, variants: []object{{"command": "view", "path": "/memories"}, {"command": "view", "path": "/memories/f.md"},
		{"command": "create", "path": "/memories/i.md", "file_text": "INTRUDER"}, {"command": "str_replace", "path": "/memories/f.md", "old_str": "heron", "new_str": "INTRUDER"},
		{"command": "view", "path": "/memories/core/persona"}, {"command": "insert", "path": "/memories/core/persona", "insert_line": 0, "insert_text": "INTRUDER"},
		{"command": "view", "path": "/memories/core/team"}}},
	"retrieve_task_memory": {shows: true}, "retrieve_task_memory_simple": {shows: true}, "retrieve_personal_memory": {}, "retrieve_tool_memory": {},
	"summary_working_memory": {}, "summary_working_memory_for_as": {}, "add_tool_call_result": {}, "summary_tool_memory": {}, "summary_task_memory": {},
	"summary_task_memory_simple": {}, "summary_personal_memory": {}, "record_task_memory": {}, "delete_task_memory": {order: 3},
	"vector_store": {shows: true, order: 3, variants: []object{{"action": "list"}, {"action": "dump", "path": "d"}, {"action": "load", "path": "d"}, {"action": "copy"},
		{"action": "delete_ids"}, {"action": "delete"}}},
}

// client is a connection of a key, and who the headers say that it is.
type client struct {
	http.Header
	session *sdk.ClientSession
}

// RoundTrip implements http.RoundTripper.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, c.Header)
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns nil where the key does not open what the headers name. Its user agrees to everything.
func (w *world) connect(at string, k *tenant, n names) *client {
	c := &client{Header: http.Header{"Authorization": {"Bearer " + k.Name}}}
	for name, id := range map[string]string{access.HeaderUser: n.User, access.HeaderAgent: n.Agent, access.HeaderWorkspace: n.Workspace, access.HeaderNamespace: n.Namespace, access.HeaderSession: "s1"} {
		if strings.ContainsFunc(id, unicode.IsControl) { // no client can send it
			id = url.PathEscape(id)
		}
		if id != "" {
			c.Header[http.CanonicalHeaderKey(name)] = []string{id}
		}
	}
	agree := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept"}, nil
	}}
	var err error
	transport := &sdk.StreamableClientTransport{Endpoint: at + "/mcp", HTTPClient: &http.Client{Transport: c}, DisableStandaloneSSE: true}
	if c.session, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, agree).Connect(w.t.Context(), transport, nil); err != nil {
		return nil
	}
	w.t.Cleanup(func() { _ = c.session.Close() })
	return c
}

// call uses a tool, and checks the answer.
func (w *world) call(c *client, k *tenant, tool *sdk.Tool, p plan, n names, one int, seen *seen) {
	raw, err := json.Marshal(tool.InputSchema)
	require.NoError(w.t, err)
	var schema schemaOf
	require.NoError(w.t, json.Unmarshal(raw, &schema))
	for _, name := range []string{"user_id", "agent_id", "workspace_id", "namespace", "scope"} { // those that it does not know, too
		if _, ok := schema.Properties[name]; !ok {
			schema.Properties = maps.Clone(schema.Properties)
			if schema.Properties == nil {
				schema.Properties = map[string]schemaOf{}
			}
			schema.Properties[name] = schemaOf{}
		}
	}
	variants := p.variants
	if len(variants) == 0 {
		variants = []object{{}}
	}
	if one >= 0 {
		variants = variants[one%len(variants):][:1]
	}
	for _, v := range variants {
		f := &form{names: n, own: k.own, with: maps.Clone(v), file: w.file(k, n)}
		maps.Copy(f.with, p.with)
		arguments := f.object(schema)
		res, err := c.session.CallTool(w.t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
		request := fmt.Sprintf("%s %s as %s", tool.Name, arguments, c.Header)
		if err != nil {
			continue
		}
		answer, err := json.Marshal(res)
		require.NoError(w.t, err)
		seen.add(tool.Name, !res.IsError, k.clean(w.t, k.secrets(), request, string(answer)))
	}
}

// read reads resources, of the connection's and with ids of others.
func (w *world) read(c *client, k *tenant, n names) {
	for _, uri := range []string{"memory://memories", "memory://sessions", "memory://memories/" + n.Memory, "memory://sessions/s1", "memory://sessions/" + url.PathEscape(n.User)} {
		if res, err := c.session.ReadResource(w.t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			answer, err := json.Marshal(res)
			require.NoError(w.t, err)
			k.clean(w.t, k.secrets(), fmt.Sprint(uri, c.Header), string(answer))
		}
	}
}

func TestNoToolOpensWhatAKeyDoesNot(t *testing.T) {
	dir, ids, paths := template(t)
	seen := newSeen()
	t.Cleanup(func() { seen.covers(t, toolPlans) })
	for i := range tenants {
		k := &tenants[i]
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			w := (&world{}).at(t, dir, paths, ids)
			server := httptest.NewServer(w.doors)
			t.Cleanup(server.Close)
			before := w.state()
			all, few := k.targets(ids, 0)
			var clients []*client
			for n, target := range slices.Concat(all, few) { // first as others
				if n > 4 && n > len(all) && n%5 != 0 || k.Admin && len(clients) > 5 {
					continue
				}
				if c := w.connect(server.URL, k, target); c != nil {
					w.read(c, k, all[n%len(all)])
					clients = append(clients, c)
				}
			}
			for order := range 4 {
				for n, name := range slices.Sorted(maps.Keys(toolPlans)) {
					for m, c := range clients {
						p := toolPlans[name]
						tool := w.tool(c, name, seen)
						if tool == nil || p.order != order || m > 4 && m%5 != n%5 {
							continue
						}
						all, few := k.targets(ids, n)
						for j, target := range slices.Concat(all, few) {
							switch {
							case j == 0 || m == 0 && j < 5:
								w.call(c, k, tool, p, target, -1, seen)
							case m == 0 && j%7 == n%7:
								w.call(c, k, tool, p, target, j, seen)
							}
						}
					}
				}
				k.unchanged(t, before, w.state())
			}
		})
	}
}

// tool returns a tool of the server, and notes all that there are.
func (w *world) tool(c *client, name string, seen *seen) (found *sdk.Tool) {
	if w.tools == nil {
		w.tools = map[string]*sdk.Tool{}
		for tool, err := range c.session.Tools(w.t.Context(), nil) {
			require.NoError(w.t, err)
			w.tools[tool.Name] = tool
			seen.add(tool.Name, false, false)
		}
	}
	return w.tools[name]
}
