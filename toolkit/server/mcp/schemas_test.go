// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit"
	"github.com/einomem/einomem/toolkit/server/mcp"
)

// listed returns the tools of a server with groups, as a client reads them.
func listed(t *testing.T, groups ...string) (all []*sdk.Tool) {
	w := newWorld(t, testkit.SQLite(t), func(c *mcp.Config) { c.Tools = groups })
	for tool, err := range w.connect("ann", nil).Tools(t.Context(), nil) {
		require.NoError(t, err)
		all = append(all, tool)
	}
	return all
}

func namesOf(tools []*sdk.Tool) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// Every tool costs tokens in every prompt of its host: about one for four bytes.
func TestFewToolsByDefault(t *testing.T) {
	tools := listed(t)
	assert.Equal(t, []string{"add_memory", "delete_memory", "forget", "list_memories", "memory_history", "search_memory", "update_memory"}, namesOf(tools))
	encoded, err := json.Marshal(tools)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded)/4, 1500, "tokens")
}

func TestGroupsOfTools(t *testing.T) {
	assert.Equal(t, []string{"memory"}, namesOf(listed(t, "files")))
	assert.Equal(t, []string{"grep_working_memory", "read_working_memory"}, namesOf(listed(t, "session")))
	reMe := listed(t, "reme")
	assert.Len(t, reMe, 16, "all of its flows")
	assert.Len(t, listed(t, "memory", "session", "files", "reme"), 24)
	of := func(tools []*sdk.Tool, name string) any {
		return tools[slices.IndexFunc(tools, func(t *sdk.Tool) bool { return t.Name == name })].InputSchema.(object)["required"]
	}
	assert.Equal(t, []any{"file_path", "pattern"}, of(reMe, "grep_working_memory"), "of files")
	assert.Equal(t, []any{"pattern"}, of(listed(t, "reme", "session"), "grep_working_memory"), "of the session")

	_, err := serve(testkit.SQLite(t), nil, func(c *mcp.Config) { c.Tools = []string{"memories"} })
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "there are memory, session, files, reme")
	for _, group := range []string{"files", "reme"} {
		_, err = serve(testkit.SQLite(t), nil, func(c *mcp.Config) { c.Files, c.Flows, c.Tools = nil, nil, []string{group} })
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// A host and an agent of a program's own read the same of a tool, and get the same of it.
func TestOneContractWithTheToolsOfAgents(t *testing.T) {
	backend := &testkit.Backend{}
	own, err := toolkit.New(t.Context(), &toolkit.Config{Backend: backend, ToolSetup: backends.ToolSetup{Scope: func(context.Context) (backends.Scope, error) { return ann, nil }}})
	require.NoError(t, err)
	tools := listed(t)
	for _, a := range own {
		info, err := a.Info(t.Context())
		require.NoError(t, err)
		schema, err := info.ToJSONSchema()
		require.NoError(t, err)
		schema.AdditionalProperties = nil
		want, err := json.Marshal(schema)
		require.NoError(t, err)
		served := tools[slices.IndexFunc(tools, func(t *sdk.Tool) bool { return t.Name == info.Name })]
		got, err := json.Marshal(served.InputSchema)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(got), info.Name)
		assert.Equal(t, info.Desc, served.Description)
	}
	w := newWorld(t, testkit.SQLite(t))
	c := w.connect("ann", nil)
	for _, said := range []string{"Ann keeps bees.", "Ann plays the cello."} {
		noted(t, c, said)
	}
	search := own[0].(tool.InvokableTool)
	for _, arguments := range []string{`{}`, `{"keywords":null}`, `{"keywords":7}`} {
		want, err := search.InvokableRun(t.Context(), arguments)
		require.NoError(t, err)
		got := use(t, c, "search_memory", json.RawMessage(arguments))
		assert.True(t, got.failed)
		assert.Equal(t, want, got.text)
	}
	for _, arguments := range []string{
		`{"keywords":["bees"]}`, `{"keywords":"bees","limit":"5"}`, `{"keywords":"[\"bees\"]","limit":5.0}`, `{"query":"bees","limit":null,"user_id":"bob"}`,
	} {
		assert.Regexp(t, `^- \[\w{6}\] [^:\n]*: Ann keeps bees\. [^\n]*$`, ok(t, c, "search_memory", json.RawMessage(arguments)).text, arguments)
	}
	assert.Regexp(t, `bees(.|\n)*cello`, ok(t, c, "search_memory", object{"keywords": []string{"bees", "cello"}}).text)
}

