// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/examples/internal/trial"
)

const mb = 1 << 20

// libraryLoad is the load of one library into an empty workspace, without an embedder.
type libraryLoad struct {
	memories int
	took     time.Duration
	peak     float64 // how much more heap than before it took at most, in MB, what was not collected yet included
}

// load loads a library into an empty store.
func (p *place) load(ctx context.Context, in io.Reader) (l *libraryLoad, err error) {
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
	l = &libraryLoad{}
	before := float64(trial.Heap()) / mb
	l.took, err = trial.Time(func() error {
		resp, err := backend.Library().Load(ctx, &reme.LoadRequest{
			Scope:    backends.Scope{Namespace: "bench", Workspace: "library"},
			Progress: func(int, int, string) { l.peak = max(l.peak, heapNow()-before) },
		}, in)
		if err == nil {
			l.memories = resp.Loaded
		}
		return err
	})
	return l, err
}

// heapNow returns how many MB the objects on the heap take, those included that are not
// collected yet. It stops nothing.
func heapNow() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / mb
}

// madeUpLibrary returns a library of n memories in the format of ReMe 0.2, of the size of
// those that were published.
func madeUpLibrary(n int) io.Reader {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		fmt.Fprintf(&b, `{"workspace_id": "made_up", "memory_id": "%032x", "memory_type": "task", "when_to_use": "When %s", "content": "%s.", "score": 0.5, `,
			i, madeUpWords(random, 14), madeUpWords(random, 32))
		fmt.Fprintf(&b, `"time_created": "2025-07-24 21:15:17", "time_modified": "2025-07-24 21:15:17", "author": "bench", "metadata": {"tags": ["%s"], "freq": %d, "utility": 0}}`+"\n",
			madeUpWords(random, 1), i%7)
	}
	return &b
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
