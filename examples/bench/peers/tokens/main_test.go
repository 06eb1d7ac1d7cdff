// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "hello world", "locomo.json": `[{"conversation":{"session_1":[{"speaker":"Ann","text":"hi"}],"session_1_date_time":"x"}}]`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(&out, filepath.Join(dir, "*.txt"), filepath.Join(dir, "locomo.json")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatal(out.String())
	}
	if f := strings.Fields(lines[1]); strings.Join(f[:5], " ") != "a 11 2 2 2" {
		t.Errorf("%q: both vocabularies have hello and world as one token each", lines[1])
	}
	if f := strings.Fields(lines[2]); f[0] != "LoCoMo" || f[1] != "8" {
		t.Errorf("%q", lines[2])
	}
	if err := run(&out, filepath.Join(dir, "none*"), ""); err == nil {
		t.Error("no error without texts")
	}
}
