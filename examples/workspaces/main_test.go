// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program runs the program and returns what it printed, or its error.
func program(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if err := run(t.Context(), args, &out, &stderr); err != nil {
		assert.Empty(t, out.String())
		return "error: " + err.Error()
	}
	assert.Empty(t, stderr.String())
	return out.String()
}

const lines = `{"workspace_id":"x","memory_id":"a1","memory_type":"task","when_to_use":"deleting a playlist","content":"look it up by its name first","score":0.0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:17","author":"m","metadata":{}}
{"workspace_id":"x","memory_id":"a2","memory_type":"task","when_to_use":"转账之前","content":"先核对余额","score":0.0,"time_created":"2025-07-24 21:15:18","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}
`

func TestALibraryGoesRound(t *testing.T) {
	dir := t.TempDir()
	file, copied := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	do := func(args ...string) string {
		return program(t, append([]string{"-db", filepath.Join(dir, "lib.db")}, args...)...)
	}

	assert.Equal(t, "app/世界: 2 memories loaded, 0 others removed\n", do("load", "app/世界", file))
	assert.Contains(t, do("find", "app/世界", "delete a playlist"), "look it up by its name first")
	assert.Contains(t, do("find", "app/世界", "转账"), "先核对余额")
	assert.Equal(t, "nothing\n", do("find", "trial", "转账"), "another workspace")
	assert.Equal(t, "trial: 2 memories copied\n", do("copy", "app/世界", "trial"))
	assert.Equal(t, "app/世界\ntrial\n", do("list"))
	assert.Equal(t, "trial: 2 memories written, 0 that hold no more left out\n", do("dump", "trial", copied))
	assert.Equal(t, "trial: erased\n", do("delete", "trial"))
	assert.Equal(t, "app/世界\n", do("list"))
	assert.Equal(t, "trial: 2 memories loaded, 0 others removed\n", do("load", "trial", copied))
	do("dump", "trial", copied)
	assert.Equal(t, "trial: 2 memories loaded, 0 others removed\n", do("load", "trial", copied))
}

func TestCommandsThatFail(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "lib.db")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(lines+"no memory\n"), 0o600))
	assert.Contains(t, program(t, "-db", db, "load", "w", filepath.Join(dir, "in.jsonl")), "line 3")
	assert.Contains(t, program(t, "-db", db, "load", "w", filepath.Join(dir, "none.jsonl")), "no such file")
	assert.Contains(t, program(t, "-db", db, "load", "*", filepath.Join(dir, "in.jsonl")), "'*'")
	assert.Contains(t, program(t, "-db", db, "dump", "w", filepath.Join(dir, "out.jsonl")), "no memory to write")
	left, err := filepath.Glob(filepath.Join(dir, "out.jsonl*"))
	require.NoError(t, err)
	assert.Empty(t, left, "and no piece of a file")
	assert.Equal(t, "", program(t, "-db", db, "list"), "nothing was loaded")
	assert.Contains(t, program(t, "-db", db, "load", "w"), "load WORKSPACE FILE")
	assert.Contains(t, program(t, "-db", db), "use one of")
	assert.Contains(t, program(t, "-wrong"), "not defined")
}
