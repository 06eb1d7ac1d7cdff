// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"strconv"
	"testing"
)

// BenchmarkRecord is what a reply pays for being remembered.
func BenchmarkRecord(b *testing.B) {
	w := newWorld(b, func(w *world) { w.cfg.MaxTurns, w.cfg.MaxTokens, w.cfg.Queue = 1<<30, 1<<30, max(b.N, 1) })
	b.ResetTimer()
	for i := range b.N {
		if err := w.mem.Record(context.Background(), say(strconv.Itoa(i), ann)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend writes a turn of two messages to SQLite in memory.
func BenchmarkAppend(b *testing.B) {
	w := newWorld(b, func(w *world) { w.cfg.MaxTurns, w.cfg.MaxTokens = 1<<30, 1<<30 })
	b.ResetTimer()
	for i := range b.N {
		w.append(say(strconv.Itoa(i), ann))
	}
}

// BenchmarkConsolidate learns from one turn with a backend that only stores.
func BenchmarkConsolidate(b *testing.B) {
	w := newWorld(b)
	for i := range b.N {
		b.StopTimer()
		w.append(say(strconv.Itoa(i), ann))
		b.StartTimer()
		w.consolidate(ann)
	}
}
