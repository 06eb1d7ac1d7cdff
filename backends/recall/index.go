// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// index is one partition in memory: its memories, their terms, keys and vectors. Each
// memory has a slot, a small number by which the parts refer to it. One goroutine
// changes an index; readers hold the partition's lock meanwhile.
type index struct {
	analyzer *analyzer
	keysOf   func(*backends.Memory) []string // nil: the index has no keys
	embeds   bool                            // whether the index keeps vectors

	slots    map[string]int32 // id → slot
	docs     []doc            // by slot
	glances  []glance         // by slot
	lasting  []lasting        // by slot
	state    uint64           // how many times apply changed it
	free     []int32          // slots that are free
	lexicon  *lexicon
	sessions sessions
	talk     talk
	keys     map[string][]int32          // key → slots
	core     map[string]*backends.Memory // the core blocks, by id; the other parts leave them out

	embedding *store.Embedding // nil until the first vector
	coder     *coder           // of the vectors, once there are many; else nil
	vectors   int              // memories with a vector
	broken    int              // memories whose vector is damaged
	memories  int64            // bytes of all memories and their keys, estimated
}

// doc is the content of a slot. Its memory stays the same for life. The fields that a search reads
// of each memory stand first, side by side.
type doc struct {
	memory  *backends.Memory // a copy, since the record also holds the encoded vector; nil: the slot is free
	expires int64            // Unix nanoseconds; math.MaxInt64 if it lasts forever
	active  bool
	broken  bool // the stored vector is damaged
	asks    asking
	code    *code     // of a compressed vector
	vector  []float32 // of length 1; nil without a vector, and beside a code
	time    int64     // of its observation, else of its storing: newer comes first in a tie
	text    bag
	keys    []string
}

// glance holds the fields that most searches read of thousands of memories.
type glance struct {
	until    int64   // the time from which a plain search leaves the memory out
	states   stating // read alone reads it
	asks     asking
	inferred bool // it holds as long as its sources do
	han      bool // it has Chinese characters
}

// lasting is the sum of a memory's lasting factors in a state of the index, and the first of them.
type lasting struct{ state, sum, content uint64 }

func (r *Ranker) newIndex() *index {
	return &index{
		analyzer: r.analyzer, keysOf: r.config.Keys, embeds: r.config.Embedder != nil,
		slots: map[string]int32{}, core: map[string]*backends.Memory{},
		lexicon: newLexicon(), sessions: sessions{numbers: map[string]int32{}}, talk: talk{speakers: map[string]*speaker{}},
		keys: map[string][]int32{},
	}
}

// apply brings in a page of changes; prepare has prepared its records.
func (x *index) apply(c *store.ChangeSet, prepared []doc) {
	x.state++
	if e := c.Embedding; x.embeds && e != nil && (x.embedding == nil || *x.embedding != *e) {
		x.vectors, x.broken, x.coder = 0, 0, nil
		for i := range x.docs {
			x.docs[i].vector, x.docs[i].code, x.docs[i].broken = nil, nil, false
		}
		space := *e
		x.embedding = &space
	}
	for i := range prepared {
		x.put(&prepared[i])
	}
	for _, id := range c.Removed {
		x.remove(id)
	}
	if x.coder == nil && x.vectors > compressFrom && x.embedding.Dim >= compressDim && x.embedding.Dim%mixed == 0 {
		x.compress()
	}
}

// compress replaces all vectors by codes.
func (x *index) compress() {
	x.coder = newCoder(x.docs, x.embedding.Dim)
	var all sync.WaitGroup
	for docs := range slices.Chunk(x.docs, len(x.docs)/runtime.GOMAXPROCS(0)+1) {
		all.Go(func() {
			encoder := x.coder.encoder()
			for i := range docs {
				if d := &docs[i]; d.vector != nil {
					d.code, d.vector = encoder.encode(d.vector), nil
				}
			}
		})
	}
	all.Wait()
}