// Short ids, as results show them, name memories in every tool.
func TestShownIDsNameMemories(t *testing.T) {
	c := newWorld(t, testkit.SQLite(t)).connect("ann", nil)
	id := noted(t, c, "Ann keeps bees.")
	shown := "[" + id[len(id)-6:] + "]"
	assert.Contains(t, ok(t, c, "search_memory", object{"keywords": shown}).text, "Ann keeps bees.")
	assert.Contains(t, ok(t, c, "update_memory", object{"id": shown, "content": "Ann keeps wasps."}).text, "Ann keeps wasps.")
	assert.Len(t, at(t, ok(t, c, "memory_history", object{"id": shown}).out, "events"), 2)
	assert.Equal(t, id, ok(t, c, "delete_memory", object{"id": shown}).out["id"])
	assert.NotContains(t, ok(t, c, "list_memories", nil).text, "Ann keeps")
}

// keywords are those that every client in use takes in a schema: Gemini lists them, ajv in its
// strict mode knows no others.
var keywords = []string{"type", "description", "properties", "required", "items", "enum", "minimum", "maximum", "default"}

// strict fails for what some host refuses: a boolean schema, a list of types, additionalProperties,
// $ref, anyOf, and in arguments a list without items or an object without members.
func strict(t *testing.T, at string, schema any, input bool) {
	m, ok := schema.(map[string]any)
	require.True(t, ok, "%s is no object: %v", at, schema)
	for word := range m {
		assert.Contains(t, keywords, word, at)
	}
	kind, typed := m["type"].(string)
	require.True(t, typed || !input && m["type"] == nil, "%s has no type: %v", at, m)
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		strict(t, at+"."+name, p, input)
	}
	required, _ := m["required"].([]any)
	for _, name := range required {
		assert.Contains(t, properties, name, at)
	}
	if items, ok := m["items"]; ok || input && kind == "array" {
		assert.Equal(t, "array", kind, at)
		strict(t, at+"[]", items, input)
	}
	if enum, ok := m["enum"].([]any); ok {
		assert.Equal(t, "string", kind, at)
		assert.NotEmpty(t, enum, at)
	}
	if input && kind == "object" {
		assert.NotEmpty(t, properties, at)
	}
}

func TestSchemasPassStrictHosts(t *testing.T) {
	for _, groups := range [][]string{{"memory", "session", "files", "reme"}, {"reme"}} {
		for _, tool := range listed(t, groups...) {
			assert.Regexp(t, `^[a-z_]{1,60}$`, tool.Name)
			if tool.Name != "forget" { // it takes nothing
				strict(t, tool.Name, tool.InputSchema, true)
			}
			assert.Equal(t, "object", tool.InputSchema.(object)["type"])
			if tool.OutputSchema != nil {
				strict(t, tool.Name, tool.OutputSchema, false)
				assert.Equal(t, "object", tool.OutputSchema.(object)["type"])
			}
		}
	}
}

// habit returns a value as some hosts send it: numbers, truth values and lists as a text.
func habit(v any) any {
	switch v := v.(type) {
	case float64, bool, []any:
		encoded, _ := json.Marshal(v)
		return string(encoded)
	}
	return v
}

// Hosts send null for what is left out, and texts in place of other values.
func TestArgumentsAreReadAsHostsSendThem(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	c, id := w.connect("ann", agreeing()), ""
	properties := map[string]object{}
	for tool, err := range c.Tools(t.Context(), nil) {
		require.NoError(t, err)
		properties[tool.Name], _ = tool.InputSchema.(object)["properties"].(object)
	}
	for _, call := range tableOfCalls(t) {
		sent := object{"unknown": "x"}
		for name := range properties[call.Tool] {
			sent[name] = habit(call.Arguments[name]) // null if it is left out
		}
		if sent["id"] != nil {
			sent["id"] = id
		}
		r := use(t, c, call.Tool, sent)
		assert.False(t, r.failed, "%s %v: %s", call.Tool, sent, r.text)
		assert.Regexp(t, call.Says, r.text, "%s %v", call.Tool, sent)
		if added := regexp.MustCompile(`added: \[(\w+)\]`).FindStringSubmatch(r.text); added != nil {
			id = added[1]
		}
	}
	for tool, arguments := range map[string]string{
		"add_memory": `{"content":"Ann keeps bees."}`, "search_memory": `{"query":"bees"}`, "list_memories": `{"kinds":"fact","limit":2.0}`,
		"memory": `{"command":"view","path":"/memories","view_range":null}`, "retrieve_task_memory": `{"query":"bees","top_k":"3"}`,
	} {
		ok(t, c, tool, json.RawMessage(arguments))
	}
	r := use(t, c, "list_memories", object{"limit": "many"})
	assert.True(t, r.failed)
	assert.Contains(t, r.text, "the arguments do not follow the schema")
}
