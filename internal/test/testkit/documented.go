// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Documented fails the test unless each row of a table in out begins a row of the document, so
// that its figures are those of the last run.
func Documented(t testing.TB, document, out string) {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Contains(t, out, "| ")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "| ") {
			require.Contains(t, "\n"+string(text), "\n"+strings.TrimSpace(line), "%s has another row", document)
		}
	}
}
