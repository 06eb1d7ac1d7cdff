// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/coverage"
	"strings"
	"time"

	"github.com/einomem/einomem/internal/test/house"
)

// A walk is a step that is taken twice and counted the second time. prepare comes before the
// counters are cleared; the function that it returns is what counts. n differs each time.
type walk struct {
	name    string
	prepare func(ctx context.Context, n int) (func() error, error)
}

// rest is how long background work gets to end.
const rest = 300 * time.Millisecond

// files are the files of the module with statements that ran.
func (w walk) files(ctx context.Context) ([]string, error) {
	for n := range 2 {
		step, err := w.prepare(ctx, n)
		if err != nil {
			return nil, err
		}
		if err := coverage.ClearCounters(); err != nil {
			return nil, err
		}
		if err := step(); err != nil {
			return nil, err
		}
		time.Sleep(rest)
	}
	return covered(ctx)
}

// ran matches a block of a profile whose count is not zero: file:from,to statements count.
var ran = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(house.Module) + `/([^:\n]+):\S+ \d+ [1-9]`)

func covered(ctx context.Context) ([]string, error) {
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := coverage.WriteMetaDir(dir); err != nil {
		return nil, err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return nil, err
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("covdata: %w: %s", err, out)
	}
	blocks, err := os.ReadFile(profile)
	seen, files := map[string]bool{}, []string{}
	for _, m := range ran.FindAllStringSubmatch(string(blocks), -1) {
		f := m[1]
		if seen[f] || strings.HasPrefix(f, "examples/") || strings.HasPrefix(f, "internal/test/") {
			continue
		}
		seen[f] = true
		files = append(files, f)
	}
	return files, err
}
