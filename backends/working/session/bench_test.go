// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/session"
)

// The last 20 turns of a session that has so many.
func BenchmarkLoad(b *testing.B) {
	for _, turns := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(turns, "turns"), func(b *testing.B) {
			c := newClock()
			w := newWorld(b, openSQLite(b, b.TempDir()+"/memory.db", c.Now), c)
			w.turns(ann, 1, turns)
			b.ReportAllocs()
			for b.Loop() {
				h, err := w.Load(b.Context(), &session.LoadRequest{Scope: ann, Messages: 40})
				require.NoError(b, err)
				require.EqualValues(b, 2*turns, h.Upto)
			}
		})
	}
}
