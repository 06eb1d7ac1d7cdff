// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
	"github.com/einomem/einomem/toolkit/server/mcp"
)

var ann = backends.Scope{UserID: "ann", SessionID: "s1", Workspace: "kitchen"}

// childStore names the store that a child process serves over standard input and output.
const childStore = "EINOMEM_TEST_MCP_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		db, err := sqlitestore.Open(context.Background(), path, nil)
		if err == nil {
			var s *mcp.Server
			if s, err = serve(db, nil, func(c *mcp.Config) { c.Scope = ann }); err == nil {
				err = s.Run(context.Background(), nil)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve returns a server of both backends and all else that there is, on a store.
func serve(db store.Store, guard *access.Guard, change ...func(*mcp.Config)) (*mcp.Server, error) {
	ctx := context.Background()
	facts, err := mem0.New(ctx, &mem0.Config{Store: db})
	if err != nil {
		return nil, err
	}
	model := testkit.New(testkit.Learn)
	experience, err := reme.New(ctx, &reme.Config{Store: db, Model: model})
	if err != nil {
		return nil, err
	}
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backends.Join(facts, experience), Sessions: db, Window: &window.Config{Budget: compaction.Budget{Window: 100_000}},
	})
	if err != nil {
		return nil, err
	}
	f, err := files.New(&files.Config{Records: db})
	if err != nil {
		return nil, err
	}
	w, err := flows.New(&flows.Config{Backend: mem.Backend(), Model: model})
	if err != nil {
		return nil, err
	}
	cfg := &mcp.Config{Memory: mem, Guard: guard, Files: f, Flows: w, Tools: []string{"memory", "session", "files", "reme"}}
	for _, c := range change {
		c(cfg)
	}
	return mcp.New(cfg)
}

// world is a server over HTTP with keys: "ann" and "bob" of two people and their workspaces,
// "reader" reads what is ann's, "many" opens everybody.
type world struct {
	t      *testing.T
	db     store.Store
	server *mcp.Server
	url    string
	audit  *syncBuffer
	failed []string
	speaks string // the version of the protocol; the newest by default
}

type syncBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func newWorld(t *testing.T, db store.Store, change ...func(*mcp.Config)) *world {
	w := &world{t: t, db: db, audit: &syncBuffer{}}
	own := func(name, user, workspace string, write bool) access.Key {
		return access.Key{Name: name, Hash: access.Hash(name), Users: []string{user}, Workspaces: []string{workspace}, Write: write, Admin: user == access.Any}
	}
	guard, err := access.New(&access.Config{
		Keys: []access.Key{
			own("ann", "ann", "kitchen", true), own("bob", "bob", "garage", true), own("reader", "ann", "kitchen", false), own("many", access.Any, access.Any, true),
		},
		Log: slog.New(slog.NewJSONHandler(w.audit, nil)),
	})
	require.NoError(t, err)
	w.server, err = serve(db, guard, append(change, func(c *mcp.Config) {
		c.OnError = func(_ context.Context, stage string, err error) { w.failed = append(w.failed, stage+": "+err.Error()) }
	})...)
	require.NoError(t, err)
	srv := httptest.NewServer(w.server.Handler())
	t.Cleanup(srv.Close)
	w.url = srv.URL
	w.say("ann", "s1", "I keep bees in the garden")
	w.say("bob", "s1", "I keep wolves in the garage")
	return w
}

// say logs a turn of a session.
func (w *world) say(user, session, said string) {
	p := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: user}
	_, err := w.db.Append(w.t.Context(), p, session, &store.Append{
		Scope: backends.Scope{UserID: user, SessionID: session}, Learnt: true,
		Entries: []store.Entry{
			{Message: backends.Message{ID: "1", Turn: "t", Message: schema.UserMessage(said)}},
			{Message: backends.Message{ID: "2", Turn: "t", Message: schema.AssistantMessage("Noted.", nil)}, Done: true},
		},
	})
	require.NoError(w.t, err)
}

// headers sends a key and what the connection is about.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) connect(key string, opts *sdk.ClientOptions, more ...string) *sdk.ClientSession {
	h := headers{"Authorization": "Bearer " + key, access.HeaderSession: "s1"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return connect(w.t, &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: h}}, opts, w.speaks)
}

func connect(t *testing.T, transport sdk.Transport, opts *sdk.ClientOptions, speaks ...string) *sdk.ClientSession {
	if opts == nil {
		opts = &sdk.ClientOptions{}
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: strings.Join(speaks, "")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if len(speaks) > 0 && speaks[0] != "" {
		require.Equal(t, speaks[0], c.InitializeResult().ProtocolVersion)
	}
	return c
}

// agreeing is a client whose user agrees to what they are asked.
func agreeing() *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept"}, nil
	}}
}

// result is what a tool answered.
type result struct {
	text   string
	failed bool
	out    map[string]any
}

func use(t *testing.T, c *sdk.ClientSession, tool string, arguments any) result {
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err, tool)
	require.NotEmpty(t, res.Content, tool)
	r := result{text: res.Content[0].(*sdk.TextContent).Text, failed: res.IsError}
	if res.StructuredContent != nil {
		r.out = res.StructuredContent.(map[string]any)
	}
	return r
}

func ok(t *testing.T, c *sdk.ClientSession, tool string, arguments any) result {
	r := use(t, c, tool, arguments)
	require.False(t, r.failed, "%s: %s", tool, r.text)
	require.Equal(t, slices.Contains(agents, tool), r.out == nil, tool)
	return r
}

