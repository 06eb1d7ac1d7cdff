// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// endless gives n lines of about 1.2 KB without holding them.
type endless struct {
	n, at int
	rest  bytes.Reader
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest.Len() == 0 {
		if e.at == e.n {
			return 0, io.EOF
		}
		e.rest.Reset([]byte(task(fmt.Sprintf("id-%032d", e.at), fmt.Sprintf("when situation %d comes up again", e.at), strings.Repeat(fmt.Sprint("then do ", e.at, " "), 60))))
		e.at++
	}
	return e.rest.Read(p)
}

func inAFile(t testing.TB, o options) *world {
	st, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	o.store = st
	return open(t, o)
}

// BenchmarkLoad loads memories of 1.2 KB, without an embedder, into a file that is
// synced to the disk with every write.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{474, 10_000, 100_000} {
		if n > 10_000 && os.Getenv("EINOMEM_LONG") != "1" {
			continue
		}
		b.Run(fmt.Sprint("memories=", n), func(b *testing.B) {
			w := inAFile(b, options{})
			for b.Loop() {
				_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, &endless{n: n})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkLoadShipped loads the largest library that ReMe ships.
func BenchmarkLoadShipped(b *testing.B) {
	text := remeData(b, "bfcl_v3.jsonl")
	w := inAFile(b, options{})
	for b.Loop() {
		w.load(shop, text)
	}
}

// A load takes memory for a part of its input, not for all of it.
func TestR21LoadsTakeLittleMemory(t *testing.T) {
	n, most := 12_000, uint64(8<<20) // of 14 MB
	if os.Getenv("EINOMEM_LONG") == "1" {
		n, most = 100_000, 32<<20 // of 120 MB
	}
	w := inAFile(t, options{config: library.Config{OneBatch: 500}})
	highest, calls := uint64(0), 0
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	base := heap()
	got, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop, Progress: func(int, int, string) {
		if calls++; calls%50 == 0 {
			highest = max(highest, heap())
		}
	}}, &endless{n: n})
	require.NoError(t, err)
	require.Equal(t, n, got.Loaded)
	grown := highest - min(base, highest)
	t.Logf("%d memories of 1.2 KB: the heap grew by %.1f MB", n, float64(grown)/1e6)
	require.Less(t, grown, most)
}
