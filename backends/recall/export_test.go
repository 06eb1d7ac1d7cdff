// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// What follows shows the tests what the package does not export.

// Analyzer is the analyzer of documents and queries.
type Analyzer struct{ *analyzer }

// NewAnalyzer returns one.
func NewAnalyzer() (Analyzer, error) {
	a, err := newAnalyzer()
	return Analyzer{a}, err
}

// Terms returns the terms of a text in order.
func (a Analyzer) Terms(text string) []string { return NewReader(a).Terms(text) }

// Reader reads texts one after the other.
type Reader struct{ *reader }

// NewReader returns one.
func NewReader(a Analyzer) Reader { return Reader{newReader(a.analyzer, newVocabulary())} }

// Terms returns the terms of a text in order.
func (r Reader) Terms(text string) []string {
	var out []string
	for _, n := range r.read(text) {
		out = append(out, r.vocabulary.names[n])
	}
	return out
}

// MemoryTerms returns the terms of a memory in order.
func (r Reader) MemoryTerms(m *backends.Memory) []string {
	var out []string
	for _, n := range r.memory(m) {
		out = append(out, r.vocabulary.names[n])
	}
	return out
}

// Tallies counts the terms of each text.
func (r Reader) Tallies(texts []string) []map[string]int {
	entries := make([]entry, len(texts))
	r.counted = r.counted[:0]
	for i, text := range texts {
		entries[i].text = r.tally(r.read(text))
	}
	r.settle(entries)
	out := make([]map[string]int, len(texts))
	for i := range entries {
		out[i] = map[string]int{}
		for _, c := range entries[i].text.terms {
			out[i][r.vocabulary.names[c.term]] = int(c.count)
		}
	}
	return out
}

// WordTable is a table of words.
type WordTable struct{ table wordTable }

// Get returns the number of a word.
func (t *WordTable) Get(word string) (int32, bool) { return t.table.get(keyOf(word, 0, len(word))) }

// Put keeps the number of a word.
func (t *WordTable) Put(word string, number int32) { t.table.put(keyOf(word, 0, len(word)), number) }

// Cells returns how much the table has room for.
func (t *WordTable) Cells() int { return len(t.table.cells) }

// TermsOfEach returns the terms of each text, with one reader for all or without.
func (a Analyzer) TermsOfEach(texts []string, together bool) [][]string {
	out := make([][]string, len(texts))
	r := NewReader(a)
	for i, text := range texts {
		if !together {
			r = NewReader(a)
		}
		out[i] = r.Terms(text)
	}
	return out
}

// EncodeVector normalises and encodes a vector.
func EncodeVector(v []float64, e Encoding, model string) ([]byte, error) {
	n, err := normalise(v)
	if err != nil {
		return nil, err
	}
	return encodeVector(n, e, model), nil
}

// DecodeVector decodes a vector of the given space.
func DecodeVector(data []byte, e store.Embedding) ([]float32, error) {
	v := make([]float32, e.Dim)
	return v, decodeVector(v, data, e)
}

// Bounds that tests reach for.
const (
	MaxQueryTerms = maxQueryTerms
	MaxQuery      = maxQuery
	PerPartition  = perPartition
	MaxWords      = maxWords
)

// BareScan multiplies a vector with every row of a loaded partition.
func (r *Ranker) BareScan(p backends.Partition, query []float32) (sum float32) {
	part := r.cache.get(p, nil)
	m := &part.index.matrix
	for i := range m.rows() {
		sum += vek32.Dot(query, m.row(int32(i)))
	}
	return sum
}

// BestOf returns the places of the k best values by a topK: high first, of equal
// ones the later time, of those the lower id.
func BestOf(k int, values []float64, times []int64, ids []string) []int {
	best := topK{size: k}
	for i := range values {
		if best.beats(values[i]) {
			best.offer(ranked{slot: int32(i), value: values[i], time: times[i], id: ids[i]})
		}
	}
	var out []int
	for _, r := range best.best() {
		out = append(out, int(r.slot))
	}
	return out
}

// NextAwaited reports whether somebody waits for the next refresh of a partition,
// while one is under way.
func (r *Ranker) NextAwaited(p backends.Partition) bool {
	part := r.cache.get(p, nil)
	part.flights.Lock()
	defer part.flights.Unlock()
	return part.next != nil
}

// KeyBytes returns what the keys of a loaded partition take.
func (r *Ranker) KeyBytes(p backends.Partition) int64 { return r.cache.get(p, nil).index.keyed.size }

// IsVariant is the test for two forms of one word; the terms must share their
// first characters to be asked.
func IsVariant(a, b string) bool {
	return prefixOf(a) != "" && prefixOf(a) == prefixOf(b) && isVariant(a, b)
}

// Matrix is a matrix and where its slots are.
type Matrix struct {
	matrix matrix
	rows   map[int32]int32 // slot → row
}

// NewMatrix returns an empty one.
func NewMatrix(dim int) *Matrix { return &Matrix{matrix{dim: dim}, map[int32]int32{}} }

// Put gives a slot a vector.
func (m *Matrix) Put(slot int32, v []float32) {
	if row, ok := m.rows[slot]; ok {
		m.matrix.set(row, v)
		return
	}
	m.rows[slot] = m.matrix.add(slot, v)
}

// Remove takes the vector of a slot out.
func (m *Matrix) Remove(slot int32) {
	row, ok := m.rows[slot]
	if !ok {
		return
	}
	delete(m.rows, slot)
	if moved := m.matrix.remove(row); moved >= 0 {
		m.rows[moved] = row
	}
}

// Rows returns the vectors by slot.
func (m *Matrix) Rows() map[int32][]float32 {
	out := map[int32][]float32{}
	for i := range m.matrix.rows() {
		out[m.matrix.slots[i]] = m.matrix.row(int32(i))
	}
	return out
}

// Bytes is what it takes.
func (m *Matrix) Bytes() int64 { return m.matrix.bytes() }