// agents are the tools that an agent of a program's own has, too: their result is a text.
var agents = []string{"search_memory", "add_memory", "update_memory"}

// noted adds a memory, and returns its whole id, of which the tool shows a part.
func noted(t *testing.T, c *sdk.ClientSession, said string) string {
	shown := regexp.MustCompile(`^Successfully recorded to memory:\n- added: \[(.*)\] `).FindStringSubmatch(ok(t, c, "add_memory", object{"thinking": "", "content": []string{said}}).text)
	require.Len(t, shown, 2)
	listed := regexp.MustCompile(`\[(\S*` + shown[1] + `)\] `).FindStringSubmatch(ok(t, c, "list_memories", nil).text)
	require.Len(t, listed, 2)
	return listed[1]
}

type object = map[string]any

// at returns what is at a path of keys and indices.
func at(t *testing.T, v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			require.Contains(t, v, p)
			v = v.(object)[p]
		case int:
			require.Greater(t, len(v.([]any)), p)
			v = v.([]any)[p]
		}
	}
	return v
}

func trajectory(said ...string) []any {
	var messages []any
	for i, s := range said {
		messages = append(messages, object{"role": []string{"user", "assistant"}[i%2], "content": s})
	}
	return []any{object{"messages": messages, "score": 1.0}}
}

// everyTool calls each tool that there is, and checks that none was left out.
func everyTool(t *testing.T, c *sdk.ClientSession) {
	left := map[string]bool{}
	for tool, err := range c.Tools(t.Context(), nil) {
		require.NoError(t, err)
		left[tool.Name] = true
	}
	call := func(tool string, arguments any) result {
		delete(left, tool)
		return ok(t, c, tool, arguments)
	}
	delete(left, "add_memory")
	whole := noted(t, c, "Ann drinks oolong tea in the morning.")
	found := call("search_memory", object{"keywords": []string{"oolong", "tea"}})
	id := regexp.MustCompile(`^- \[(\w{6})\] .*oolong tea in the morning`).FindStringSubmatch(found.text)[1]
	assert.True(t, strings.HasSuffix(whole, id))
	assert.Equal(t, "Updated memory ["+id+"]: Ann drinks white tea.", call("update_memory", object{"id": id, "content": "Ann drinks white tea."}).text)
	assert.Contains(t, call("list_memories", object{"limit": 10}).text, "white tea")
	assert.Len(t, at(t, call("memory_history", object{"id": id}).out, "events"), 2)
	assert.Contains(t, call("grep_working_memory", object{"pattern": "bees"}).text, "I keep bees")
	assert.Contains(t, at(t, call("read_working_memory", object{"archive": "log-1"}).out, "text"), "bees in the garden")
	assert.Contains(t, call("memory", object{"command": "create", "path": "/memories/a.md", "file_text": "x"}).text, "File created")
	assert.Contains(t, call("memory", object{"command": "view", "path": "/memories"}).out["text"], "/memories/a.md")
	call("delete_memory", object{"id": id})

	success := func(tool string, arguments object) result {
		r := call(tool, arguments)
		assert.Equal(t, true, r.out["success"], "%s: %v", tool, r.out)
		return r
	}
	ws := func(more object) object { more["workspace_id"] = "kitchen"; return more }
	success("summary_task_memory", ws(object{"trajectories": trajectory("Help me", "LESSON planning a project | list the goal first")}))
	task := success("retrieve_task_memory", ws(object{"query": "planning a project", "top_k": 1}))
	assert.Contains(t, task.text, "list the goal first")
	assert.Equal(t, task.text, task.out["answer"])
	success("retrieve_task_memory_simple", object{"query": "planning a project"}) // the connection's workspace
	success("summary_task_memory_simple", ws(object{"trajectories": trajectory("Help me", "LESSON baking bread | weigh the flour")}))
	success("record_task_memory", ws(object{"memory_dicts": at(t, task.out, "metadata", "memory_list"), "update_utility": true}))
	success("delete_task_memory", ws(object{"freq_threshold": 5, "utility_threshold": 0.5}))
	success("summary_personal_memory", object{"user_id": "ann", "trajectories": trajectory("FACT I like tea")})
	assert.Contains(t, success("retrieve_personal_memory", object{"user_id": "ann", "query": "tea"}).text, "tea")
	success("add_tool_call_result", ws(object{"tool_call_results": []any{object{"create_time": "2025-10-21 10:30:00", "tool_name": "web_search", "input": object{"query": "asyncio"}, "output": "Found 10", "success": true, "time_cost": 2.3}}}))
	success("summary_tool_memory", ws(object{"tool_names": "web_search"}))
	assert.Contains(t, success("retrieve_tool_memory", ws(object{"tool_names": "web_search"})).text, "web_search")
	if left["vector_store"] {
		success("vector_store", ws(object{"action": "list"}))
	}
	for tool := range left {
		if strings.HasPrefix(tool, "summary_working") {
			success(tool, object{"messages": []any{object{"role": "user", "content": "hello"}}})
		}
	}
	forgotten := call("forget", object{})
	assert.Contains(t, forgotten.text, "Erased of files: ")
	assert.Contains(t, at(t, forgotten.out, "places"), "files")
	assert.Contains(t, ok(t, c, "search_memory", object{"keywords": "tea"}).text, "no relevant memories")
	assert.Empty(t, left, "tools that were not called")
}

