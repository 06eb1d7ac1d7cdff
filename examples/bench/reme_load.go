// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/examples/internal/trial"
)

// remeLibrary is the file, below the folder, whose load is timed.
const remeLibrary = "bfcl_v3.jsonl"

// remeLoad is the load of one library into an empty workspace, without an embedder.
type remeLoad struct {
	Library  string  `json:"library"`
	Place    string  `json:"place"`
	Memories int     `json:"memories"`
	Seconds  float64 `json:"seconds"`
	Before   int64   `json:"heap_before"` // bytes, after a collection
	Peak     int64   `json:"heap_peak"`   // bytes, what was not collected yet included; 0: not looked at
	After    int64   `json:"heap_after"`  // bytes, after a collection
}

// measureLoads loads the file, and a library of n memories that is made up, into
// each place. It draws bars on progress.
func (r *remeReport) measureLoads(ctx context.Context, folder string, n int, places []*place, progress io.Writer) error {
	for _, p := range places {
		for _, source := range []struct {
			name string
			open func() (io.ReadCloser, error)
		}{
			{remeLibrary, func() (io.ReadCloser, error) { return os.Open(filepath.Join(folder, remeLibrary)) }},
			{"made up", func() (io.ReadCloser, error) { return madeUpLibrary(n), nil }},
		} {
			if source.name != remeLibrary && n == 0 {
				continue
			}
			row, err := p.load(ctx, source.open, reme.ProgressBar(progress))
			if err != nil {
				return fmt.Errorf("loading %s into %s: %w", source.name, p.name, err)
			}
			row.Library = source.name
			r.Loads = append(r.Loads, *row)
		}
	}
	return nil
}

// load loads what open returns into an empty store.
func (p *place) load(ctx context.Context, open func() (io.ReadCloser, error), bar reme.Progress) (row *remeLoad, err error) {
	bed, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.remove()) }()
	backend, err := reme.New(ctx, &reme.Config{Store: bed.Store})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	row = &remeLoad{Place: p.name, Before: trial.Heap()}
	begin := time.Now()
	resp, err := backend.Library().Load(ctx, &reme.LoadRequest{
		Scope: backends.Scope{Namespace: "bench", Workspace: "library"},
		Progress: func(done, total int, stage string) {
			row.Peak = max(row.Peak, heapNow())
			bar(done, total, stage)
		},
	}, in)
	if err != nil {
		return nil, err
	}
	row.Seconds, row.Memories = time.Since(begin).Seconds(), resp.Loaded
	row.After = trial.Heap()
	return row, nil
}

// heapNow returns how many bytes the objects on the heap take, those included that
// nobody uses any more. It stops nothing.
func heapNow() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// madeUpLibrary returns a library of n memories in the format of ReMe 0.2, of the
// size of those that were published. It is made while it is read.
func madeUpLibrary(n int) io.ReadCloser {
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriter(out)
		random := rand.New(rand.NewPCG(1, 2))
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(w, `{"workspace_id": "made_up", "memory_id": "%032x", "memory_type": "task", "when_to_use": "When %s", "content": "%s.", "score": 0.5, "time_created": "2025-07-24 21:15:17", "time_modified": "2025-07-24 21:15:17", "author": "nobody", "metadata": {"tags": ["%s"], "freq": %d, "utility": 0}}`+"\n",
				i, madeUpWords(random, 14), madeUpWords(random, 32), madeUpWords(random, 1), i%7)
		}
		_ = out.CloseWithError(errors.Join(err, w.Flush()))
	}()
	return in
}

// madeUpWords returns n words of six letters, of a thousand that there are.
func madeUpWords(random *rand.Rand, n int) string {
	const syllables = "bacedifoguhajekilomu"
	words := make([]string, n)
	for i := range words {
		for range 3 {
			at := 2 * random.IntN(len(syllables)/2)
			words[i] += syllables[at : at+2]
		}
	}
	return strings.Join(words, " ")
}