// put adds a memory, and removes an older one with its id.
func (x *index) put(d *doc) {
	m := d.memory
	x.remove(m.ID)
	if m.Kind.Traits().InPrompt {
		x.memories += sizeOf(m)
		x.core[m.ID] = m
		return
	}
	slot := int32(len(x.docs))
	if last := len(x.free) - 1; last >= 0 {
		slot, x.free = x.free[last], x.free[:last]
	} else {
		x.docs, x.glances, x.lasting = append(x.docs, doc{}), append(x.glances, glance{}), append(x.lasting, lasting{})
	}
	x.docs[slot], x.slots[m.ID] = *d, slot
	x.glances[slot] = glance{until: math.MinInt64, asks: d.asks, inferred: m.Kind.Traits().Inferred, han: hasHan(m.Text)}
	if d.active {
		x.glances[slot].until = d.expires
	}
	x.lexicon.add(slot, d.text)
	x.sessions.add(x.docs, slot)
	for _, key := range d.keys {
		x.keys[key] = append(x.keys[key], slot)
	}
	x.count(d, 1)
}

// describe fills in the fields beside the text that a search reads of a memory.
func (d *doc) describe(m *backends.Memory) {
	d.memory, d.active, d.expires, d.time = m, m.Active(), math.MaxInt64, nanos(m.Observed)
	d.asks = askingOf(m.Text)
	if !m.Expires.IsZero() {
		d.expires = nanos(m.Expires)
	}
	if m.Observed.IsZero() {
		d.time = nanos(m.Created)
	}
}

// remove takes the memory with an id out, if there is one.
func (x *index) remove(id string) {
	if m := x.core[id]; m != nil {
		x.memories -= sizeOf(m)
		delete(x.core, id)
	}
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	d := &x.docs[slot]
	x.lexicon.remove(slot, d.text.terms)
	x.sessions.remove(x.docs, slot)
	for _, key := range d.keys {
		if x.keys[key] = slices.DeleteFunc(x.keys[key], func(s int32) bool { return s == slot }); len(x.keys[key]) == 0 {
			delete(x.keys, key)
		}
	}
	x.count(d, -1)
	*d, x.glances[slot] = doc{}, glance{until: math.MinInt64}
	delete(x.slots, id)
	x.free = append(x.free, slot)
}

// count adds n times a document to the counters.
func (x *index) count(d *doc, n int) {
	const perKey = 96 // map entry, headers of strings and slices, a slot
	x.memories += int64(n) * sizeOf(d.memory)
	x.talk.count(x.analyzer, d.memory, d.text.length, n)
	for _, key := range d.keys {
		x.memories += int64(n * (perKey + len(key)))
	}
	if d.embedded() {
		x.vectors += n
	}
	if d.broken {
		x.broken += n
	}
}

// embedded reports whether a memory has a vector.
func (d *doc) embedded() bool { return d.vector != nil || d.code != nil }

// comparable reports whether there are vectors to compare a query with.
func (x *index) comparable() bool { return x.embedding != nil && x.vectors+x.broken > 0 }

// checkVectors returns ErrDimension if the model or the dimension of the index differs from the
// given one, or a vector of it is damaged. A dim of 0 is still unknown.
func (x *index) checkVectors(model string, dim int) error {
	const remedy = "call ReembedAll, of the backend or of the Ranker, to replace its vectors"
	e := x.embedding
	switch {
	case !x.comparable():
		return nil
	case e.Model != model:
		return fmt.Errorf("the partition holds vectors of the model %q, not of %q: %w: %s", e.Model, model, backends.ErrDimension, remedy)
	case dim != 0 && e.Dim != dim:
		return fmt.Errorf("the partition holds vectors of %d dimensions, %q returns %d: %w: %s", e.Dim, model, dim, backends.ErrDimension, remedy)
	case x.broken > 0:
		return fmt.Errorf("%d vectors of the partition cannot be decoded as %d dimensions: %w: %s", x.broken, e.Dim, backends.ErrDimension, remedy)
	}
	return nil
}

// bytes estimates the memory that the index takes.
func (x *index) bytes() int64 {
	const perDoc = 240 // doc, map entry, offset in a session, list slack
	n := x.memories + x.lexicon.bytes() + int64(len(x.docs))*perDoc
	switch {
	case x.coder != nil: // five bits a component
		n += int64(x.vectors) * (int64(x.embedding.Dim)*5/8 + 64)
	case x.embedding != nil:
		n += int64(x.vectors) * int64(x.embedding.Dim) * 4
	}
	return n
}

