// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testpostgres"
	"github.com/einomem/einomem/toolkit/server/access"
)

// start serves until the test ends or stop is called, and returns where.
func start(t *testing.T, args ...string) (url string, log *bytes.Buffer, stop func() error) {
	t.Helper()
	return startCommand(t, "serve", args...)
}

func startCommand(t *testing.T, command string, args ...string) (url string, log *bytes.Buffer, stop func() error) {
	t.Helper()
	for _, name := range []string{"OPENAI_API_KEY", "EINOMEM_LISTEN", "EINOMEM_STORE", "EINOMEM_CONFIG"} {
		if os.Getenv(name) != scriptedKey {
			t.Setenv(name, "")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	log = &bytes.Buffer{}
	done := make(chan error, 1)
	go func() {
		args := append([]string{command, "-listen", "127.0.0.1:0", "-store", filepath.Join(t.TempDir(), "memory.db")}, args...)
		var err error
		if code := run(ctx, args, w, log); code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, log)
		}
		_ = w.CloseWithError(err)
		done <- err
	}()
	printed, found := bufio.NewReader(r), false
	for !found {
		line, err := printed.ReadString('\n')
		require.NoError(t, err)
		url, found = strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	}
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return url, log, stop
}

func get(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

func post(t *testing.T, url, body string) (int, map[string]any) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var out map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	return res.StatusCode, out
}

func TestItServesThisMachineWithoutConfiguration(t *testing.T) {
	url, log, stop := start(t)
	for _, path := range []string{"/healthz", "/readyz", "/", "/openapi.json", "/metrics", "/health"} {
		status, body := get(t, url+path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	}
	status, out := post(t, url+"/api/v1/add", `{"scope":{"user_id":"ann"},"verbatim":true,"messages":[{"role":"user","content":"I moved to Hangzhou."}]}`)
	require.Equal(t, http.StatusOK, status, out)
	status, out = post(t, url+"/api/v1/search", `{"scope":{"user_id":"ann"},"query":"Hangzhou"}`)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, out["hits"], 1)
	made, err := http.NewRequestWithContext(t.Context(), "MADEUP", url+"/nowhere/at/all", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(made)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	_, metrics := get(t, url+"/metrics")
	require.Contains(t, metrics, `http_server_request_duration_seconds_count{error_type="",http_request_method="POST",http_response_status_code="200",http_route="/api/v1/search",url_scheme="http"}`)
	require.Regexp(t, `http_server_request_duration_seconds_count{error_type="",http_request_method="_OTHER",http_response_status_code="40[45]",http_route="/?",url_scheme="http"} 1`, metrics)
	require.NotContains(t, metrics, "MADEUP")
	require.NotContains(t, metrics, "/nowhere")
	require.Contains(t, metrics, "einomem_backlog_messages 0")
	require.NoError(t, stop())
	require.Contains(t, log.String(), "audit")
	require.Regexp(t, `"request":"[0-9a-f-]{36}"`, log.String())
	require.NotContains(t, log.String(), "Hangzhou", "what people say belongs in no log")
}

// A client of MCP holds a stream open as long as it runs. A server that waited for it would end with
// an error, after its grace.
func TestAnOpenStreamDoesNotHoldUpTheEnd(t *testing.T) {
	url, _, stop := startCommand(t, "serve")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/sse?user_id=ann", nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, stop())
	_, _ = io.ReadAll(res.Body) // it ends
}

// One server knows at once what another one was told.
func TestTwoServersShareAPostgres(t *testing.T) {
	db := testpostgres.Need(t).Database(t)
	one, _, _ := start(t, "-store", db)
	other, _, _ := start(t, "-store", db)
	for _, said := range []string{"I moved to Hangzhou.", "My dog Rex likes bones."} {
		status, out := post(t, one+"/api/v1/add", `{"scope":{"user_id":"ann"},"verbatim":true,"messages":[{"role":"user","content":"`+said+`"}]}`)
		require.Equal(t, http.StatusOK, status, out)
		for _, url := range []string{other, one} {
			status, out = post(t, url+"/api/v1/search", `{"scope":{"user_id":"ann"},"query":"`+said+`","top_k":1}`)
			require.Equal(t, http.StatusOK, status)
			require.Len(t, out["hits"], 1)
			require.Contains(t, fmt.Sprint(out["hits"]), said)
		}
	}
}

func TestKeysDecideOnMetricsAndMemories(t *testing.T) {
	all, one := access.NewSecret(), access.NewSecret()
	file := filepath.Join(t.TempDir(), "einomem.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
log: {level: debug}
keys:
  - {name: operator, hash: `+access.Hash(all)+`, users: ["*"], agents: ["*"], workspaces: ["*"], write: true, admin: true}
  - {name: ann, hash: `+access.Hash(one)+`, users: [ann]}
`), 0o600))
	url, _, _ := start(t, "-config", file)
	for _, c := range []struct {
		path, secret string
		status       int
	}{
		{"/healthz", "", 200}, {"/metrics", "", 403}, {"/metrics", one, 403}, {"/metrics", all, 200},
		{"/api/v1/me", "", 401}, {"/api/v1/me", one, 200}, {"/api/v1/entities?user_id=ann", one, 200}, {"/api/v1/entities?user_id=bob", one, 403},
	} {
		status, body := get(t, url+c.path, "Authorization", "Bearer "+c.secret)
		require.Equal(t, c.status, status, "%s: %s", c.path, body)
	}
}

func TestProgramsThatNameNobodyMayHaveAUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "einomem.yaml")
	require.NoError(t, os.WriteFile(file, []byte("default_user: me"), 0o600))
	url, _, _ := start(t, "-config", file)
	status, out := post(t, url+"/v1/long-term-memory/", `{"memories":[{"id":"home","text":"I moved to Hangzhou."}]}`)
	require.Equal(t, http.StatusOK, status, out)
	status, body := get(t, url+"/v1/long-term-memory/home")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"user_id":"me"`)
	status, body = get(t, url+"/v1/long-term-memory/home", "Via", "1.1 proxy")
	require.Equal(t, http.StatusForbidden, status, body)
}

func TestCheckSaysWhatWouldBeServed(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	var out, log bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"serve", "-check", "-store", filepath.Join(t.TempDir(), "memory.db")}, &out, &log))
	require.Contains(t, out.String(), "listen 127.0.0.1:8080")
	require.Contains(t, out.String(), "model none, keys 0")
	s := &service{cfg: &settings{Store: "redis://user:secret@host:6379/0"}}
	require.NotContains(t, s.summary(), "secret")
}