// versions of the protocol that Handler speaks.
var versions = []string{"2025-06-18", "2025-11-25"}

func TestEveryToolOverHTTP(t *testing.T) {
	for _, version := range versions {
		w := newWorld(t, testkit.SQLite(t))
		w.speaks = version
		everyTool(t, w.connect("ann", agreeing()))
		assert.Empty(t, w.failed)
		for _, action := range []string{"add_memory", "update_memory", "delete_memory", "memory", "forget", "summary_task_memory", "add_tool_call_result"} {
			assert.Contains(t, w.audit.String(), `"key":"ann","action":"mcp `+action+`"`)
		}
		assert.NotContains(t, w.audit.String(), "search_memory")
	}
}

func TestEveryToolOverStandardInputAndOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	(&world{t: t, db: testkit.File(t, path)}).say("ann", "s1", "I keep bees in the garden")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childStore+"="+path)
	everyTool(t, connect(t, &sdk.CommandTransport{Command: child}, agreeing()))
}

func TestToolsAreDescribed(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	c := w.connect("ann", nil)
	readOnly := []string{}
	for tool, err := range c.Tools(t.Context(), nil) {
		require.NoError(t, err)
		assert.NotEmpty(t, tool.Description, tool.Name)
		assert.Equal(t, slices.Contains(agents, tool.Name), tool.OutputSchema == nil, tool.Name)
		if tool.Annotations.ReadOnlyHint {
			readOnly = append(readOnly, tool.Name)
		}
	}
	assert.Subset(t, readOnly, []string{"search_memory", "list_memories", "memory_history", "grep_working_memory", "read_working_memory", "retrieve_task_memory"})
	for _, name := range []string{"add_memory", "delete_memory", "forget", "memory", "summary_task_memory"} {
		assert.NotContains(t, readOnly, name)
	}
}

// ReMe's clients find its tools, and the arguments that they know.
func TestToolsAreThoseOfReMe(t *testing.T) {
	folder := os.Getenv("EINOMEM_FIXTURES")
	if folder == "" {
		t.Skip("EINOMEM_FIXTURES names no folder with recorded answers of ReMe 0.2")
	}
	raw, err := os.ReadFile(filepath.Join(folder, "reme", "mcp_tools_list.json"))
	require.NoError(t, err)
	type input struct {
		Properties map[string]any
		Required   []string
	}
	var recorded struct {
		Tools []struct {
			Name        string
			InputSchema input
		}
	}
	require.NoError(t, json.Unmarshal(raw, &recorded))
	ours := map[string]input{}
	for tool, err := range newWorld(t, testkit.SQLite(t)).connect("ann", nil).Tools(t.Context(), nil) {
		require.NoError(t, err)
		raw, _ := json.Marshal(tool.InputSchema)
		var in input
		require.NoError(t, json.Unmarshal(raw, &in))
		ours[tool.Name] = in
	}
	for _, tool := range recorded.Tools {
		switch tool.Name {
		case "use_mock_search", "react", "agentic_retrieve": // demonstrations
			continue
		case "grep_working_memory", "read_working_memory": // of sessions here, not of files
			continue
		}
		if assert.Contains(t, ours, tool.Name) {
			assert.ElementsMatch(t, tool.InputSchema.Required, ours[tool.Name].Required, tool.Name)
			assert.Subset(t, slices.Collect(maps.Keys(ours[tool.Name].Properties)), slices.Collect(maps.Keys(tool.InputSchema.Properties)), tool.Name)
		}
	}
}

func TestResources(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	w.say("ann", "odd id/ü+?%", "In an odd session")
	c := w.connect("ann", nil)
	for i := range 120 {
		ok(t, c, "memory", object{"command": "create", "path": fmt.Sprint("/memories/", i)})
		ok(t, c, "add_memory", object{"content": []string{fmt.Sprint("Plant number ", i, " needs water.")}})
	}
	read := func(uri string) string {
		res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.NoError(t, err, uri)
		require.True(t, json.Valid([]byte(res.Contents[0].Text)), uri)
		assert.Equal(t, "private", res.CacheScope)
		return res.Contents[0].Text
	}
	var uris []string
	for r, err := range c.Resources(t.Context(), nil) {
		require.NoError(t, err)
		uris = append(uris, r.URI)
	}
	assert.Equal(t, []string{"memory://memories", "memory://sessions"}, uris)
	var memories struct{ Memories []backends.Memory }
	require.NoError(t, json.Unmarshal([]byte(read("memory://memories")), &memories))
	assert.Len(t, memories.Memories, 120, "and no files")
	assert.Contains(t, read("memory://memories/"+memories.Memories[7].ID), "Plant number 7 needs water.")
	assert.JSONEq(t, `[{"id":"s1"},{"id":"odd id/ü+?%"}]`, read("memory://sessions"))
	assert.Contains(t, read("memory://sessions/odd%20id%2F%C3%BC%2B%3F%25"), "In an odd session")
	assert.Contains(t, read("memory://sessions/s1"), "I keep bees")
	templates := 0
	for _, err := range c.ResourceTemplates(t.Context(), nil) {
		require.NoError(t, err)
		templates++
	}
	assert.Equal(t, 2, templates)
	for _, uri := range []string{"memory://memories/none", "memory://sessions/none", "memory://sessions/s1/more", "memory://other/x", "memory://sessions/%zz", "memory://sessions/%00", "file:///etc/passwd"} {
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.Error(t, err, uri)
		assert.NotContains(t, err.Error(), "sqlite")
	}
}

