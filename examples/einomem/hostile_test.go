// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testpostgres"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
	"github.com/einomem/einomem/toolkit/server/mcp"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// asProgram makes the test binary the program itself: another process.
const asProgram = "EINOMEM_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	status := m.Run()
	testpostgres.Remove()
	os.Exit(status)
}

// doors are memory over REST and MCP, with a folder, and two people who use it.
type doors struct {
	*testing.T
	at, folder string // the store, and the files of flows
	db         store.Store
	url        string
	client     *sdk.ClientSession // of whom is forgotten by MCP
}

func openDoors(t *testing.T, at string) *doors {
	ctx := context.Background()
	s := &doors{T: t, at: at, folder: t.TempDir()}
	var err error
	s.db, err = open(ctx, at, true)
	require.NoError(t, err)
	facts, err := mem0.New(ctx, &mem0.Config{Store: s.db, Shared: true})
	require.NoError(t, err)
	work, err := reme.New(ctx, &reme.Config{Store: s.db, Model: testkit.New(testkit.Learn), NoPersonal: true})
	require.NoError(t, err)
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backends.Join(facts, work)})
	require.NoError(t, err)
	root, err := os.OpenRoot(s.folder)
	require.NoError(t, err)
	f, err := flows.New(&flows.Config{Backend: mem.Backend(), Folder: root})
	require.NoError(t, err)
	kept, err := files.New(&files.Config{Records: s.db})
	require.NoError(t, err)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	guard, err := access.New(&access.Config{Log: quiet})
	require.NoError(t, err)
	h, err := rest.New(&rest.Config{Memory: mem, Store: s.db, Flows: f, Guard: guard, Log: quiet})
	require.NoError(t, err)
	m, err := mcp.New(&mcp.Config{Memory: mem, Flows: f, Files: kept, Tools: []string{"memory", "session", "files", "reme"}, Guard: guard, OnError: func(context.Context, string, error) {}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.Handle("/mcp", m.Handler())
	server := httptest.NewServer(mux)
	s.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		require.NoError(t, errors.Join(h.Close(ctx), mem.Close(ctx), facts.Close(ctx), work.Close(ctx), s.db.Close(), root.Close()))
	})
	return s
}

// post sends a request of a user.
func (s *doors) post(path string, body any, header ...string) (int, string) {
	text, err := json.Marshal(body)
	require.NoError(s, err)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.url+path, bytes.NewReader(text))
	require.NoError(s, err)
	r.Header.Set("Content-Type", "application/json")
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	return res.StatusCode, string(answer)
}

type object = map[string]any

// does is all that a user does at the same time: by all doors, in their own memory and in the
// workspace, with jobs and files.
func (s *doors) does(user, words string) []func() {
	scope := object{"user_id": user, "workspace": "lab", "session_id": "s"}
	said := []object{{"role": "user", "content": "FACT " + words + " said"}}
	result := strings.Repeat("line of "+words+"\n", 3000)
	working := []object{{"role": "user", "content": "Go."}, {"role": "assistant", "content": "", "tool_calls": []object{{"id": "c", "type": "function", "function": object{"name": "read", "arguments": "{}"}}}},
		{"role": "tool", "content": result, "tool_call_id": "c"}, {"role": "user", "content": "Go on."}}
	return []func(){
		func() { s.post("/api/v1/add", object{"scope": scope, "messages": said}) },
		func() { s.later("/api/v1/add", object{"scope": scope, "messages": said}) },
		func() { s.post("/memories", object{"user_id": user, "messages": said}) },
		func() {
			s.post("/summary_working_memory", object{"user_id": user, "keep_recent_count": 1, "messages": working})
		},
		func() { s.post("/vector_store", object{"user_id": user, "action": "dump", "path": "backup"}) },
		func() { s.post("/vector_store", object{"workspace_id": "lab", "action": "dump", "path": "backup"}) },
		func() { s.lesson(user, words) },
		func() {
			_, _ = s.client.CallTool(s.Context(), &sdk.CallToolParams{Name: "search_memory", Arguments: object{"keywords": words, "query": words}})
		},
	}
}

// later has a request served as a job, and waits until it ended, or is gone.
func (s *doors) later(path string, body any) {
	_, answer := s.post(path, body, "Prefer", "respond-async")
	var job struct {
		URL    string `json:"url"`
		Status int    `json:"status"`
	}
	for json.Unmarshal([]byte(answer), &job) == nil && job.URL != "" && job.Status == 0 {
		time.Sleep(5 * time.Millisecond)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+job.URL, nil)
		require.NoError(s, err)
		res, err := http.DefaultClient.Do(r)
		require.NoError(s, err)
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if answer = string(text); res.StatusCode == http.StatusNotFound {
			return
		}
	}
}

