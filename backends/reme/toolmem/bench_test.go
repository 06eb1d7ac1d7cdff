// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/toolmem"
)

// How long a call takes to be recorded once there are a hundred of its tool, on
// SQLite in memory.
func BenchmarkRecord(b *testing.B) {
	r := newRig(b, setup{})
	r.record(b, calls("search", 0, 100)...)
	n := 100
	for b.Loop() {
		n++
		_, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: []toolmem.Call{call("search", n)}})
		require.NoError(b, err)
	}
}

// What a recorder takes in the way of a tool.
func BenchmarkEnqueue(b *testing.B) {
	r := newRig(b, setup{})
	rec := r.NewRecorder(&toolmem.RecorderConfig{Queue: 1 << 30})
	list := calls("search", 0, 1)
	for b.Loop() {
		require.NoError(b, rec.Enqueue(ctx, team, list...))
	}
	b.StopTimer()
	require.NoError(b, rec.Close(ctx))
}

func BenchmarkRedactSecrets(b *testing.B) {
	text := strings.Repeat(`{"title":"How passwords work","url":"https://example.org/a?q=1","score":0.75,"text":"A long answer about many things, in 北京 and elsewhere."},`, 400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		toolmem.RedactSecrets(text)
	}
}