// Whatever bob tries with what is ann's, he learns nothing of it and changes nothing.
func TestTwoTenants(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	a, b := w.connect("ann", nil), w.connect("bob", nil)
	id := noted(t, a, "Ann's vault code is MARMALADE.")
	ok(t, a, "memory", object{"command": "create", "path": "/memories/vault", "file_text": "MARMALADE"})
	ok(t, a, "summary_task_memory", object{"workspace_id": "kitchen", "trajectories": trajectory("Help me", "LESSON opening the vault | say MARMALADE")})
	ok(t, a, "add_tool_call_result", object{"workspace_id": "kitchen", "tool_call_results": []any{object{"tool_name": "vault", "input": "MARMALADE", "output": "MARMALADE", "success": true}}})
	before, _ := json.Marshal(ok(t, a, "list_memories", nil).out)

	theirs := object{
		"user_id": "ann", "userId": "ann", "scope": object{"user_id": "ann"}, "namespace": "default", "workspace_id": "kitchen", "agent_id": "ann", "session_id": "s1", "X-Memory-User": "ann",
	}
	for tool, err := range b.Tools(t.Context(), nil) {
		require.NoError(t, err)
		arguments := object{
			"query": "vault code MARMALADE", "id": id, "content": "taken", "pattern": "vault|bees", "regex": true, "archive": "log-1", "command": "view", "path": "/memories/vault",
			"trajectories": trajectory("Help me", "LESSON x | y"), "memory_dicts": []any{object{"memory_id": id}}, "update_utility": true, "freq_threshold": 0, "utility_threshold": 1,
			"tool_names": "vault", "tool_call_results": []any{object{"tool_name": "vault", "output": "x"}}, "action": "list", "memory_ids": []string{id}, "messages": []any{object{"role": "user", "content": "vault"}},
			"confirm": "ann", "cursor": "",
		}
		maps.Copy(arguments, theirs)
		if tool.Name == "add_memory" {
			arguments["content"] = []string{"Bob was here."}
		}
		res := use(t, b, tool.Name, arguments)
		out, _ := json.Marshal(res.out)
		assert.NotContains(t, res.text+string(out), "MARMALADE", tool.Name)
		assert.NotContains(t, res.text+string(out), "bees", tool.Name)
	}
	for _, uri := range []string{"memory://memories/" + id, "memory://sessions/ann", "memory://memories/files%2Fvault"} {
		_, err := b.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.ErrorContains(t, err, "not found", uri)
	}
	for _, uri := range []string{"memory://memories", "memory://sessions", "memory://sessions/s1"} {
		res, err := b.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.NoError(t, err)
		assert.NotRegexp(t, "MARMALADE|bees", res.Contents[0].Text)
	}
	for _, action := range []string{"list", "delete", "delete_ids", "copy"} {
		res := use(t, b, "vector_store", object{"workspace_id": "kitchen", "src_workspace_id": "kitchen", "action": action, "memory_ids": []string{id}})
		assert.True(t, res.failed, action)
		res = use(t, b, "vector_store", object{"workspace_id": "garage", "src_workspace_id": "kitchen", "action": action, "memory_ids": []string{id}})
		assert.NotContains(t, res.text, "MARMALADE")
	}
	assert.Contains(t, ok(t, b, "search_memory", object{"query": "Bob was here"}).text, "Bob was here", "and his own stays his own")
	after, _ := json.Marshal(ok(t, a, "list_memories", nil).out)
	assert.JSONEq(t, string(before), string(after))
	assert.Contains(t, ok(t, a, "memory", object{"command": "view", "path": "/memories/vault"}).text, "MARMALADE")

	for _, more := range [][]string{{access.HeaderUser, "ann"}, {access.HeaderWorkspace, "kitchen"}, {access.HeaderNamespace, "other"}} {
		_, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: w.url, HTTPClient: &http.Client{Transport: headers{"X-API-Key": "bob", more[0]: more[1]}},
		}, nil)
		require.Error(t, err, more)
	}
}

func TestForgetAsksTheUser(t *testing.T) {
	for _, c := range []struct {
		name   string
		action string // of the user; "" for a client that cannot ask
		args   object
		gone   bool
		says   string
		allow  bool // Config.AllowForget
	}{
		{"accepted", "accept", object{}, true, "Erased", false},
		{"declined", "decline", object{}, false, "The user declined", false},
		{"dismissed", "cancel", object{}, false, "The user declined", false},
		{"declined, where others need not ask", "decline", object{}, false, "The user declined", true},
		{"cannot ask", "", object{}, false, "this client cannot ask its user", false},
		{"cannot ask, the model confirms", "", object{"confirm": "ann"}, false, "this client cannot ask its user", false},
		{"cannot ask, and need not", "", object{}, true, "Erased", true},
	} {
		for _, version := range append(versions, "2026-07-28") {
			w := newWorld(t, testkit.SQLite(t), func(cfg *mcp.Config) { cfg.AllowForget = c.allow })
			asked := ""
			opts := &sdk.ClientOptions{}
			if c.action != "" {
				opts.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = r.Params.Message
					return &sdk.ElicitResult{Action: c.action}, nil
				}
			}
			var client *sdk.ClientSession
			if w.speaks = version; slices.Contains(versions, version) {
				client = w.connect("ann", opts)
			} else { // Run speaks it
				s, err := serve(w.db, nil, func(cfg *mcp.Config) { cfg.Scope, cfg.AllowForget = ann, c.allow })
				require.NoError(t, err)
				here, there := sdk.NewInMemoryTransports()
				go func() { _ = s.Run(t.Context(), there) }()
				client = connect(t, here, opts, version)
			}
			id := noted(t, client, "Ann drinks tea.")
			one := noted(t, client, "Ann rides a bicycle.")
			assert.NotEqual(t, id, one)
			erased := use(t, client, "delete_memory", object{"id": one, "erase": true})
			assert.Equal(t, !c.gone, erased.failed, "one memory is erased after the same question")
			res := use(t, client, "forget", c.args)
			assert.Contains(t, res.text, c.says, "%s, %s", c.name, version)
			assert.Equal(t, !c.gone, res.failed)
			assert.Equal(t, c.action != "", strings.Contains(asked, `Everything that is remembered of "ann"`))
			assert.Equal(t, c.gone, strings.Contains(ok(t, client, "search_memory", object{"query": "Ann drinks tea"}).text, "no relevant memories"))
		}
	}
}

