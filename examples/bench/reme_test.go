// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The prompt tokens of a server of ReMe 0.2.0.6 for the same work are those of README.md.
func TestLearningFromWorkCostsNoMoreThanReMe(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| (\d .*?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|`)
	theirs := map[string]int{}
	for _, r := range row.FindAllStringSubmatch(string(readme), -1) {
		theirs[r[1]], _ = strconv.Atoi(r[3])
	}
	ours := row.FindAllStringSubmatch(program(t, 0, "reme", "-listen", "127.0.0.1:0"), -1)
	require.Len(t, ours, 12)
	for _, r := range ours {
		tokens, err := strconv.Atoi(r[5])
		require.NoError(t, err)
		require.Positive(t, tokens)
		require.LessOrEqual(t, tokens, theirs[r[1]], r[1])
	}
}
