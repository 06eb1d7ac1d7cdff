// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// The READMEs of clients stay with their packages: the step python installs them, and a script
// runs their samples as printed.
func TestClientsReadmeSamples(t *testing.T) {
	// serve serves whoever names nobody, with a model, and with a library where ReMe's repository has its own.
	serve := func(t *testing.T) *server {
		ctx, root := context.Background(), t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(root, "docs", "library"), os.DirFS("../flows/testdata/library")))
		folder, err := os.OpenRoot(root)
		require.NoError(t, err)
		db, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "memory.db"), nil)
		require.NoError(t, err)
		experience, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, experience.Close(ctx))
			require.NoError(t, folder.Close())
			require.NoError(t, db.Close())
		})
		return newServer(t, nil, func(c *Config) {
			c.Guard, err = access.New(&access.Config{DefaultUser: "guest", Log: c.Log})
			require.NoError(t, err)
			c.Flows, err = flows.New(&flows.Config{Backend: experience, Model: testkit.New(testkit.Learn), Folder: folder})
			require.NoError(t, err)
		})
	}
	t.Run("what package flows calls in process, by HTTP", func(t *testing.T) {
		raw, err := os.ReadFile(filepath.Join("..", "flows", "testdata", "readme.jsonl"))
		require.NoError(t, err)
		s, calls := serve(t), 0
		for line := range strings.Lines(string(raw)) {
			var sample struct {
				Flow     string
				Request  map[string]any
				Success  bool
				Answer   *string // the beginning
				Metadata map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(line), &sample), line)
			status, got := s.call("", "POST", "/"+sample.Flow, sample.Request)
			require.Equal(t, http.StatusOK, status, "%s\n%v", line, got)
			require.Equal(t, sample.Success, got["success"], line)
			if sample.Answer != nil {
				require.True(t, strings.HasPrefix(got["answer"].(string), *sample.Answer), "%s\n%q", line, got["answer"])
			}
			if sample.Metadata != nil {
				require.Equal(t, sample.Metadata, got["metadata"], line)
			}
			calls++
		}
		require.Equal(t, 25, calls)
	})
	python := os.Getenv("EINOMEM_CLIENTS")
	if python == "" {
		t.Skip("EINOMEM_CLIENTS names no Python with the clients and reme-ai installed")
	}
	folder := cmp.Or(os.Getenv("EINOMEM_SAMPLES"), t.TempDir()) // package mcp makes ReMe's calls again
	for _, name := range []string{"reme-ai", "agent-memory-client", "mem0ai"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python, "testdata/readme_samples.py", serve(t).url, name, folder)
			cmd.Env = append(os.Environ(), "MEM0_TELEMETRY=False", "PYTHONWARNINGS=ignore")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			t.Logf("%s", out)
			testkit.Documented(t, "../../../.github/docs/clients.md", string(out))
		})
	}
}
