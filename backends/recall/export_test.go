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
func (a Analyzer) Terms(text string) []string {
	var out []string
	a.terms(text, nil, func(term string) { out = append(out, term) })
	return out
}

// TermsOfEach returns the terms of each text, with one memo for all or without.
func (a Analyzer) TermsOfEach(texts []string, withMemo bool) [][]string {
	var known memo
	if withMemo {
		known = memo{}
	}
	out := make([][]string, len(texts))
	for i, text := range texts {
		a.terms(text, known, func(term string) { out[i] = append(out[i], term) })
	}
	return out
}

// Entities returns what a text names.
func (a Analyzer) Entities(text string) []string { return extractEntities(text, a.analyzer) }

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

// Mem0Sigmoid is the curve for keyword scores.
func Mem0Sigmoid(score float64, words int) float64 { return mem0Sigmoid(score, words) }

// Bounds that tests reach for.
const (
	MaxQueryTerms = maxQueryTerms
	MaxQuery      = maxQuery
	PerPartition  = perPartition
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
