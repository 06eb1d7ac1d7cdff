// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"errors"
	"runtime"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// page is a page of changes that was prepared for an index: all that takes time, and
// needs no lock, is done.
type page struct {
	embedding *store.Embedding
	entries   []entry
	removed   []string
}

// entry is a record on its way into the index.
type entry struct {
	memory *backends.Memory // a copy: the record also holds the encoded vector
	keys   []string
	text   bag
	vector []float32
	broken bool // the stored vector cannot be decoded
}

// alone is how many records one goroutine prepares faster than two.
const alone = 32

// prepare does with a page all that needs no lock. A large one is prepared by several
// goroutines: readers analyse the texts while memories, keys and vectors are copied.
func (x *index) prepare(c *store.ChangeSet, readers []*reader) *page {
	p := &page{embedding: c.Embedding, entries: make([]entry, len(c.Records)), removed: c.Removed}
	var all sync.WaitGroup
	run := all.Go
	if len(c.Records) <= alone {
		run = func(f func()) { f() }
	}
	run(func() { x.copy(p.entries, c) })
	share := (len(c.Records) + len(readers) - 1) / len(readers)
	for n, r := range readers {
		from, to := min(n*share, len(c.Records)), min((n+1)*share, len(c.Records))
		run(func() {
			for i := from; i < to; i++ {
				if m := &c.Records[i].Memory; !m.Kind.Traits().InPrompt {
					p.entries[i].text = r.read(indexed(m)...)
				}
			}
		})
	}
	all.Wait()
	return p
}

// moreReaders returns the readers of a load with those that a page of so many records needs.
// They are at most half as many as there are processors: each has to meet a word before it
// knows it.
func (x *index) moreReaders(readers []*reader, records int) []*reader {
	for len(readers) < max(1, min(runtime.GOMAXPROCS(0)/2, records/alone)) {
		readers = append(readers, newReader(x.analyzer, x.lexicon.vocabulary))
	}
	return readers
}

// copy takes memories, keys and vectors out of records.
func (x *index) copy(entries []entry, c *store.ChangeSet) {
	rows := rows{left: len(entries)}
	if c.Embedding != nil {
		rows.dim = max(0, c.Embedding.Dim)
	}
	var memories []backends.Memory
	for i := range entries {
		if i%perBlock == 0 {
			memories = make([]backends.Memory, min(perBlock, len(entries)-i))
		}
		e, m := &entries[i], &memories[i%perBlock]
		*m = c.Records[i].Memory
		if e.memory = m; m.Kind.Traits().InPrompt {
			continue
		}
		if x.keysOf != nil {
			e.keys = distinct(x.keysOf(m))
		}
		if encoded := c.Records[i].Vector; x.embeds && c.Embedding != nil && len(encoded) > 0 {
			v := rows.next()
			switch err := decodeVector(v, encoded, c.Embedding.Model); {
			case err == nil:
				e.vector = v
			case errors.Is(err, errBrokenVector):
				e.broken = true
			}
		}
	}
}

// perBlock is how many memories, and how many vectors, of a page share an allocation, which
// is free when all of them are.
const perBlock = 32

// rows hands out memory for vectors. Those of one load lie side by side, so that a scan
// reads memory from end to end: that halves its time.
type rows struct {
	dim, left int // left is how many may be asked for yet
	block     []float32
}

func (r *rows) next() []float32 {
	if len(r.block) < r.dim || r.dim == 0 {
		r.block = make([]float32, r.dim*min(perBlock, r.left))
	}
	v := r.block[:r.dim:r.dim]
	r.block = r.block[r.dim:]
	r.left--
	return v
}