// lesson has the workspace learn from an attempt of a user, by MCP.
func (s *doors) lesson(user, words string) {
	c := s.connect(user)
	defer func() { _ = c.Close() }()
	attempt := object{"score": 1, "messages": []object{{"role": "user", "content": "LESSON " + words + " | " + words + " needs a saw"}}}
	_, _ = c.CallTool(s.Context(), &sdk.CallToolParams{Name: "summary_task_memory", Arguments: object{"workspace_id": "lab", "trajectories": []object{attempt}}})
	_, _ = c.CallTool(s.Context(), &sdk.CallToolParams{Name: "add_memory", Arguments: object{"thinking": "t", "content": []string{words + " noted"}}})
	_, _ = c.CallTool(s.Context(), &sdk.CallToolParams{Name: "memory", Arguments: object{"command": "create", "path": "/memories/" + words, "file_text": words}})
}

// named sets the headers that say whose memory a connection is about.
type named struct{ user string }

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(access.HeaderUser, n.user)
	r.Header.Set(access.HeaderWorkspace, "lab")
	return http.DefaultTransport.RoundTrip(r)
}

func (s *doors) connect(user string) *sdk.ClientSession {
	agree := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept"}, nil
	}}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, agree).
		Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: named{user}}}, nil)
	require.NoError(s, err)
	return c
}

// forget forgets a user by one of the doors.
func (s *doors) forget(door int, user string) {
	switch door % 3 {
	case 0:
		status, answer := s.post("/api/v1/forget", object{"scope": object{"user_id": user}})
		require.Equal(s, http.StatusOK, status, answer)
	case 1:
		r, err := http.NewRequestWithContext(s.Context(), http.MethodDelete, s.url+"/v2/entities/user/"+user+"/", nil)
		require.NoError(s, err)
		res, err := http.DefaultClient.Do(r)
		require.NoError(s, err)
		_ = res.Body.Close()
		require.Less(s, res.StatusCode, 300)
	default:
		res, err := s.client.CallTool(s.Context(), &sdk.CallToolParams{Name: "forget", Arguments: object{}})
		require.NoError(s, err)
		require.False(s, res.IsError, res.Content)
	}
}

// verified runs verify in another process.
func (s *doors) verified(user, words string) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), os.Args[0], "-store", s.at, "verify", "-user", user, "-marker", words, "-folder", s.folder)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(s, err, string(out))
}

// of returns what another user has, here and in the workspace.
func (s *doors) of(user string) string {
	var out strings.Builder
	_, err := store.Export(context.Background(), s.db, backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: user}, &out)
	require.NoError(s, err)
	return out.String()
}

// Whoever is forgotten, by any door and at any moment of what they do, leaves nothing in the
// store, in its files and keys, and in the folder, and takes nothing from others. With
// EINOMEM_LONG=1 it is tried 1,000 times on each store.
func TestForgettingAtAnyMomentLeavesNothing(t *testing.T) {
	rounds := 3
	if testkit.Long() {
		rounds = 1000
	}
	at := map[string]string{"sqlite": filepath.Join(t.TempDir(), "memory.db"), "redis": "", "postgres": ""}
	for name := range at {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "redis":
				at[name] = "redis://" + testredis.Need(t).Start(t).Addr
			case "postgres":
				at[name] = testpostgres.Need(t).Database(t)
			}
			s := openDoors(t, at[name])
			s.client = s.connect("bob")
			for _, do := range s.does("bob", "words-of-bob") {
				do()
			}
			_ = s.client.Close()
			before := s.of("bob")
			require.Contains(t, before, "words-of-bob")
			for round := range rounds {
				user, told, telling := fmt.Sprintf("user%04d", round), fmt.Sprintf("told%04dend", round), fmt.Sprintf("telling%04dend", round)
				s.client = s.connect(user)
				for _, do := range s.does(user, told) {
					do()
				}
				var both sync.WaitGroup
				for _, do := range s.does(user, telling) {
					both.Go(func() {
						time.Sleep(rand.N(30 * time.Millisecond))
						do()
					})
				}
				both.Go(func() {
					time.Sleep(rand.N(40 * time.Millisecond))
					s.forget(round, user)
				})
				both.Wait()
				s.verified("nobody", told) // what they say after the Forget is new
				s.forget(round+1, user)    // by another door, and with nothing under way
				s.verified(user, telling)
				_ = s.client.Close()
			}
			require.Equal(t, before, s.of("bob"))
			dump, err := os.ReadFile(filepath.Join(s.folder, "backup", "lab.jsonl"))
			require.NoError(t, err)
			require.Contains(t, string(dump), "words-of-bob")
		})
	}
}
