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
	changes *store.ChangeSet
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

// prepare does what apply need not do under a lock, on all processors.
func (x *index) prepare(c *store.ChangeSet, readers *readers) *page {
	p := &page{index: x, changes: c, entries: make([]entry, len(c.Records)), vocabulary: readers.vocabulary}
	p.setSpace()
	var all sync.WaitGroup
	var next atomic.Int64
	work := func(r *reader) {
		for {
			end := int(next.Add(prepareBatch))
			start := end - prepareBatch
			if start >= len(p.entries) {
				return
			}
			p.prepare(start, min(end, len(p.entries)), r)
		}
	}
	helpers := min(runtime.GOMAXPROCS(0), (len(p.entries)+prepareBatch-1)/prepareBatch) - 1
	for i := range helpers {
		r := readers.at(i + 1)
		all.Go(func() { work(r) })
	}
	work(readers.at(0))
	all.Wait()
	return p
}

// prepareBatch is how many records are prepared together. They share memory, and
// keep it until the last of them leaves the index.
const prepareBatch = 32

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

// prepare prepares the records from start to end.
func (p *page) prepare(start, end int, r *reader) {
	entries, records := p.entries[start:end], p.changes.Records[start:end]
	memories := make([]backends.Memory, len(entries))
	r.counted = r.counted[:0]
	for i := range entries {
		e := &entries[i]
		memories[i] = records[i].Memory
		e.memory = &memories[i]
		e.keys = p.index.keysOf(e.memory)
		if e.same = p.index.holdsText(e.memory); !e.same {
			e.text = r.tally(r.memory(e.memory))
		}
	}
	r.settle(entries)
	if p.space != nil {
		p.decode(entries, records)
	}
}

// decode reads the vectors of records into one stretch of memory.
func (p *page) decode(entries []entry, records []store.Record) {
	dim, n := p.space.Dim, 0
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
	return old.Text == m.Text && old.WhenToUse == m.WhenToUse &&
		old.Origin.Speaker == m.Origin.Speaker && old.Observed.Equal(m.Observed)
}
