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

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/examples/internal/trial"
)

// remeLibrary is the file, below the folder, whose load is timed.
const remeLibrary = "bfcl_v3.jsonl"

// remeLoad is the load of one library into an empty workspace, without an embedder.
type remeLoad struct {
	Library  string  `json:"library" col:"library"`
	Place    string  `json:"place" col:"into"`
	Memories int     `json:"memories" col:"memories"`
	Seconds  float64 `json:"seconds" col:"seconds;%.3f"`
	PerSec   float64 `json:"per_second" col:"a second;%.0f"`
	Before   float64 `json:"heap_before_mb" col:"heap before;%.1f"` // after a collection
	Peak     float64 `json:"heap_peak_mb" col:"highest;%.1f"`       // what was not collected yet included
	After    float64 `json:"heap_after_mb" col:"after;%.1f"`        // after a collection
}

const mb = 1 << 20

// measureLoads loads the published library, and one of n memories that is made up, into
// each place. It draws bars on progress.
func measureLoads(ctx context.Context, folder string, n int, stores []*place, progress io.Writer) (rows []remeLoad, err error) {
	libraries := []struct {
		name string
		open func() (io.ReadCloser, error)
	}{
		{remeLibrary, func() (io.ReadCloser, error) { return os.Open(filepath.Join(folder, remeLibrary)) }},
		{"made up", func() (io.ReadCloser, error) { return madeUpLibrary(n), nil }},
	}
	if n == 0 {
		libraries = libraries[:1]
	}
	for _, p := range stores {
		for _, l := range libraries {
			in, err := l.open()
			if err != nil {
				return nil, err
			}
			row, err := p.load(ctx, in, reme.ProgressBar(progress))
			if err := errors.Join(err, in.Close()); err != nil {
				return nil, fmt.Errorf("loading %s into %s: %w", l.name, p.name, err)
			}
			row.Library = l.name
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

// load loads a library into an empty store.
func (p *place) load(ctx context.Context, in io.Reader, bar reme.Progress) (row *remeLoad, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	backend, err := reme.New(ctx, &reme.Config{Store: s.Store})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	row = &remeLoad{Place: p.name, Before: float64(trial.Heap()) / mb}
	took, err := trial.Time(func() error {
		resp, err := backend.Library().Load(ctx, &reme.LoadRequest{
			Scope: backends.Scope{Namespace: "bench", Workspace: "library"},
			Progress: func(done, total int, stage string) {
				row.Peak = max(row.Peak, heapNow())
				bar(done, total, stage)
			},
		}, in)
		if err == nil {
			row.Memories = resp.Loaded
		}
		return err
	})
	row.Seconds, row.PerSec, row.After = took.Seconds(), float64(row.Memories)/took.Seconds(), float64(trial.Heap())/mb
	return row, err
}

// heapNow returns how many MB the objects on the heap take, those included that are not
// collected yet. It stops nothing.
func heapNow() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / mb
}

// madeUpLibrary returns a library of n memories in the format of ReMe 0.2, of the size of
// those that were published. It is made while it is read.
func madeUpLibrary(n int) io.ReadCloser {
	in, out := io.Pipe()
	go func() { // ends when all was read, or in is closed
		w := bufio.NewWriter(out)
		random := rand.New(rand.NewPCG(1, 2))
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(w, `{"workspace_id": "made_up", "memory_id": "%032x", "memory_type": "task", "when_to_use": "When %s", "content": "%s.", "score": 0.5, "time_created": "2025-07-24 21:15:17", "time_modified": "2025-07-24 21:15:17", "author": "bench", "metadata": {"tags": ["%s"], "freq": %d, "utility": 0}}`+"\n",
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