func TestAKeyThatReads(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	id := noted(t, w.connect("ann", nil), "Ann drinks tea.")
	c := w.connect("reader", nil)
	assert.Contains(t, ok(t, c, "search_memory", object{"query": "tea"}).text, "drinks tea")
	ok(t, c, "memory", object{"command": "view", "path": "/memories"})
	ok(t, c, "retrieve_task_memory", object{"query": "tea"})
	for tool, arguments := range map[string]object{
		"add_memory": {"content": []string{"x"}}, "update_memory": {"id": id, "content": "x"}, "delete_memory": {"id": id}, "forget": {},
		"memory": {"command": "create", "path": "/memories/x"}, "summary_task_memory": {"workspace_id": "kitchen", "trajectories": trajectory("a", "LESSON b | c")},
		"add_tool_call_result": {"workspace_id": "kitchen", "tool_call_results": []any{object{"tool_name": "x"}}}, "vector_store": {"workspace_id": "kitchen", "action": "delete"},
	} {
		res := use(t, c, tool, arguments)
		assert.True(t, res.failed, tool)
		assert.Contains(t, res.text, "may only read", tool)
		assert.Contains(t, w.audit.String(), `"key":"reader","action":"mcp `+tool+`"`)
	}
	assert.Contains(t, ok(t, c, "search_memory", object{"query": "tea"}).text, "drinks tea")
}

func TestHostileArguments(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	c := w.connect("ann", nil)
	huge := strings.Repeat("tea ", 500_000)
	for tool, all := range map[string][]any{
		"search_memory":        {object{"query": 5}, object{}, object{"query": nil}, []any{1}, object{"query": "x", "limit": "many"}},
		"add_memory":           {object{"content": 1}, object{"content": []any{1}}, object{"content": []string{}}, object{"content": []string{huge}}},
		"update_memory":        {object{"id": "x"}, object{"id": "none", "content": "x"}, object{"id": huge, "content": huge}},
		"delete_memory":        {object{"id": ""}, object{"id": "../../x"}, object{"id": "a\x00b"}},
		"memory_history":       {object{"id": "none"}, object{"id": []any{}}},
		"list_memories":        {object{"cursor": "garbage"}, object{"kinds": 7}},
		"grep_working_memory":  {object{"pattern": "(", "regex": true}, object{"pattern": huge}, object{"pattern": ""}},
		"read_working_memory":  {object{"archive": "log-99"}, object{"archive": "../x"}, object{"archive": "log-1", "line": -5, "byte": -1}},
		"memory":               {object{"command": "view", "path": "/memories/../x"}, object{"command": "drop"}, object{"command": "view", "path": 7}, object{}},
		"retrieve_task_memory": {object{}, object{"query": 7}, object{"query": "x", "workspace_id": "garage"}, object{"query": "x", "workspace_id": "*"}},
		"vector_store":         {object{"workspace_id": "kitchen", "action": "burn"}, object{"workspace_id": "kitchen", "action": "dump", "path": "/etc"}, object{"workspace_id": "kitchen", "action": "load", "path": "/etc"}},
	} {
		for _, arguments := range all {
			res := use(t, c, tool, arguments)
			failed := res.failed || res.out["success"] == false
			assert.True(t, failed, "%s %.80v: %.100s", tool, arguments, res.text)
			assert.NotEmpty(t, res.text)
			assert.Less(t, len(res.text), 5000)
			assert.NotRegexp(t, `goroutine|panic|\.go:|sqlite|\.db`, res.text)
		}
	}
	ok(t, c, "search_memory", object{"query": huge, "limit": -1})
	ok(t, c, "list_memories", object{"limit": 1 << 40, "user_id": object{"a": 1}})
	_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "none"})
	require.Error(t, err)
	assert.Empty(t, w.failed, "what a client got wrong is no failure")
}

