// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// guide is a model that learns. It judges calls by what they found, and writes down for which
// classes of queries a tool works.
func guide(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
	if len(o.Tools) == 0 || o.Tools[0].Name != "tool_guideline" {
		return testkit.Learn(ctx, in, o)
	}
	var name string
	found, all := map[string]int{}, map[string]int{}
	var judged []any
	for line := range strings.Lines(in[len(in)-1].Content) {
		var c struct {
			N      int
			Output string
			Input  struct{ Query string }
		}
		if name == "" {
			_ = json.Unmarshal([]byte(line), &name) // the first line with a text
		}
		if json.Unmarshal([]byte(line), &c) != nil || c.Output == "" {
			continue
		}
		class, _, _ := strings.Cut(c.Input.Query, " ")
		all[class]++
		score := 0
		if !strings.Contains(c.Output, "No results") && !strings.HasPrefix(c.Output, "Error") {
			score = 1
			found[class]++
		}
		judged = append(judged, map[string]any{"n": c.N, "score": score, "reason": "what it found"})
	}
	said := []string{"What the calls show."}
	for class, n := range all {
		if 2*found[class] > n {
			said = append(said, fmt.Sprintf("%s works for %s queries.", name, class))
		}
	}
	slices.Sort(said)
	answer, err := json.Marshal(map[string]any{"guideline": strings.Join(said, " "), "judgements": judged})
	if err != nil {
		return nil, err
	}
	return testkit.Call("1", "tool_guideline", string(answer))(ctx, in, o)
}

func TestClientsOfReMesCookbook(t *testing.T) {
	python := os.Getenv("EINOMEM_CLIENTS")
	if python == "" {
		t.Skip("EINOMEM_CLIENTS names no Python")
	}
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	experience, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(guide)})
	require.NoError(t, err)
	folder, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, experience.Close(ctx))
		require.NoError(t, folder.Close())
		require.NoError(t, db.Close())
	})
	s := newServer(t, nil, func(c *Config) {
		c.Flows, err = flows.New(&flows.Config{Backend: experience, Folder: folder})
		require.NoError(t, err)
	})
	out, err := exec.CommandContext(t.Context(), python, "testdata/reme_cookbook.py", s.url).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
}
