// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything opens any scope.
func everything(s backends.Scope, _ access.Mode) (backends.Scope, error) {
	if s.Workspace == "" && s.UserID == "" {
		s.Workspace = "default"
	}
	return s.Normalize()
}

// newFlows returns flows over a backend whose model learns by marks.
func newFlows(t testing.TB, change func(*flows.Config), script ...testkit.Reply) *flows.Flows {
	t.Helper()
	if len(script) == 0 {
		script = []testkit.Reply{testkit.Learn}
	}
	model := testkit.New(script...)
	b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t), Model: model})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	cfg := &flows.Config{Backend: b, Model: model}
	if change != nil {
		change(cfg)
	}
	f, err := flows.New(cfg)
	require.NoError(t, err)
	return f
}

// call runs a flow and returns its answer as JSON decodes it.
func call(t testing.TB, f *flows.Flows, name, body string) map[string]any {
	t.Helper()
	r, err := f.Call(t.Context(), name, everything, "", json.RawMessage(body))
	require.NoError(t, err)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// folder returns a folder for files.
func folder(t testing.TB) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

func TestCallsOfReMesReadme(t *testing.T) {
	raw, err := os.ReadFile("testdata/readme.jsonl")
	require.NoError(t, err)
	f := newFlows(t, func(c *flows.Config) { c.Folder = folder(t) })
	for line := range strings.Lines(string(raw)) {
		var c struct {
			Flow     string
			Request  json.RawMessage
			Success  bool
			Answer   *string // the beginning
			Metadata map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		got := call(t, f, c.Flow, string(c.Request))
		require.Equal(t, c.Success, got["success"], line)
		if c.Answer != nil {
			require.True(t, strings.HasPrefix(got["answer"].(string), *c.Answer), "%s\n%q", line, got["answer"])
			require.True(t, *c.Answer != "" || got["answer"] == "", "%s\n%q", line, got["answer"])
		}
		if c.Metadata != nil {
			require.Equal(t, c.Metadata, got["metadata"], line)
		}
	}
}

// large is a request to make a context smaller whose one result of a tool has so many lines.
func large(lines int, more string) string {
	var content strings.Builder
	for i := range lines {
		fmt.Fprintf(&content, "line %d of the readme: CODE-%d\n", i, i)
	}
	messages, _ := json.Marshal([]any{
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Read it"}, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "u"}}}},
		map[string]any{"role": "assistant", "content": "", "tool_calls": []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "read", "arguments": "{}"}}}},
		map[string]any{"role": "tool", "content": content.String()},
		map[string]any{"role": "user", "content": "What does it say?"},
	})
	return `{"keep_recent_count":1,"messages":` + string(messages) + more + `}`
}

func TestAnOffloadedResultIsFoundInItsFile(t *testing.T) {
	root := folder(t)
	f := newFlows(t, func(c *flows.Config) { c.Folder = root })
	got := call(t, f, "summary_working_memory", large(3000, `,"store_dir":"wm","preview_char_length":12`))
	require.Equal(t, true, got["success"])
	messages, file := got["answer"].([]any), fileOf(got)
	require.Regexp(t, "^wm/[0-9a-f-]{36}\\.txt$", file)
	require.Equal(t, "tool call=call_1 result is stored in file path=`"+file+"`\nline 0 of…", messages[2].(map[string]any)["content"])
	require.Len(t, messages[0].(map[string]any)["content"], 2, "media stay")
	require.True(t, strings.HasSuffix(got["metadata"].(map[string]any)["write_file_dict"].(map[string]any)[file].(string), "CODE-2999\n"))

	ask := func(flow, more string) any { return call(t, f, flow, `{"file_path":"`+file+`",`+more+`}`)["answer"] }
	require.Equal(t, "line 2998 of the readme: CODE-2998\nline 2999 of the readme: CODE-2999", ask("read_working_memory", `"offset":2998,"limit":0`))
	require.Equal(t, "line 10 of the readme: CODE-10", ask("read_working_memory", `"offset":10,"limit":1`))
	require.Equal(t, "", ask("read_working_memory", `"offset":9000,"limit":5`))
	require.Equal(t, file+":2991:line 2990 of the readme: CODE-2990", ask("grep_working_memory", `"pattern":"code-2990"`))
	require.Equal(t, `No matches found for pattern "code [" in file_path "`+file+`".`, ask("grep_working_memory", `"pattern":"code ["`))

	require.NotEqual(t, file, fileOf(call(t, f, "summary_working_memory", large(4000, `,"store_dir":"wm"`))), "a file is never written over")
	_, err := f.Call(t.Context(), "read_working_memory", everything, "", json.RawMessage(`{"workspace_id":"other","file_path":"`+file+`","offset":0,"limit":1}`))
	require.ErrorIs(t, err, backends.ErrNotFound, "no scope reads the files of another")
	_, err = f.Call(t.Context(), "read_working_memory", everything, "other", json.RawMessage(`{"file_path":"`+file+`","offset":0,"limit":1}`))
	require.ErrorIs(t, err, backends.ErrNotFound, "nor of another namespace")
}

