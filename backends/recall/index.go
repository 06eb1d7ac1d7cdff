// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// index is one partition in memory: its memories, their terms and their vectors.
// Each memory has a slot, a small number by which the parts name it. One
// goroutine changes an index; who reads it meanwhile holds the partition's lock.
type index struct {
	analyzer *analyzer
	slots    map[string]int32 // id → slot
	docs     []doc            // by slot
	free     []int32          // slots without a memory
	lexicon  *lexicon
	keyed    *keyed
	keyFunc  func(*backends.Memory) []string // nil: no keys
	vectors  bool                            // whether vectors are kept
	apart    map[string]*backends.Memory     // the core blocks, by id: none of the above knows them

	matrix    matrix
	embedding *store.Embedding // nil until the first vector
	broken    int              // vectors that could not be read
	text      int64            // bytes of all memories, estimated

	order atomic.Pointer[[]*backends.Memory] // all in the order stored; nil after a change
}

// doc is what a slot holds. The memory never changes once it is here.
type doc struct {
	memory  *backends.Memory // nil: the slot is free
	terms   []termCount
	keys    []string
	row     int32 // of its vector; -1 without one
	active  bool
	broken  bool
	expires int64 // Unix nanoseconds; math.MaxInt64: never
	time    int64 // when it was observed, else stored: newer comes first in a tie
	size    int64
}

func newIndex(a *analyzer, withVectors bool) *index {
	return &index{analyzer: a, slots: map[string]int32{}, lexicon: newLexicon(), keyed: newKeyed(), vectors: withVectors}
}

// apply brings a page of changes in.
func (x *index) apply(p *page) {
	if e := p.changes.Embedding; x.vectors && e != nil && (x.embedding == nil || *x.embedding != *e) {
		x.clearVectors()
		space := *e
		x.embedding, x.matrix.dim = &space, space.Dim
	}
	x.order.Store(nil)
	for i := range p.entries {
		x.forget(p.entries[i].memory.ID)
		x.put(&p.entries[i], p.vocabulary)
	}
	x.keep(p.blocks)
	for _, id := range p.changes.Removed {
		x.remove(id)
		x.forget(id)
	}
	x.lexicon.sweep()
}

func (x *index) clearVectors() {
	x.matrix, x.broken = matrix{}, 0
	for i := range x.docs {
		x.docs[i].row, x.docs[i].broken = -1, false
	}
}

func (x *index) put(e *entry, v *vocabulary) {
	m := e.memory
	slot, known := x.slots[m.ID]
	switch {
	case !known:
		slot = x.take(m.ID)
	case !e.same:
		x.unindex(slot)
	}
	d := &x.docs[slot]
	if !e.same {
		x.lexicon.adopt(e.text.terms, v)
		x.lexicon.add(slot, e.text)
		d.terms = e.text.terms
	}
	x.text -= d.size
	d.memory, d.active, d.expires = m, m.Active(), math.MaxInt64
	if !m.Expires.IsZero() {
		d.expires = nanos(m.Expires)
	}
	if d.time = nanos(m.Observed); m.Observed.IsZero() {
		d.time = nanos(m.Created)
	}
	d.size = sizeOf(m)
	x.text += d.size
	x.rekey(slot, e.keys)
	x.setVector(slot, e.vector, e.broken)
}

// take gives an id a slot.
func (x *index) take(id string) int32 {
	var slot int32
	if n := len(x.free); n > 0 {
		slot, x.free = x.free[n-1], x.free[:n-1]
	} else {
		slot = int32(len(x.docs))
		x.docs = append(x.docs, doc{})
	}
	x.docs[slot] = doc{row: -1}
	x.slots[id] = slot
	return slot
}

func (x *index) remove(id string) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	x.unindex(slot)
	x.rekey(slot, nil)
	x.setVector(slot, nil, false)
	x.text -= x.docs[slot].size
	x.docs[slot] = doc{row: -1}
	delete(x.slots, id)
	x.free = append(x.free, slot)
}

// unindex takes the text of a slot out of the index.
func (x *index) unindex(slot int32) {
	x.lexicon.remove(slot, x.docs[slot].terms)
}

// setVector gives a slot a vector, or none: nil, which may be because what is
// stored is broken.
func (x *index) setVector(slot int32, vector []float32, broken bool) {
	d := &x.docs[slot]
	if d.broken {
		x.broken--
	}
	if d.broken = broken; broken {
		x.broken++
	}
	switch {
	case vector != nil && d.row >= 0:
		x.matrix.set(d.row, vector)
	case vector != nil:
		d.row = x.matrix.add(slot, vector)
	case d.row >= 0:
		if moved := x.matrix.remove(d.row); moved >= 0 {
			x.docs[moved].row = d.row
		}
		d.row = -1
	}
}

// checkVectors returns ErrDimension unless vectors of the given model can be
// compared with those that the index holds. A dim of 0 is not known yet.
func (x *index) checkVectors(model string, dim int) error {
	const remedy = "call Reembed, of the backend or of the Ranker, to make its vectors anew"
	e := x.embedding
	switch {
	case e == nil || !x.comparable():
		return nil
	case e.Model != model:
		return fmt.Errorf("the partition holds vectors of the model %q, not of %q: %w: %s", e.Model, model, backends.ErrDimension, remedy)
	case dim != 0 && e.Dim != dim:
		return fmt.Errorf("the partition holds vectors of %d dimensions, %q makes %d: %w: %s", e.Dim, model, dim, backends.ErrDimension, remedy)
	case x.broken > 0:
		return fmt.Errorf("%d vectors of the partition are not of %d dimensions: %w: %s", x.broken, e.Dim, backends.ErrDimension, remedy)
	}
	return nil
}

// comparable reports whether the partition may hold vectors to compare with.
func (x *index) comparable() bool { return x.matrix.rows() > 0 || x.broken > 0 }

// bytes estimates the memory that the index takes.
func (x *index) bytes() int64 {
	const perDoc = 192 // doc, map entry, list slack
	return x.text + x.lexicon.bytes() + x.keyed.size + x.matrix.bytes() + int64(len(x.docs))*perDoc
}

// sizeOf estimates the bytes of a memory: its struct, its texts and its metadata.
func sizeOf(m *backends.Memory) int64 {
	n := 640 + len(m.ID) + len(m.Text) + len(m.WhenToUse) + 128*len(m.Metadata)
	for _, id := range m.Origin.MessageIDs {
		n += 16 + len(id)
	}
	return int64(n)
}

// nanos orders times; those out of the range of nanoseconds go to its ends.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1678:
		return -1 << 63
	case t.Year() > 2261:
		return 1<<63 - 1
	}
	return t.UnixNano()
}
