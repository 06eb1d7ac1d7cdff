// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
)

// Clients that others wrote call every tool, with the arguments of testdata/calls.json. They write
// a line of JSON for the list of tools, and one for each call.

// a tableCall is one of the calls: the id "$id" is the one that add_memory showed.
type tableCall struct {
	Tool      string
	Arguments object
	Says      string // what the text of its result matches
}

func tableOfCalls(t *testing.T) (all []tableCall) {
	raw, err := os.ReadFile("testdata/calls.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &all))
	return all
}

// answer is a line of a client.
type answer struct {
	Version string // of the client, in its first line
	Tools   []string
	Tool    string
	Failed  bool
	Text    string
}

// right checks what a client wrote, and the row about it in the docs: it found all tools, and got
// of each what it should.
func right(t *testing.T, client, transport string, lines []answer) {
	calls, good, left := tableOfCalls(t), 0, map[string]bool{}
	require.Len(t, lines, len(calls)+1, client)
	for _, name := range lines[0].Tools {
		left[name] = true
	}
	assert.Len(t, left, 24, client)
	for i, call := range calls {
		got := lines[i+1]
		delete(left, got.Tool)
		if assert.Equal(t, call.Tool, got.Tool) && assert.False(t, got.Failed, "%s: %s: %s", client, got.Tool, got.Text) &&
			assert.Regexp(t, call.Says, got.Text, "%s: %s", client, got.Tool) {
			good++
		}
	}
	assert.Empty(t, left, "tools that were not called")
	row := fmt.Sprintf("| %s | %s | %s | %d | %d |", client, lines[0].Version, transport, len(calls), good)
	t.Log(row)
	testkit.Documented(t, "../../../.github/docs/mcp.md", row)
}

// ran runs a client, and returns its lines.
func ran(t *testing.T, client *exec.Cmd) (lines []answer) {
	var stderr bytes.Buffer
	client.Stderr = &stderr
	out, err := client.Output()
	require.NoError(t, err, "%s%s", out, &stderr)
	for line := range strings.Lines(string(out)) {
		var a answer
		require.NoError(t, json.Unmarshal([]byte(line), &a), line)
		lines = append(lines, a)
	}
	return lines
}

// child returns the environment of a server over standard input and output, on a store of its own.
func child(t *testing.T) []string {
	path := filepath.Join(t.TempDir(), "memory.db")
	(&world{t: t, db: testkit.File(t, path)}).say("ann", "s1", "I keep bees in the garden")
	return append(os.Environ(), childStore+"="+path)
}

func TestClientsInGo(t *testing.T) {
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = child(t)
	c := connect(t, &sdk.CommandTransport{Command: program}, agreeing())
	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	lines, id := []answer{{Version: regexp.MustCompile(`modelcontextprotocol/go-sdk v(\S+)`).FindStringSubmatch(string(module))[1]}}, ""
	for tool, err := range c.Tools(t.Context(), nil) {
		require.NoError(t, err)
		lines[0].Tools = append(lines[0].Tools, tool.Name)
	}
	for _, call := range tableOfCalls(t) {
		if call.Arguments["id"] != nil {
			call.Arguments["id"] = id
		}
		res := use(t, c, call.Tool, call.Arguments)
		if added := regexp.MustCompile(`added: \[(\w+)\]`).FindStringSubmatch(res.text); added != nil {
			id = added[1]
		}
		lines = append(lines, answer{Tool: call.Tool, Failed: res.failed, Text: res.text})
	}
	right(t, "Go's SDK", "standard input and output", lines)
}

// The official SDK for TypeScript checks what a server answers more strictly than that for Go.
func TestClientsInTypeScript(t *testing.T) {
	folders := filepath.SplitList(os.Getenv("EINOMEM_NODE"))
	if len(folders) == 0 {
		t.Skip("EINOMEM_NODE names no folders in which @modelcontextprotocol/sdk is installed")
	}
	script, err := os.ReadFile("testdata/client.mjs")
	require.NoError(t, err)
	calls, err := filepath.Abs("testdata/calls.json")
	require.NoError(t, err)
	for _, folder := range folders {
		path := filepath.Join(folder, "client.mjs")
		require.NoError(t, os.WriteFile(path, script, 0o600))
		node := exec.CommandContext(t.Context(), "node", path, calls, os.Args[0])
		node.Dir, node.Env = folder, child(t)
		right(t, "TypeScript's SDK", "standard input and output", ran(t, node))
	}
}

// The Inspector starts a server for each call. It cannot ask its user.
func TestClientsByInspector(t *testing.T) {
	inspector := os.Getenv("EINOMEM_INSPECTOR")
	if inspector == "" {
		t.Skip("EINOMEM_INSPECTOR is not the path of mcp-inspector")
	}
	env := child(t)
	run := func(arguments ...string) (result struct {
		Tools   []struct{ Name string }
		Content []struct{ Text string }
		IsError bool
	}) {
		command := exec.CommandContext(t.Context(), inspector, append([]string{"--cli", "-e", env[len(env)-1], os.Args[0], "--method"}, arguments...)...)
		out, err := command.Output()
		require.NoError(t, json.Unmarshal(out, &result), "%s: %s", arguments, out)
		if !result.IsError { // for an error of a tool newer ones exit with a status of their own
			require.NoError(t, err, "%s: %s", arguments, out)
		}
		return result
	}
	var installed struct{ Version string }
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(inspector), "..", "@modelcontextprotocol", "inspector", "package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &installed))
	lines, id := []answer{{Version: installed.Version}}, ""
	for _, tool := range run("tools/list").Tools {
		lines[0].Tools = append(lines[0].Tools, tool.Name)
	}
	for _, call := range tableOfCalls(t) {
		arguments := []string{"tools/call", "--tool-name", call.Tool}
		for name, value := range call.Arguments {
			encoded, isText := value.(string)
			if name == "id" {
				encoded = id
			} else if !isText {
				raw, err := json.Marshal(value)
				require.NoError(t, err)
				encoded = string(raw)
			}
			arguments = append(arguments, "--tool-arg", name+"="+encoded)
		}
		result := run(arguments...)
		a := answer{Tool: call.Tool, Failed: result.IsError, Text: result.Content[0].Text}
		if call.Tool == "forget" {
			assert.Contains(t, a.Text, "cannot ask its user")
			a.Failed, a.Text = !a.Failed, "Erased 0 memories"
		}
		if added := regexp.MustCompile(`added: \[(\w+)\]`).FindStringSubmatch(a.Text); added != nil {
			id = added[1]
		}
		lines = append(lines, a)
	}
	right(t, "Inspector, command line", "standard input and output", lines)
}

// The official SDK for Python, over all transports: two of them with a key.
func TestClientsInPython(t *testing.T) {
	python := os.Getenv("EINOMEM_PYTHON_MCP")
	if python == "" {
		t.Skip("EINOMEM_PYTHON_MCP is no python that has mcp installed")
	}
	for kind, transport := range map[string]string{"stdio": "standard input and output", "http": "streamable HTTP, with a key", "sse": "server-sent events, with a key"} {
		w := newWorld(t, testkit.SQLite(t))
		sse := httptest.NewServer(w.server.SSEHandler())
		where := map[string]string{"stdio": os.Args[0], "http": w.url, "sse": sse.URL + "/sse/"}[kind]
		client := exec.CommandContext(t.Context(), python, "testdata/client.py", "testdata/calls.json", kind, where)
		client.Env = append(child(t), "EINOMEM_KEY=ann")
		right(t, "Python's SDK", transport, ran(t, client))
		sse.CloseClientConnections()
		sse.Close()
	}
}