// fileOf returns the path of the only file of an answer.
func fileOf(answer map[string]any) (path string) {
	for path = range answer["metadata"].(map[string]any)["write_file_dict"].(map[string]any) {
	}
	return path
}

func TestWithoutAFolderContentsComeBack(t *testing.T) {
	f := newFlows(t, nil)
	for _, flow := range []string{"summary_working_memory", "summary_working_memory_for_as"} {
		got := call(t, f, flow, large(3000, `,"store_dir":"/srv/wm"`))
		require.Contains(t, fileOf(got), "/srv/wm/")
	}
	for flow, body := range map[string]string{
		"vector_store": `{"workspace_id":"w","action":"load"}`, "read_working_memory": `{"file_path":"x","offset":0,"limit":0}`,
	} {
		_, err := f.Call(t.Context(), flow, everything, "", json.RawMessage(body))
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "keeps no files")
	}
}

func TestNoPathOfARequestLeavesTheFolder(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "w.jsonl"), []byte(`{"memory_id":"a","content":"secret"}`), 0o600))
	inside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(inside, "link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "w.jsonl"), filepath.Join(inside, "w.jsonl")))
	root, err := os.OpenRoot(inside)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	f := newFlows(t, func(c *flows.Config) { c.Folder = root })
	call(t, f, "summary_task_memory", `{"workspace_id":"w","trajectories":[{"messages":[{"role":"user","content":"LESSON a | b"}],"score":1}]}`)
	before := tree(t, outside)

	for _, p := range []string{
		"..", "../x", "a/../../x", "/", "/etc", outside, "link", "link/x", "./link", "a\x00b", "..\\x", ".working_memory", "./.working_memory/x", "x/../.working_memory", "working_memory/../link",
		strings.Repeat("a/", 5000), strings.Repeat("a", 300), "con\x00",
	} {
		path, _ := json.Marshal(p)
		for _, action := range []string{"dump", "load"} {
			_, err := f.Call(t.Context(), "vector_store", everything, "", json.RawMessage(`{"workspace_id":"w","action":"`+action+`","path":`+string(path)+`}`))
			require.Error(t, err, "%s %.50q", action, p)
		}
		for flow, body := range map[string]string{
			"read_working_memory": `{"offset":0,"limit":0,"file_path":` + string(path) + `}`,
			"grep_working_memory": `{"pattern":"e","file_path":` + string(path) + `}`,
		} {
			_, err := f.Call(t.Context(), flow, everything, "", json.RawMessage(body))
			require.Error(t, err, "%s %.50q", flow, p)
		}
		r, err := f.Call(t.Context(), "summary_working_memory", everything, "", json.RawMessage(large(3000, `,"store_dir":`+string(path))))
		if err == nil && !r.Success {
			require.Contains(t, r.Metadata, "error")
		}
	}
	for _, name := range []string{"../../x", "a/b", "..", ".", "", "x\x00", strings.Repeat("n", 300)} {
		id, _ := json.Marshal(name)
		body := strings.ReplaceAll(large(3000, `,"store_dir":"d"`), `"call_1"`, string(id))
		r, err := f.Call(t.Context(), "summary_working_memory", everything, "", json.RawMessage(body))
		require.NoError(t, err)
		require.True(t, r.Success, "%q: %v", name, r.Metadata["error"])
	}
	_, err = f.Call(t.Context(), "vector_store", everything, "", json.RawMessage(`{"workspace_id":"../w","action":"load"}`))
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = f.Call(t.Context(), "vector_store", everything, "elsewhere", json.RawMessage(`{"workspace_id":"w","action":"dump"}`))
	require.ErrorIs(t, err, backends.ErrInvalid, "a namespace has the files of no other")
	require.Equal(t, before, tree(t, outside))
	require.NotContains(t, fmt.Sprint(call(t, f, "vector_store", `{"workspace_id":"w","action":"list"}`)), "secret")
}

