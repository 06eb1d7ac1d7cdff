// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// The interrupt tests run this test binary as a child process, which has the first
// half of a turn and ends. These name its folder, and the way in: see travelling.
const (
	childFolder = "EINOMEM_TEST_CHILD_FOLDER"
	childWay    = "EINOMEM_TEST_CHILD_WAY"
)

// folder is a checkpoint store of files.
type folder string

func (f folder) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(string(f), id))
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (f folder) Set(_ context.Context, id string, data []byte) error {
	return os.WriteFile(filepath.Join(string(f), id), data, 0o600)
}

// runs is what adk.Runner and hooks.Runner have in common.
type runs interface {
	Query(ctx context.Context, query string, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
	Resume(ctx context.Context, checkPointID string, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error)
}

// travelling is an agent that asks before it books, as one process has it.
type travelling struct {
	runs
	mem     *middleware.MemoryMiddleware
	backend *mem0.Backend
	file    *sqlitestore.Store
}

// newTravelling opens the agent on the files of dir. way says how memory comes in
// (middleware, runner or both), and whether the model streams.
func newTravelling(dir, way string, script ...testkit.Reply) *travelling {
	ctx := context.Background()
	tr := &travelling{}
	var err error
	tr.file, err = sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	check(err)
	tr.backend, err = mem0.New(ctx, &mem0.Config{Store: tr.file})
	check(err)
	tr.mem, err = middleware.New(ctx, &middleware.Config{Backend: tr.backend})
	check(err)
	book, err := utils.InferTool("book", "books a journey", func(ctx context.Context, _ struct{}) (string, error) {
		if asked, _, _ := tool.GetInterruptState[any](ctx); !asked {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "booked", nil
	})
	check(err)
	config := &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "travels", Model: testkit.New(script...),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{book}}},
	}
	if !strings.Contains(way, "runner") {
		config.Middlewares = []adk.AgentMiddleware{tr.mem.AgentMiddleware()}
	}
	made, err := adk.NewChatModelAgent(ctx, config)
	check(err)
	inner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: made, EnableStreaming: strings.Contains(way, "streaming"), CheckPointStore: folder(dir)})
	tr.runs = inner
	if !strings.Contains(way, "middleware") {
		tr.runs = tr.mem.WrapRunner(inner)
	}
	return tr
}

func (tr *travelling) end() {
	ctx := context.Background()
	check(tr.mem.Flush(ctx))
	check(tr.mem.Close(ctx))
	check(tr.backend.Close(ctx))
	check(tr.file.Close())
}

// runChild has the first half of the turn, whose scope is in the run's session
// values alone. It does nothing in the parent.
func runChild() {
	dir := os.Getenv(childFolder)
	if dir == "" {
		return
	}
	tr := newTravelling(dir, os.Getenv(childWay), testkit.Call("c1", "book", "{}"))
	events := tr.Query(context.Background(), "Book the train to Oslo.", adk.WithCheckPointID("cp"),
		adk.WithSessionValues(map[string]any{"user_id": "ann", "session_id": "s1"}))
	for {
		event, ok := events.Next()
		if !ok {
			break
		}
		check(event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			fmt.Println("interrupted")
		}
	}
	tr.end()
	os.Exit(0)
}

// The second half of a turn, in another process, completes the first: the turn is
// learnt once and whole. A middleware finds its user in the checkpoint; a wrapped
// runner alone has to be told again.
func TestATurnIsResumedInAnotherProcess(t *testing.T) {
	for _, way := range []string{"middleware", "runner", "both", "middleware, streaming", "runner, streaming", "both, streaming"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
			child.Env = append(os.Environ(), childFolder+"="+dir, childWay+"="+way)
			out, err := child.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, "interrupted\n", string(out))

			tr := newTravelling(dir, way, testkit.Text("The 14:05 is booked."))
			ctx := context.Background()
			if strings.HasPrefix(way, "runner") {
				ctx = as("ann", "s1")
			}
			events, err := tr.Resume(ctx, "cp")
			require.NoError(t, err)
			require.Equal(t, "The 14:05 is booked.", drain(t, events))
			require.NoError(t, tr.mem.Flush(context.Background()))
			require.ElementsMatch(t, []string{"Book the train to Oslo.", "The 14:05 is booked."}, list(t, tr.backend, "ann"))
			tr.end()
		})
	}
}
