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
	for name, text := range map[string]string{"a.txt": "hello world", "locomo.json": `[{"conversation":{"session_1":[{"speaker":"Ann","text":"hi"}],"session_1_date_time":"1:56 pm on 8 May, 2023"}}]`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(&out, filepath.Join(dir, "*.txt"), filepath.Join(dir, "locomo.json")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| a | 11 | 2 | 2, +0.0 % | 2, +0.0 % |\n", // both vocabularies have hello and world as one token each
		"| LoCoMo | 8 |",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("%s does not contain %q", out.String(), row)
		}
	}
	if err := run(&out, filepath.Join(dir, "none*"), ""); err == nil {
		t.Error("no error without texts")
	}
}
