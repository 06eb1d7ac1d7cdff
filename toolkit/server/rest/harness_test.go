// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// server is a handler on SQLite, without a model, and its parts.
type server struct {
	*Handler
	t     testing.TB
	mem   *middleware.MemoryMiddleware
	store store.Store
	notes *Notes
	url   string
}

// newServer serves facts and experience. With keys it is not open.
func newServer(t testing.TB, keys []access.Key, change func(c *Config)) *server {
	t.Helper()
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	facts, err := mem0.New(ctx, &mem0.Config{Store: db})
	require.NoError(t, err)
	experience, err := reme.New(ctx, &reme.Config{Store: db, NoPersonal: true})
	require.NoError(t, err)
	notes := NewNotes(nil)
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backends.Join(facts, experience), OnNote: notes.Record,
		Window: &window.Config{Budget: compaction.Budget{Window: 16_000}},
		Core:   &core.Config{Blocks: []core.Block{{Name: "user"}}},
	})
	require.NoError(t, err)
	guard, err := access.New(&access.Config{Keys: keys, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	reMe, err := flows.New(&flows.Config{Backend: mem.Backend()})
	require.NoError(t, err)
	tidy, err := reflection.New(&reflection.Config{Backend: mem.Backend()})
	require.NoError(t, err)
	cfg := &Config{Reflector: tidy, Flows: reMe, Memory: mem, Store: db, Guard: guard, Notes: notes, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(cfg)
	}
	h, err := New(cfg)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, h.Close(ctx))
		require.NoError(t, mem.Close(ctx))
		require.NoError(t, facts.Close(ctx))
		require.NoError(t, experience.Close(ctx))
	})
	return &server{Handler: h, t: t, mem: mem, store: db, notes: notes, url: s.URL}
}

// call sends body as JSON, nil for none, and returns the status and the answer.
func (s *server) call(secret, method, path string, body any, header ...string) (int, map[string]any) {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		require.NoError(s.t, err)
		in = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, in)
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	var out map[string]any
	if json.Unmarshal(b, &out) != nil {
		out = map[string]any{"raw": string(b)}
	}
	s.checkDocument(r, res.StatusCode, out)
	return res.StatusCode, out
}

// checkDocument fails the test if a successful answer is not what the document promises.
func (s *server) checkDocument(r *http.Request, status int, out map[string]any) {
	s.t.Helper()
	_, pattern := s.mux.Handler(r)
	for _, rt := range s.routes {
		if rt.pattern != pattern || status != http.StatusOK || rt.stream || asksEvents(r) {
			continue
		}
		resolved, err := schemaOf(rt.out).Resolve(nil)
		require.NoError(s.t, err)
		if list, ok := out["raw"]; ok && len(out) == 1 { // an array
			var v any
			require.NoError(s.t, json.Unmarshal([]byte(list.(string)), &v), list)
			require.NoError(s.t, resolved.Validate(v), pattern)
			continue
		}
		require.NoError(s.t, resolved.Validate(out), "%s: %v", pattern, out)
	}
}
