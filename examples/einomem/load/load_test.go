// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStoreIsMeasuredWithSlowClientsAndWithout(t *testing.T) {
	var out bytes.Buffer
	l := &load{clients: 2, time: 10 * time.Millisecond, out: &out}
	require.NoError(t, l.run(t.Context()))
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, rows, 4, "a head of two lines, and two rows")
	require.Contains(t, rows[2], "| sqlite | 2 | 0 |")
	require.Contains(t, rows[3], "| sqlite | 2 | 2 |")
}