// tree returns what a folder holds.
func tree(t testing.TB, dir string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		out = append(out, p)
		return err
	}))
	return out
}

func TestWhatAKeyDoesNotOpenIsNotTouched(t *testing.T) {
	counted := testkit.New(testkit.Learn)
	b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t), Model: counted})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	root := folder(t)
	f, err := flows.New(&flows.Config{Backend: b, Model: counted, Folder: root})
	require.NoError(t, err)
	bodies := map[string]string{
		"workspace_id": `"w"`, "query": `"q"`, "memory_dicts": `[{"memory_id":"x"}]`, "update_utility": `true`, "freq_threshold": `1`, "utility_threshold": `1`,
		"tool_call_results": `[{"tool_name":"t","input":"i","output":"o"}]`, "tool_names": `"t"`, "action": `"delete"`, "file_path": `"x"`, "pattern": `"x"`,
		"offset": `0`, "limit": `0`, "messages": `[{"role":"user","content":"hello"}]`, "trajectories": `[{"messages":[{"role":"user","content":"LESSON a | b"}],"score":1}]`,
	}
	var members []string
	for name, value := range bodies {
		members = append(members, `"`+name+`":`+value)
	}
	body := json.RawMessage("{" + strings.Join(members, ",") + "}")
	for _, flow := range f.List() {
		var asked []backends.Scope
		_, err := f.Call(t.Context(), flow.Name, func(s backends.Scope, mode access.Mode) (backends.Scope, error) {
			asked = append(asked, s)
			require.Equal(t, flow.Mode, mode, flow.Name)
			return s, backends.ErrDenied
		}, "shop", body)
		require.ErrorIs(t, err, backends.ErrDenied, flow.Name)
		want := []backends.Scope{{Namespace: "shop", Workspace: "w"}}
		if strings.Contains(flow.Name, "personal") { // of the user of that name, else of the caller
			want = append([]backends.Scope{{Namespace: "shop", UserID: "w"}}, want...)
		}
		require.Equal(t, want, asked, flow.Name)
	}
	require.Empty(t, counted.Calls())
	require.Len(t, tree(t, root.Name()), 1, "only the folder itself")
	_, err = f.Call(t.Context(), "vector_store", func(s backends.Scope, _ access.Mode) (backends.Scope, error) {
		if s.Workspace == "theirs" {
			return s, backends.ErrDenied
		}
		return s.Normalize()
	}, "", json.RawMessage(`{"action":"copy","workspace_id":"ours","src_workspace_id":"theirs"}`))
	require.ErrorIs(t, err, backends.ErrDenied, "the source of a copy is asked for, too")
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	f := newFlows(t, nil)
	for _, c := range []struct{ flow, body, want string }{
		{"use_mock_search", `{"query":"x"}`, "no flow is named"},
		{"retrieve_task_memory", `{}`, "nothing to look for"},
		{"retrieve_task_memory", ``, "EOF"},
		{"retrieve_task_memory", `[]`, "cannot unmarshal array"},
		{"retrieve_task_memory", `{"query":7}`, "number"},
		{"retrieve_task_memory", `{"query":"x","top_k":-1}`, "invalid"},
		{"retrieve_task_memory", `{"query":"x","top_k":1001}`, "invalid"},
		{"retrieve_task_memory", `{"query":" "}`, "nothing to look for"},
		{"summary_task_memory", `{"trajectories":[{"messages":[{"role":"root","content":"x"}]}]}`, "write system, user, assistant or tool"},
		{"summary_working_memory", `{"messages":[],"working_summary_mode":"magic"}`, "use compact, compress or auto"},
		{"summary_working_memory", `{"messages":[],"max_total_tokens":0}`, "it must be above 0"},
		{"add_tool_call_result", `{"tool_call_results":[{"tool_name":7}]}`, "tool call 0"},
	} {
		_, err := f.Call(t.Context(), c.flow, everything, "", json.RawMessage(c.body))
		require.ErrorContains(t, err, c.want, c.body)
	}
}

