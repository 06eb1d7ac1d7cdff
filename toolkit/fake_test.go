// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

// ann is the user whom all tools of these tests work for, unless said otherwise.
var ann = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fake is a backend that records what it is asked and answers as it is told.
type fake struct {
	mu       sync.Mutex
	searches []backends.SearchRequest
	adds     []backends.AddRequest

	onSearch func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)
	onAdd    func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error)
}

func (f *fake) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	f.mu.Lock()
	f.searches = append(f.searches, *r)
	f.mu.Unlock()
	if f.onSearch == nil {
		return &backends.SearchResponse{}, nil
	}
	return f.onSearch(ctx, r)
}

func (f *fake) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	f.mu.Lock()
	f.adds = append(f.adds, *r)
	f.mu.Unlock()
	if f.onAdd == nil {
		return added(r.Messages[0].Content), nil
	}
	return f.onAdd(ctx, r)
}

func (f *fake) Close(context.Context) error { return nil }

// managed is a fake whose memories can be changed: those of its one map, if the
// scope's user owns them.
type managed struct {
	fake
	backends.Manager // what these tests do not call
	owner            string
	memories         map[string]string
}

func (m *managed) Update(_ context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.memories[r.ID]; !ok || r.Scope.UserID != m.owner {
		return nil, backends.ErrNotFound
	}
	m.memories[r.ID] = *r.Text
	return &backends.Memory{ID: r.ID, Text: *r.Text}, nil
}

func (m *managed) Delete(_ context.Context, r *backends.DeleteRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.memories[r.ID]; !ok || r.Scope.UserID != m.owner {
		return backends.ErrNotFound
	}
	delete(m.memories, r.ID)
	return nil
}

func hits(texts ...string) *backends.SearchResponse {
	resp := &backends.SearchResponse{}
	for _, t := range texts {
		resp.Hits = append(resp.Hits, backends.Hit{Memory: backends.Memory{ID: "id-" + t, Text: t, Observed: noon}})
	}
	return resp
}

func added(texts ...string) *backends.AddResponse {
	resp := &backends.AddResponse{}
	for _, t := range texts {
		resp.Items = append(resp.Items, backends.Item{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "id-" + t, Text: t}})
	}
	return resp
}

// config returns a configuration for ann with exact clock and ids.
func config(b backends.Backend) *toolkit.Config {
	n := 0
	return &toolkit.Config{
		Backend: b,
		Scope:   func(context.Context) (backends.Scope, error) { return ann, nil },
		Clock:   func() time.Time { return noon },
		IDs:     func() string { n++; return fmt.Sprint("m", n) },
		OnError: func(context.Context, string, error) {},
	}
}

// build returns the tools by name.
func build(t testing.TB, cfg *toolkit.Config) map[string]tool.InvokableTool {
	t.Helper()
	tools, err := toolkit.New(context.Background(), cfg)
	require.NoError(t, err)
	byName := map[string]tool.InvokableTool{}
	for _, b := range tools {
		info, err := b.Info(context.Background())
		require.NoError(t, err)
		byName[info.Name] = b.(tool.InvokableTool)
	}
	return byName
}

// run calls a tool and requires that it does not end the agent's run.
func run(t testing.TB, cfg *toolkit.Config, name, arguments string) string {
	t.Helper()
	out, err := build(t, cfg)[name].InvokableRun(context.Background(), arguments)
	require.NoError(t, err)
	return out
}
