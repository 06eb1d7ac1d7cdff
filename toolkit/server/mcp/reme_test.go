// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"fmt"
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
// A test of package rest writes down those of the installed README as it runs them.
func TestReMesSamples(t *testing.T) {
	for name, path := range map[string]string{
		"written here":         filepath.Join("..", "flows", "testdata", "readme.jsonl"),
		"the installed README": filepath.Join(os.Getenv("EINOMEM_SAMPLES"), "reme-ai.jsonl"),
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if os.IsNotExist(err) && os.Getenv("EINOMEM_SAMPLES") == "" {
				t.Skip("EINOMEM_SAMPLES names no folder with the calls of ReMe's README")
			}
			require.NoError(t, err)
			files := t.TempDir()
			require.NoError(t, os.CopyFS(filepath.Join(files, "docs", "library"), os.DirFS("../flows/testdata/library")))
			root, err := os.OpenRoot(files)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, root.Close()) })
			w := newWorld(t, testkit.SQLite(t), func(c *mcp.Config) {
				c.Tools = []string{"reme"}
				c.Flows, err = flows.New(&flows.Config{Backend: c.Memory.Backend(), Model: testkit.New(testkit.Learn), Folder: root})
				require.NoError(t, err)
			})
			c, calls, version := w.connect("many", agreeing()), 0, ""
			for line := range strings.Lines(string(raw)) {
				var sample struct {
					Flow     string
					Request  object
					Success  bool
					Answer   *string // the beginning
					Metadata object
					Version  string // of the README
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
				version = sample.Version
			}
			if version == "" {
				require.Equal(t, 25, calls)
				return
			}
			row := fmt.Sprintf("| README of `reme-ai`, its calls by MCP | %s | %d | %[2]d |", version, calls)
			t.Log(row)
			testkit.Documented(t, "../../../.github/docs/clients.md", row)
		})
	}
}