func TestFailuresShowNothingOfTheInside(t *testing.T) {
	spy := testkit.Spy(testkit.SQLite(t))
	w := newWorld(t, spy)
	c := w.connect("ann", nil)
	ok(t, c, "search_memory", object{"query": "tea"})
	spy.FailOn(fmt.Errorf("dial 10.0.0.7: %w", backends.ErrUnavailable), "Get", "Changes", "Apply", "History", "List", "Read")
	for tool, arguments := range map[string]object{"search_memory": {"query": "tea"}, "list_memories": {}, "add_memory": {"content": []string{"x"}}, "memory": {"command": "view", "path": "/memories"}} {
		res := use(t, c, tool, arguments)
		assert.True(t, res.failed, tool)
		assert.Contains(t, res.text, "Memory is not available now", tool)
	}
	_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://memories"})
	require.ErrorContains(t, err, "not available")
	assert.NotContains(t, err.Error(), "10.0.0.7")
	assert.Len(t, w.failed, 5)
}

// post sends one message as a client of the protocol with sessions does.
func post(t *testing.T, url, key, session, body string, more ...string) *http.Response {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	for i := 0; i < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestASessionBelongsToItsKeyAndScope(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	first := post(t, w.url, "many", "", initialize, access.HeaderUser, "ann")
	require.Equal(t, http.StatusOK, first.StatusCode)
	session := first.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_memories","arguments":{}}}`
	assert.Equal(t, http.StatusOK, post(t, w.url, "many", session, list, access.HeaderUser, "ann").StatusCode)
	for _, other := range [][]string{{"many", access.HeaderUser, "bob"}, {"many"}, {"bob"}, {"ann"}, {"reader"}} {
		assert.Equal(t, http.StatusForbidden, post(t, w.url, other[0], session, list, other[1:]...).StatusCode, other)
	}
	assert.Equal(t, http.StatusUnauthorized, post(t, w.url, "", session, list).StatusCode)
	assert.Equal(t, http.StatusNotFound, post(t, w.url, "ann", "made-up", list).StatusCode)
}

func TestWhoMayConnect(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	assert.Equal(t, http.StatusUnauthorized, post(t, w.url, "", "", initialize).StatusCode)
	assert.Equal(t, http.StatusUnauthorized, post(t, w.url, "wrong", "", initialize).StatusCode)
	assert.Equal(t, http.StatusForbidden, post(t, w.url, "ann", "", initialize, access.HeaderUser, "bob").StatusCode)
	assert.Equal(t, http.StatusBadRequest, post(t, w.url, "many", "", initialize, access.HeaderUser, "*").StatusCode)
	assert.Equal(t, http.StatusForbidden, post(t, w.url, "ann", "", initialize, "Origin", "https://example.com").StatusCode)

	c := w.connect("many", nil) // without a scope
	assert.Contains(t, use(t, c, "search_memory", object{"query": "x"}).text, "send the header X-Memory-User")
	ok(t, c, "retrieve_task_memory", object{"query": "x", "workspace_id": "anywhere"})
	ok(t, c, "retrieve_task_memory", object{"query": "x"})
	assert.True(t, use(t, w.connect("bob", nil, access.HeaderWorkspace, "garage"), "retrieve_task_memory", object{"query": "x", "workspace_id": "default"}).failed)
	assert.True(t, use(t, c, "summary_personal_memory", object{"trajectories": trajectory("FACT x")}).failed)
	_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://memories"})
	require.ErrorContains(t, err, "send the header X-Memory-User")

	team := w.connect("many", nil, access.HeaderWorkspace, "team") // a workspace has no sessions
	_, err = team.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://sessions"})
	require.Error(t, err)
	assert.True(t, use(t, team, "grep_working_memory", object{"pattern": "x"}).failed)

	open := newWorld(t, testkit.SQLite(t), func(c *mcp.Config) { c.Guard, c.Scope = nil, backends.Scope{UserID: "ann"} })
	c = open.connect("", nil)
	assert.Contains(t, ok(t, c, "memory", object{"command": "create", "path": "/memories/x"}).text, "created", "without keys this machine is served")
	assert.Contains(t, ok(t, c, "grep_working_memory", object{"pattern": "x"}).text, `"matches":null`)
	assert.Equal(t, http.StatusForbidden, post(t, open.url, "", "", initialize, "X-Forwarded-For", "192.0.2.1").StatusCode)
}

func TestRunServesItsScopeAlone(t *testing.T) {
	db := testkit.SQLite(t)
	s, err := serve(db, nil, func(c *mcp.Config) { c.Scope, c.ReadOnly = ann, true })
	require.NoError(t, err)
	here, there := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, there) }()
	c := connect(t, here, nil)
	ok(t, c, "search_memory", object{"query": "tea", "user_id": "bob"})
	assert.True(t, use(t, c, "add_memory", object{"content": []string{"x"}}).failed)
	assert.True(t, use(t, c, "retrieve_task_memory", object{"query": "x", "workspace_id": "garage"}).failed)
	assert.True(t, use(t, c, "retrieve_personal_memory", object{"query": "x", "user_id": "bob"}).failed)
	cancel()
	require.Error(t, <-ended)

	_, err = mcp.New(nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = serve(db, nil, func(c *mcp.Config) { c.Scope.UserID = "*" })
	require.ErrorIs(t, err, backends.ErrInvalid)
	s, err = serve(db, nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.Run(t.Context(), nil), backends.ErrNoScope)
}

// run serves a store over Run, to a client whose user agrees.
func run(t *testing.T, db store.Store, change func(*mcp.Config)) *sdk.ClientSession {
	s, err := serve(db, nil, change)
	require.NoError(t, err)
	here, there := sdk.NewInMemoryTransports()
	go func() { _ = s.Run(t.Context(), there) }()
	return connect(t, here, agreeing())
}

