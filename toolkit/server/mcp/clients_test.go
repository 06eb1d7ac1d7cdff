// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The official SDK for TypeScript checks what a server answers more strictly than that for Go.
func TestClientsInTypeScript(t *testing.T) {
	folders := filepath.SplitList(os.Getenv("EINOMEM_NODE"))
	if len(folders) == 0 {
		t.Skip("EINOMEM_NODE names no folders in which @modelcontextprotocol/sdk is installed")
	}
	script, err := os.ReadFile("testdata/client.mjs")
	require.NoError(t, err)
	for _, folder := range folders {
		path := filepath.Join(folder, "client.mjs")
		require.NoError(t, os.WriteFile(path, script, 0o600))
		node := exec.CommandContext(t.Context(), "node", path, os.Args[0])
		node.Env = append(os.Environ(), childStore+"="+filepath.Join(t.TempDir(), "memory.db"))
		out, err := node.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Regexp(t, `tools [12]\d\n`, string(out))
		require.Regexp(t, `search_memory false - \[[-0-9a-f]+\] .*Ann keeps bees\.`, string(out))
		require.Regexp(t, `list_memories false - .*Ann keeps bees\.`, string(out))
	}
}
