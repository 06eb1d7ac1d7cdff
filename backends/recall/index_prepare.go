// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// page is a page of changes on its way into the index: what takes time was done.
type page struct {
	index   *index
	changes *store.ChangeSet // without the core blocks
	blocks  []*backends.Memory
	entries []entry
	space   *store.Embedding // of the vectors; nil where none are kept
	model   uint32           // fingerprint of its model

	vocabulary *vocabulary // that numbers the terms of the entries
}

// entry is a record on its way into the index.
type entry struct {
	memory *backends.Memory // a copy: the record holds the vector, too, and its page
	keys   []string
	same   bool // its text is in the index already
	text   tally
	vector []float32
	broken bool // its vector cannot be read
}

// prepare does what apply need not do under a lock, on all processors. Half of
// them read texts: each reader has to meet a word before it knows it, and knows it
// best while the word's place in memory is near. The others copy meanwhile.
func (x *index) prepare(c *store.ChangeSet, readers *readers) *page {
	c, blocks := setApart(c)
	p := &page{index: x, changes: c, blocks: blocks, entries: make([]entry, len(c.Records)), vocabulary: readers.vocabulary}
	p.setSpace()
	var texts, copies batches
	workers := min(runtime.GOMAXPROCS(0), 1+len(p.entries)/prepareBatch)
	var all sync.WaitGroup
	for i := range workers {
		work := func() { copies.each(p.entries, p.copy) }
		if i < (workers+1)/2 {
			r := readers.at(i)
			work = func() {
				texts.each(p.entries, func(start int, entries []entry) { p.read(start, entries, r) })
				copies.each(p.entries, p.copy)
			}
		}
		if i == workers-1 {
			work()
		} else {
			all.Go(work)
		}
	}
	all.Wait()
	return p
}

// prepareBatch is how many records are prepared together. They share memory, and
// keep it until the last of them leaves the index.
const prepareBatch = 32

// batches are handed out to those who ask, each once.
type batches struct{ taken atomic.Int64 }

// each calls do for batches of entries, which begin at start, until none is left.
func (b *batches) each(entries []entry, do func(start int, entries []entry)) {
	for {
		end := int(b.taken.Add(prepareBatch))
		start := end - prepareBatch
		if start >= len(entries) {
			return
		}
		do(start, entries[start:min(end, len(entries))])
	}
}

// setSpace says what the vectors of the page are.
func (p *page) setSpace() {
	if !p.index.vectors {
		return
	}
	p.space = p.index.embedding
	if p.changes.Embedding != nil {
		p.space = p.changes.Embedding
	}
	if p.space != nil {
		p.model = fingerprint(p.space.Model)
	}
}

// read analyses the texts of the records from start on.
func (p *page) read(start int, entries []entry, r *reader) {
	r.counted = r.counted[:0]
	for i := range entries {
		m := &p.changes.Records[start+i].Memory
		if entries[i].same = p.index.holdsText(m); !entries[i].same {
			entries[i].text = r.tally(r.memory(m))
		}
	}
	r.settle(entries)
}

// copy takes the memories of the records from start on, and their vectors.
func (p *page) copy(start int, entries []entry) {
	records := p.changes.Records[start : start+len(entries)]
	memories := make([]backends.Memory, len(entries))
	for i := range entries {
		memories[i] = records[i].Memory
		entries[i].memory, entries[i].keys = &memories[i], p.index.keysOf(&memories[i])
	}
	if p.space != nil {
		p.decode(entries, records)
	}
}

// decode reads the vectors of records into one stretch of memory.
func (p *page) decode(entries []entry, records []store.Record) {
	dim, n := max(0, p.space.Dim), 0
	for i := range records {
		if len(records[i].Vector) > 0 {
			n++
		}
	}
	room := make([]float32, n*dim)
	for i := range records {
		if len(records[i].Vector) == 0 {
			continue
		}
		vector := room[:dim:dim]
		err := decodeFrom(vector, records[i].Vector, p.model)
		if err == nil {
			entries[i].vector, room = vector, room[dim:]
		}
		entries[i].broken = errors.Is(err, errBrokenVector)
	}
}

// readers are those of one load, one for each goroutine.
type readers struct {
	analyzer   *analyzer
	vocabulary *vocabulary
	all        []*reader
}

func (r *readers) at(i int) *reader {
	for len(r.all) <= i {
		r.all = append(r.all, newReader(r.analyzer, r.vocabulary))
	}
	return r.all[i]
}

// holdsText reports whether the index holds the text of a memory under its id.
func (x *index) holdsText(m *backends.Memory) bool {
	slot, ok := x.slots[m.ID]
	if !ok {
		return false
	}
	old := x.docs[slot].memory
	return old.Kind == m.Kind && old.Text == m.Text && old.WhenToUse == m.WhenToUse &&
		old.Origin.Speaker == m.Origin.Speaker && old.Observed.Equal(m.Observed)
}