// Whoever starts a server for a user may open workspaces to ReMe's flows beside it.
func TestFlowsOfAUserOverRun(t *testing.T) {
	db := testkit.SQLite(t)
	bob := run(t, db, func(c *mcp.Config) { c.Scope, c.Workspaces = backends.Scope{UserID: "bob"}, []string{access.Any} })
	ok(t, bob, "summary_personal_memory", object{"trajectories": trajectory("FACT I like wolves")})

	all := run(t, db, func(c *mcp.Config) { c.Scope, c.Workspaces = backends.Scope{UserID: "ann"}, []string{access.Any} })
	for _, named := range []object{{}, {"workspace_id": "shop"}} {
		with := func(more object) object { maps.Copy(more, named); return more }
		for _, call := range []struct {
			tool      string
			arguments object
			says      string
		}{
			{"summary_task_memory", object{"trajectories": trajectory("Help me", "LESSON planning a project | list the goal first")}, "list the goal"},
			{"retrieve_task_memory", object{"query": "planning a project"}, "list the goal"},
			{"add_tool_call_result", object{"tool_call_results": []any{object{"tool_name": "web_search", "input": "a", "output": "b", "success": true}}}, ""},
			{"retrieve_tool_memory", object{"tool_names": "web_search"}, "web_search"},
			{"summary_personal_memory", object{"trajectories": trajectory("FACT I like tea")}, ""},
			{"retrieve_personal_memory", object{"query": "what do I like"}, "tea"},
			{"vector_store", object{"action": "list"}, ""},
		} {
			r := ok(t, all, call.tool, with(maps.Clone(call.arguments)))
			assert.Equal(t, true, r.out["success"], call.tool)
			assert.Contains(t, r.text, call.says)
			assert.NotContains(t, fmt.Sprint(r.out), "wolves")
		}
	}
	assert.NotContains(t, ok(t, all, "retrieve_personal_memory", object{"workspace_id": "bob", "query": "wolves"}).text, "wolves", "it is the caller's own")
	assert.True(t, use(t, all, "retrieve_personal_memory", object{"user_id": "bob", "query": "wolves"}).failed)
	assert.Contains(t, ok(t, all, "search_memory", object{"keywords": "tea"}).text, "tea")
	ok(t, all, "vector_store", object{"action": "delete", "workspace_id": "shop"})
	assert.NotContains(t, ok(t, all, "retrieve_task_memory", object{"workspace_id": "shop", "query": "planning"}).text, "goal")
	assert.Contains(t, ok(t, all, "retrieve_task_memory", object{"query": "planning"}).text, "goal", "the workspace default is another")

	lab := run(t, db, func(c *mcp.Config) { c.Scope, c.Workspaces = backends.Scope{UserID: "ann"}, []string{"lab"} })
	ok(t, lab, "retrieve_task_memory", object{"workspace_id": "lab", "query": "x"})
	assert.True(t, use(t, lab, "retrieve_task_memory", object{"workspace_id": "shop", "query": "x"}).failed)
	assert.True(t, use(t, lab, "vector_store", object{"workspace_id": "lab", "src_workspace_id": "default", "action": "copy"}).failed)
}

// Over Run there are no headers to send: a refusal says how the program is started.
func TestRefusalsOverRun(t *testing.T) {
	db := testkit.SQLite(t)
	for name, scope := range map[string]backends.Scope{"a user": {UserID: "ann"}, "a workspace": {Workspace: "lab"}} {
		c := run(t, db, func(cfg *mcp.Config) { cfg.Scope, cfg.ReadOnly = scope, name == "a user" })
		for _, call := range []struct {
			tool      string
			arguments object
		}{
			{"grep_working_memory", object{"pattern": "x"}}, {"read_working_memory", object{"archive": "log-1"}},
			{"retrieve_task_memory", object{"query": "x"}}, {"retrieve_task_memory", object{"query": "x", "workspace_id": "shop"}},
			{"retrieve_personal_memory", object{"query": "x", "user_id": "bob"}}, {"summary_personal_memory", object{"trajectories": trajectory("FACT x")}},
		} {
			r := use(t, c, call.tool, call.arguments)
			assert.NotContains(t, r.text, "eader", "%s: %s", name, call.tool)
			assert.NotContains(t, r.text, "key", "%s: %s", name, call.tool)
			if r.failed {
				assert.Contains(t, r.text, "-workspace", "%s: %s", name, call.tool)
			}
		}
		assert.True(t, use(t, c, "add_memory", object{"content": "x"}).failed)
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://sessions"})
		assert.NotContains(t, fmt.Sprint(err), "eader", name)
	}
}