// sizeOf estimates the bytes of a memory: its struct, its texts and its metadata.
func sizeOf(m *backends.Memory) int64 {
	n := 640 + len(m.ID) + len(m.Text) + len(m.WhenToUse) + 128*len(m.Metadata)
	for _, id := range m.Origin.MessageIDs {
		n += 16 + len(id)
	}
	for _, id := range m.Origin.Evidence {
		n += 16 + len(id)
	}
	return int64(n)
}

// nanos orders times: those out of the range of nanoseconds become its ends.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1678:
		return math.MinInt64
	case t.Year() > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// alone is how many records one goroutine prepares faster than two.
const alone = 32

// prepare does all slow work on the records of a page, so that the lock is held briefly. Several
// goroutines share a large page: readers analyse the texts while others copy memories, keys and
// vectors.
func (x *index) prepare(c *store.ChangeSet, readers []*reader) []doc {
	docs := make([]doc, len(c.Records))
	var all sync.WaitGroup
	run := all.Go
	if len(c.Records) <= alone {
		run = func(f func()) { f() }
	}
	share := (len(c.Records) + len(readers) - 1) / len(readers)
	for n, r := range readers {
		from, to := min(n*share, len(c.Records)), min((n+1)*share, len(c.Records))
		run(func() {
			for i := from; i < to; i++ {
				if m := &c.Records[i].Memory; !m.Kind.Traits().InPrompt {
					docs[i].text = r.memory(m)
				}
			}
		})
		middle := (from + to) / 2 // copying and encoding take longer than reading
		run(func() { x.copy(docs[from:middle], c.Records[from:middle], c.Embedding) })
		run(func() { x.copy(docs[middle:to], c.Records[middle:to], c.Embedding) })
	}
	all.Wait()
	return docs
}

// moreReaders returns the readers of a load, and adds those which a page of so many records needs.
// They are at most half as many as there are processors: each has to meet a word before it knows
// it.
func (x *index) moreReaders(readers []*reader, records int) []*reader {
	for len(readers) < max(1, min(runtime.GOMAXPROCS(0)/2, records/alone)) {
		readers = append(readers, newReader(x.analyzer, x.lexicon.vocabulary))
	}
	return readers
}

// copy takes memories, keys and vectors out of records.
func (x *index) copy(docs []doc, records []store.Record, space *store.Embedding) {
	rows := rows[float32]{left: len(docs)}
	if space != nil {
		rows.dim = max(0, space.Dim)
	}
	var codes *encoder
	if x.coder != nil && space != nil && *space == *x.embedding {
		codes = x.coder.encoder()
	}
	var memories []backends.Memory
	for i := range docs {
		if i%perBlock == 0 {
			memories = make([]backends.Memory, min(perBlock, len(docs)-i))
		}
		d, m := &docs[i], &memories[i%perBlock]
		*m = records[i].Memory
		if d.describe(m); m.Kind.Traits().InPrompt {
			continue
		}
		if x.keysOf != nil {
			d.keys = slices.Compact(slices.Sorted(slices.Values(x.keysOf(m)))) // each once
		}
		if encoded := records[i].Vector; x.embeds && space != nil && len(encoded) > 0 {
			v := rows.next()
			switch err := decodeVector(v, encoded, space.Model); {
			case err == nil && codes != nil:
				d.code = codes.encode(v)
				rows.block = v // for the next one
			case err == nil:
				d.vector = v
			case errors.Is(err, errBrokenVector):
				d.broken = true
			}
		}
	}
}

// perBlock is how many memories, and how many vectors, of a page share an allocation. The
// allocation is free when all of them are.
const perBlock = 32

// rows hands out memory for vectors and codes. Those of one load lie side by side, so that a
// scan reads memory from end to end: that halves its time.
type rows[T any] struct {
	dim, left int // left is how many rows are still to come
	block     []T
}

func (r *rows[T]) next() []T {
	if len(r.block) < r.dim || r.dim == 0 {
		r.block = make([]T, r.dim*min(perBlock, r.left))
	}
	v := r.block[:r.dim:r.dim]
	r.block = r.block[r.dim:]
	r.left--
	return v
}