func TestToolCallsOfAnyTimeAreKept(t *testing.T) {
	f := newFlows(t, nil)
	got := call(t, f, "add_tool_call_result", `{"workspace_id":"w","tool_call_results":[
		{"create_time":"2019-01-01 00:00:00","tool_name":"a","input":{"n":1.0},"output":"o"},
		{"create_time":"tomorrow","tool_name":"a","input":"i","output":"o","success":false},
		{"create_time":1761042600,"tool_name":"a","input":"i2","output":"o"},
		{"create_time":null,"tool_name":"a","input":"i3","output":"o"},
		{"tool_name":"","input":"i","output":"o"},
		{"tool_name":"b"}]}`)
	metadata := got["metadata"].(map[string]any)
	require.Equal(t, map[string]any{"total_input": 6.0, "valid": 4.0, "filtered": 2.0}, metadata["validation_stats"])
	calls := metadata["memory_list"].([]any)[0].(map[string]any)["tool_call_results"].([]any)
	var times []any
	for _, c := range calls {
		times = append(times, c.(map[string]any)["create_time"])
	}
	require.Subset(t, times, []any{"2019-01-01 00:00:00", "tomorrow", "1761042600"})
	require.Equal(t, false, call(t, f, "add_tool_call_result", `{"workspace_id":"w","tool_call_results":[{"tool_name":" "}]}`)["success"])
}

func TestPersonalMemoryIsThatOfTheUser(t *testing.T) {
	f := newFlows(t, func(c *flows.Config) { c.Folder = folder(t) })
	body := `{"user_id":"ann","workspace_id":"w","user_name":"Ann","trajectories":[{"messages":[
		{"role":"user","content":[{"type":"text","text":"FACT Ann lives in Bern"}],"name":null,"time_created":"2025-03-01 10:00:00"}]}]}`
	list := call(t, f, "summary_personal_memory", body)["metadata"].(map[string]any)["memory_list"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, "Ann", list[0].(map[string]any)["target"])
	require.Equal(t, "ann", list[0].(map[string]any)["workspace_id"])
	ask := `,"query":"where does Ann live"}`
	require.Equal(t, "Ann lives in Bern", call(t, f, "retrieve_personal_memory", `{"user_id":"ann"`+ask)["answer"])
	require.Equal(t, "Ann lives in Bern", call(t, f, "retrieve_personal_memory", `{"workspace_id":"ann"`+ask)["answer"], "a workspace for each user")
	require.Equal(t, "", call(t, f, "retrieve_personal_memory", `{"workspace_id":"w"`+ask)["answer"])
	require.Equal(t, "", call(t, f, "retrieve_task_memory", `{"workspace_id":"ann"`+ask)["answer"])

	store := func(action string) map[string]any {
		return call(t, f, "vector_store", `{"user_id":"ann","action":"`+action+`","memory_ids":["`+list[0].(map[string]any)["memory_id"].(string)+`"]}`)["metadata"].(map[string]any)
	}
	require.Equal(t, "{'size': 1}", store("dump")["action_result"])
	require.Equal(t, list[0].(map[string]any)["content"], store("list")["memory_list"].([]any)[0].(map[string]any)["content"])
	store("delete_ids")
	require.Equal(t, "{'size': 0}", store("list")["action_result"])
	require.Equal(t, "{'size': 1}", store("load")["action_result"])
	require.Equal(t, "Ann lives in Bern", call(t, f, "retrieve_personal_memory", `{"user_id":"ann"`+ask)["answer"])
	require.Equal(t, true, call(t, f, "summary_personal_memory", `{"user_id":"ann"}`)["success"])
}

