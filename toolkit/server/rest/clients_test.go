// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/access"
)

// keyOf returns a key for users, and its secret.
func keyOf(name string, write bool, users ...string) (access.Key, string) {
	secret := access.NewSecret()
	return access.Key{Name: name, Hash: access.Hash(secret), Users: users, Agents: users, Write: write}, secret
}

func TestTheirPythonClientsDoARoundTrip(t *testing.T) {
	python := os.Getenv("EINOMEM_CLIENTS")
	if python == "" {
		t.Skip("EINOMEM_CLIENTS names no Python with mem0ai and agent-memory-client installed")
	}
	for _, script := range []string{"mem0_client.py", "mem0_family.py", "ams_client.py"} {
		t.Run(script, func(t *testing.T) {
			ann, annSecret := keyOf("ann", true, "ann")
			bob, bobSecret := keyOf("bob", true, "bob")
			s := newServer(t, []access.Key{ann, bob}, nil)
			cmd := exec.CommandContext(t.Context(), python, "testdata/"+script, s.url, annSecret, bobSecret)
			cmd.Env = append(os.Environ(), "MEM0_TELEMETRY=False", "MEM0_DIR="+t.TempDir(), "HOME="+t.TempDir(), "PYTHONWARNINGS=ignore")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			t.Logf("%s", out)
			testkit.Documented(t, "../../../.github/docs/clients.md", string(out))
		})
	}
}

func TestTheirTypeScriptClientsDoARoundTrip(t *testing.T) {
	folder := os.Getenv("EINOMEM_NODE_MEM0")
	if folder == "" {
		t.Skip("EINOMEM_NODE_MEM0 names no folder with mem0ai and @mem0/vercel-ai-provider installed")
	}
	ann, secret := keyOf("ann", true, "ann")
	s := newServer(t, []access.Key{ann}, nil)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/mem0_client.mjs", folder, s.url, secret)
	cmd.Env = append(os.Environ(), "MEM0_TELEMETRY=false", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
	testkit.Documented(t, "../../../.github/docs/clients.md", string(out))
}

func TestTheirPythonClientWorksWithoutAUser(t *testing.T) {
	python := os.Getenv("EINOMEM_CLIENTS")
	if python == "" {
		t.Skip("EINOMEM_CLIENTS names no Python with agent-memory-client and langchain-core installed")
	}
	s := newServer(t, nil, func(c *Config) {
		var err error
		c.Guard, err = access.New(&access.Config{DefaultUser: "guest", Log: c.Log})
		require.NoError(t, err)
	})
	out, err := exec.CommandContext(t.Context(), python, "testdata/ams_calls.py", s.url).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
	testkit.Documented(t, "../../../.github/docs/clients.md", string(out))
}
