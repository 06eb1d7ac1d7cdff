// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/flows"
	"github.com/einomem/einomem/toolkit/server/mcp"
)

// The samples of ReMe's READMEs get the answers by MCP that they get by HTTP, one after the other.
func TestReMesSamples(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "flows", "testdata", "readme.jsonl"))
	require.NoError(t, err)
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	db := testkit.SQLite(t)
	w := newWorld(t, db, func(c *mcp.Config) {
		c.Tools = []string{"reme"}
		c.Flows, err = flows.New(&flows.Config{Backend: c.Memory.Backend(), Model: testkit.New(testkit.Learn), Folder: root})
		require.NoError(t, err)
	})
	c, calls := w.connect("many", agreeing()), 0
	for line := range strings.Lines(string(raw)) {
		var sample struct {
			Flow     string
			Request  object
			Success  bool
			Answer   *string // the beginning
			Metadata object
		}
		require.NoError(t, json.Unmarshal([]byte(line), &sample), line)
		got := use(t, c, sample.Flow, sample.Request)
		require.Equal(t, sample.Success, got.out["success"], "%s\n%s", line, got.text)
		switch {
		case sample.Answer == nil:
		case *sample.Answer == "": // no text at all would look like a failure to some hosts
			require.Empty(t, got.out["answer"], line)
		default:
			require.True(t, strings.HasPrefix(got.text, *sample.Answer), "%s\n%q", line, got.text)
		}
		if sample.Metadata != nil {
			require.Equal(t, sample.Metadata, got.out["metadata"], line)
		}
		calls++
	}
	require.GreaterOrEqual(t, calls, 25)
}