func TestAConfigurationThatCannotBe(t *testing.T) {
	for text, why := range map[string]string{
		"listen: 0.0.0.0:8080":                   "configure keys",
		"listen: nowhere":                        "listen",
		"color: blue":                            "color",
		"location: Hangzhou":                     "Asia/Shanghai",
		"redact: some":                           "keys (the default)",
		"agent: {mode: mine}":                    "mode",
		"agent: {backend: mine}":                 "only code can set",
		"retention: {rules: [{kinds: [fact]}]}":  "Rules[0]",
		"tls: {cert: a.crt}":                     "belong together",
		"log: {level: loud}":                     "loud",
		"keys: [{name: shop, hash: mem_secret}]": "64 hex digits",
		"folder: /nonexistent/folder":            "/nonexistent/folder",
		"store: redis://127.0.0.1:1/0":           "refused",
		"store: postgres://127.0.0.1:1/x":        "refused",
		"store: /nonexistent/folder/memory.db":   "memory.db",
	} {
		t.Run(text, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "einomem.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			args := []string{"serve", "-check", "-config", file}
			if !strings.HasPrefix(text, "store") {
				args = append(args, "-store", filepath.Join(t.TempDir(), "memory.db"))
			}
			var log bytes.Buffer
			require.Equal(t, 1, run(t.Context(), args, io.Discard, &log))
			require.Contains(t, log.String(), why)
		})
	}
}

func TestStaticControlAndSmallModelsHaveNoTools(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for set, some := range map[string]bool{"": true, "agent: {mode: static_control}": false, "facts: {small: true}": false, "facts: {small: true}\nagent: {mode: both}": true} {
		file := filepath.Join(t.TempDir(), "einomem.yaml")
		require.NoError(t, os.WriteFile(file, []byte(set), 0o600))
		cfg, err := load(file, "", ":memory:", "")
		require.NoError(t, err)
		s, err := newService(t.Context(), cfg, backends.Scope{}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		tools, err := s.mem.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, some, len(tools) > 0, "%q: %d tools", set, len(tools))
		require.NoError(t, s.close(t.Context()))
	}
}

func TestANewKeyOpensTheServer(t *testing.T) {
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"key", "shop"}, &out, io.Discard))
	first, entry, _ := strings.Cut(out.String(), "\n\n")
	secret := strings.TrimPrefix(first, "secret: ")
	file := filepath.Join(t.TempDir(), "einomem.yaml")
	require.NoError(t, os.WriteFile(file, []byte(entry), 0o600))
	url, _, _ := start(t, "-config", file)
	status, body := get(t, url+"/api/v1/people", "Authorization", "Bearer "+secret)
	require.Equal(t, http.StatusOK, status, body)
}

func TestTheFirstStartMakesAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for range 2 {
		url, _, stop := start(t, "-listen", ":0", "-key-file", file)
		_, port, _ := strings.Cut(url, "[::]")
		url = "http://127.0.0.1" + port
		secret, err := os.ReadFile(file)
		require.NoError(t, err)
		status, _ := get(t, url+"/api/v1/people")
		require.Equal(t, http.StatusUnauthorized, status)
		status, body := get(t, url+"/api/v1/people", "Authorization", "Bearer "+strings.TrimSpace(string(secret)))
		require.Equal(t, http.StatusOK, status, body)
		require.Zero(t, run(t.Context(), []string{"health", "-listen", "0.0.0.0" + port}, io.Discard, io.Discard))
		require.NoError(t, stop())
		require.Equal(t, 1, run(t.Context(), []string{"health", "-listen", "0.0.0.0" + port}, io.Discard, io.Discard))
	}
}

// The file sets what the library can: the parts say so by what they do.
func TestTheFileSetsTheLibrary(t *testing.T) {
	file, at := filepath.Join(t.TempDir(), "einomem.yaml"), filepath.Join(t.TempDir(), "memory.db")
	require.NoError(t, os.WriteFile(file, []byte(`
store: `+at+`
location: Asia/Shanghai
language: zh
redact: personal
retention: {rules: [{kinds: [fact], atmost: 1}]}
reflection: {turns: 5, idle: 1m, calls: 3, tokens: 1000, rules: [duplicates]}
agent: {mode: agent_control, topk: 7, deletetool: true, toolnames: {search_memory: recall}}
facts: {factsonly: true, small: true, instructions: tastes}
experience: {countuses: true}
learning: {maxturns: 3, ttl: 720h}
window: {budget: {window: 64000}}
`), 0o600))
	t.Setenv("OPENAI_API_KEY", "")
	cfg, err := load(file, "", "", "")
	require.NoError(t, err)
	s, err := newService(t.Context(), cfg, backends.Scope{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close(t.Context())) }()
	require.NotNil(t, s.mem.Reflection())
	tools, err := s.mem.Tools(t.Context())
	require.NoError(t, err)
	var names []string
	for _, tool := range tools {
		info, err := tool.Info(t.Context())
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	require.Subset(t, names, []string{"recall", "add_memory", "delete_memory"})
	parts, err := cfg.parts(t.Context(), s.store)
	require.NoError(t, err)
	for _, text := range []string{"My phone is 13812345678.", "I like tea."} {
		_, err = parts.facts.Remember(t.Context(), backends.Scope{UserID: "ann"}, text)
		require.NoError(t, err)
	}
	require.NoError(t, parts.Close(t.Context()))
	require.NotContains(t, calls(t, 0, at, "list", "-user", "ann"), "13812345678")
	require.Contains(t, calls(t, 0, at, "-config", file, "retain", "-json"), `"surplus":1`)
	require.Equal(t, "Asia/Shanghai", cfg.Agent.Location.String())
	require.Equal(t, 64000, s.agent(parts).Window.(*window.Config).Budget.Window)
	require.Equal(t, 720*time.Hour, s.agent(parts).Working.TTL)
}

func TestTheFileOfDefaultsIsValid(t *testing.T) {
	c, err := load("einomem.yaml", "", "", "")
	require.NoError(t, err)
	empty, err := load("", "", "", "")
	require.NoError(t, err)
	require.Equal(t, empty.Listen, c.Listen)
	require.Equal(t, empty.Store, c.Store)
}

// TestReMesClientsWork makes the calls of ReMe's manual with the programs that it uses.
func TestReMesClientsWork(t *testing.T) {
	url, _, _ := start(t)
	for _, c := range []struct{ program, script string }{
		{"curl", ""},
		{"python3", "testdata/reme.py"},
		{"node", "testdata/reme.mjs"},
	} {
		t.Run(c.program, func(t *testing.T) {
			path, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("%s is not installed", c.program)
			}
			args := []string{c.script, url}
			if c.script == "" {
				args = []string{"-sS", "-X", "POST", url + "/add_tool_call_result", "-H", "Content-Type: application/json", "-d",
					`{"workspace_id":"curl","tool_call_results":[{"create_time":"2026-11-01 10:00:00","tool_name":"web_search","input":{"query":"asyncio"},
					"output":"Found 10 results","token_cost":150,"success":true,"time_cost":2.3}]}`}
			}
			out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), `"success":true`)
		})
	}
}

// TestTheBoardsProviderFindsWhatItIngested runs the provider of agent-memory-benchmark.
func TestTheBoardsProviderFindsWhatItIngested(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	url, _, _ := start(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/board.py", "../bench/board/einomem.py", t.TempDir())
	cmd.Env = append(os.Environ(), "EINOMEM_URL="+url)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "ok")
}