func TestAUserLoadsNoDumpOfAWorkspaceWithTheSameName(t *testing.T) {
	f := newFlows(t, func(c *flows.Config) { c.Folder = folder(t) })
	call(t, f, "summary_personal_memory", `{"user_id":"bob","trajectories":[{"messages":[{"role":"user","content":"FACT Bob lives in Bern"}]}]}`)
	call(t, f, "add_tool_call_result", `{"workspace_id":"team","tool_call_results":[{"tool_name":"search","input":"i","output":"o"}]}`)
	call(t, f, "summary_tool_memory", `{"workspace_id":"team","tool_names":"search"}`)
	require.Equal(t, true, call(t, f, "vector_store", `{"workspace_id":"team","action":"dump"}`)["success"])
	_, err := f.Call(t.Context(), "vector_store", everything, "", json.RawMessage(`{"user_id":"team","action":"load"}`))
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.Equal(t, true, call(t, f, "vector_store", `{"user_id":"bob","action":"dump"}`)["success"])
	_, err = f.Call(t.Context(), "vector_store", everything, "", json.RawMessage(`{"workspace_id":"bob","action":"load"}`))
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestAContextThatStaysTooLargeIsNoSuccess(t *testing.T) {
	said := strings.Repeat("word ", 3000)
	body := `{"max_total_tokens":1000,"keep_recent_count":1,"working_summary_mode":"MODE","messages":[{"role":"user","content":"` + said + `"},{"role":"assistant","content":"` + said + `"},{"role":"user","content":"go on"}]}`
	f := newFlows(t, nil, testkit.Fail(errors.New("dial 10.1.2.3")))
	got := call(t, f, "summary_working_memory", strings.Replace(body, "MODE", "compact", 1))
	require.Equal(t, false, got["success"])
	require.Len(t, got["answer"], 3)
	require.Contains(t, got["metadata"].(map[string]any)["error"], "tokens")
	got = call(t, f, "summary_working_memory", strings.Replace(body, "MODE", "compress", 1))
	require.Equal(t, false, got["success"])
	require.Contains(t, fmt.Sprint(got["metadata"]), "failed")
	require.NotContains(t, fmt.Sprint(got), "10.1.2.3")

	f = newFlows(t, func(c *flows.Config) { c.Model = nil })
	require.Equal(t, false, call(t, f, "summary_working_memory", strings.Replace(body, "MODE", "auto", 1))["success"], "auto is compact without a model")
	_, err := f.Call(t.Context(), "summary_working_memory", everything, "", json.RawMessage(strings.Replace(body, "MODE", "compress", 1)))
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestUsesAreCountedInTheStore(t *testing.T) {
	f := newFlows(t, nil)
	call(t, f, "summary_task_memory", `{"workspace_id":"w","trajectories":[{"messages":[{"role":"user","content":"LESSON planning | list goals"}],"score":0}]}`)
	list := call(t, f, "retrieve_task_memory", `{"workspace_id":"w","query":"planning"}`)["metadata"].(map[string]any)["memory_list"]
	dicts, _ := json.Marshal(list)
	for range 2 { // with the same copy of the client's
		call(t, f, "record_task_memory", `{"workspace_id":"w","update_utility":false,"memory_dicts":`+string(dicts)+`}`)
	}
	got := call(t, f, "retrieve_task_memory", `{"workspace_id":"w","query":"planning"}`)["metadata"].(map[string]any)["memory_list"].([]any)[0].(map[string]any)
	require.Equal(t, 2.0, got["metadata"].(map[string]any)["freq"])
	gone := call(t, f, "delete_task_memory", `{"workspace_id":"w","freq_threshold":2,"utility_threshold":0.5}`)["metadata"].(map[string]any)
	require.Equal(t, []any{got["memory_id"]}, gone["deleted_memory_ids"])
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for _, cfg := range []*flows.Config{nil, {}, {Backend: testkit.Knowing()}} {
		_, err := flows.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}