func TestServerSentEvents(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	srv := httptest.NewServer(w.server.SSEHandler())
	t.Cleanup(srv.Close)
	sse := func(h headers) sdk.Transport {
		return &sdk.SSEClientTransport{Endpoint: srv.URL + "/sse/", HTTPClient: &http.Client{Transport: h}}
	}
	everyTool(t, connect(t, sse(headers{"X-API-Key": "ann", access.HeaderSession: "s1"}), agreeing()))
	assert.Empty(t, w.failed)
	assert.Contains(t, w.audit.String(), `"key":"ann","action":"mcp add_memory"`)

	events := httptest.NewRecorder() // of a session of ann's
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/sse", nil)
	r.Header.Set("X-API-Key", "ann")
	written, ended := make(chan struct{}), make(chan struct{})
	handler := w.server.SSEHandler()
	go func() {
		handler.ServeHTTP(&announced{ResponseRecorder: events, written: written}, r)
		close(ended)
	}()
	<-written
	at := regexp.MustCompile(`/sse\?sessionid=\w+`).FindString(events.Body.String())
	require.NotEmpty(t, at)
	send := func(key, at string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(initialize))
		r.Header.Set("X-API-Key", key)
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		return out.Code
	}
	assert.Equal(t, http.StatusUnauthorized, send("", at))
	for _, key := range []string{"bob", "many", "reader"} {
		assert.NotEqual(t, http.StatusAccepted, send(key, at), key)
	}
	assert.Equal(t, http.StatusNotFound, send("ann", "/sse?sessionid=made-up"))
	cancel()
	<-ended
	assert.Equal(t, http.StatusNotFound, send("ann", at), "the session ends with its stream")
	_, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), sse(headers{"X-API-Key": "ann", access.HeaderUser: "bob"}), nil)
	require.Error(t, err)
}

// The address may say whose memory a connection is about, within what its key opens, over both
// transports. What it says is never passed over.
func TestTheAddressMayNameTheScope(t *testing.T) {
	w := newWorld(t, testkit.SQLite(t))
	srv := httptest.NewServer(w.server.SSEHandler())
	t.Cleanup(srv.Close)
	for kind, dial := range map[string]func(query string, h headers) sdk.Transport{
		"/mcp": func(query string, h headers) sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: w.url + query, HTTPClient: &http.Client{Transport: h}}
		},
		"/sse": func(query string, h headers) sdk.Transport {
			return &sdk.SSEClientTransport{Endpoint: srv.URL + "/sse" + query, HTTPClient: &http.Client{Transport: h}}
		},
	} {
		for query, said := range map[string]string{"?user_id=bob&session_id=s1": "wolves", "?session_id=s1&user_id=ann": "bees"} {
			c := connect(t, dial(query, headers{"X-API-Key": "many"}), nil)
			assert.Contains(t, ok(t, c, "grep_working_memory", object{"pattern": "I keep"}).text, said, kind)
		}
		c := connect(t, dial("?user_id=ann", headers{"X-API-Key": "ann", access.HeaderUser: "ann", access.HeaderSession: "s1"}), nil)
		assert.Contains(t, ok(t, c, "grep_working_memory", object{"pattern": "I keep"}).text, "bees", kind)
	}
	for _, c := range []struct {
		key, query, says string
		status           int
		header           []string
	}{
		{"ann", "?user_id=bob", "this key does not open that", http.StatusForbidden, nil},
		{"ann", "?workspace=garage", "this key does not open that", http.StatusForbidden, nil},
		{"ann", "?namespace=other", "this key does not open that", http.StatusForbidden, nil},
		{"many", "?user_id=*", "'*'", http.StatusBadRequest, nil},
		{"many", "?user_id=ann", `the address names user_id "ann", and the header X-Memory-User "bob"`, http.StatusBadRequest, []string{access.HeaderUser, "bob"}},
	} {
		for _, url := range []string{w.url, srv.URL + "/sse"} {
			refused := post(t, url+c.query, c.key, "", initialize, c.header...)
			body, err := io.ReadAll(refused.Body)
			require.NoError(t, err)
			assert.Equal(t, c.status, refused.StatusCode, c.query)
			assert.Contains(t, string(body), c.says, c.query)
		}
	}
}

// announced tells of the first bytes of an answer.
type announced struct {
	*httptest.ResponseRecorder
	sync.Once
	written chan struct{}
}

func (a *announced) Write(b []byte) (int, error) {
	n, err := a.ResponseRecorder.Write(b)
	a.Do(func() { close(a.written) })
	return n, err
}

// A backend that lists nothing, and a memory without a window, have fewer tools.
func TestWhatIsNotThereIsNotOffered(t *testing.T) {
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: &testkit.Backend{}, Sessions: testkit.SQLite(t)})
	require.NoError(t, err)
	s, err := mcp.New(&mcp.Config{Memory: mem, Scope: ann})
	require.NoError(t, err)
	here, there := sdk.NewInMemoryTransports()
	go func() { _ = s.Run(t.Context(), there) }()
	var names []string
	for tool, err := range connect(t, here, nil).Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	assert.Equal(t, []string{"add_memory", "forget", "search_memory"}, names)
}

// A client speaks to a server in the same process.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	facts, err := mem0.New(ctx, &mem0.Config{Store: db})
	if err != nil {
		panic(err)
	}
	mem, err := middleware.New(ctx, &middleware.Config{Backend: facts, Sessions: db})
	if err != nil {
		panic(err)
	}
	s, err := mcp.New(&mcp.Config{Memory: mem, Scope: backends.Scope{UserID: "ann"}})
	if err != nil {
		panic(err)
	}
	here, there := sdk.NewInMemoryTransports()
	go func() { _ = s.Run(ctx, there) }()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Close() }()

	if _, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "add_memory", Arguments: map[string]any{"content": []string{"Ann writes Go."}}}); err != nil {
		panic(err)
	}
	res, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "search_memory", Arguments: map[string]any{"query": "Which language does Ann write?"}})
	if err != nil {
		panic(err)
	}
	said := res.Content[0].(*sdk.TextContent).Text
	fmt.Println(said[strings.Index(said, "Ann"):strings.Index(said, " (")])
	// Output:
	// Ann writes Go.
}
