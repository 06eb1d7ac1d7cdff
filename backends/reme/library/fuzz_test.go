// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/library"
)

// No line breaks the reader, and one that can be read survives both formats.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		task("a", "when", "what"), `{"memory_id":"a","content":"c","metadata":"{\"einomem\":{\"v\":1,\"quality\":0}}"}`,
		`{"unique_id":"a","content":"w","metadata":{"content":"c","metadata":"{}"}}`, `{"experience_id":"a","experience_type":"text","content":"c","score":null}`,
		`{"id":"a","kind":"task","text":"x","vector":"AQI=","created":"2026-03-02T09:00:00Z","metadata":{"k":[{}]}}`, `{"einomem_library":1,"memories":0}`, "[]", "{", "\xff",
		`{"memory_id":"a","content":"c","score":1e999}`, `{"memory_id":"a","memory_type":"tool","when_to_use":"t","tool_call_results":[[]]}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, vector, err := library.ReadLine(line, time.UTC)
		if err != nil {
			return
		}
		own, err := library.WriteOwn(m, vector)
		require.NoError(t, err)
		again, v, err := library.ReadLine(own, time.UTC)
		require.NoError(t, err)
		same(t, m, again, own)
		require.Equal(t, vector, v)
		reme, err := library.WriteReMe(m, "w", time.UTC)
		require.NoError(t, err)
		again, _, err = library.ReadLine(reme, time.UTC)
		require.NoError(t, err, reme)
		if again.ID != m.ID { // a tool's, which gets the id of its workspace when it is loaded
			return
		}
		same(t, m, again, reme)
	})
}
