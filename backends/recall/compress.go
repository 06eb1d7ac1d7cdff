// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
)

// With more than compressFrom vectors of at least compressDim components a partition replaces them
// by codes. A code holds the difference between a vector and the centre of the partition, in
// numbers from 0 to 15. A search estimates all cosines by the highest bits and the cosines of the
// best by the numbers. Then it reads the vectors of the remaining candidates from the store. The
// estimates follow RaBitQ (Gao and Long, 2024): query·code is to query·vector as vector·code is to
// vector·vector.
const (
	compressFrom = 20_000 // below it vectors take at most 120 MB, of 1,536 components
	compressDim  = 256    // shorter ones are small, and their signs say little
	// codeStep is the step of the quantiser with 16 levels that loses least of a normal variable,
	// in standard deviations. probeStep is the same for 7 levels (Max, Quantizing for Minimum
	// Distortion, 1960).
	codeStep, middle, probeStep = 0.335, 7.5, 0.651
	// centreOf is how many memories, the oldest, make the centre: it stays while newer ones
	// come and go, and is the same on every store.
	centreOf = 1024
	// mixed is how many components mix takes at a time: a power of 4, as turn needs. Its root is 4.
	mixed = 16
)

// Estimates are off by roughError and fineError, as shares of the deviation of products with
// unrelated vectors. For the signs of normal variables the error is √(π/2 - 1), with 0.21 for a
// probe; for the quantiser it is 0.107. A search allows for doubts such errors.
const (
	roughError, fineError, doubts = 0.79, 0.11, 4.5
	mostFine                      = 8192 // candidates to estimate by numbers, at most
	mostRead                      = 512  // vectors to read beside the pool, at most
)

// code is the compressed form of a vector.
type code struct {
	signs   []uint64 // a bit a component: whether it is above the centre
	numbers []byte   // two components each
	rough   float32  // times the product with the signs: the product with the vector
	fine    float32  // the same for the numbers
	base    float32  // product with the centre
}

// coder makes codes of the vectors of a partition.
type coder struct {
	centre   []float32
	distance float64 // of vectors from the centre, root mean square
	order    []int   // of mix: where components come from
}

// encoder is a coder with the memory that one goroutine needs.
type encoder struct {
	*coder
	beside, buffer []float32
	signs          rows[uint64]
}

func (c *coder) encoder() *encoder {
	dim := len(c.centre)
	return &encoder{c, make([]float32, dim), make([]float32, dim), rows[uint64]{dim: (dim + 63) / 64, left: math.MaxInt}}
}

// newCoder returns the coder of a partition with the vectors of docs.
func newCoder(docs []doc, dim int) *coder {
	c := &coder{centre: make([]float32, dim)}
	oldest := slices.DeleteFunc(slices.Clone(docs), func(d doc) bool { return d.vector == nil })
	slices.SortFunc(oldest, func(a, b doc) int { return compareStored(a.memory, b.memory) })
	oldest = oldest[:min(len(oldest), centreOf)]
	for i := range oldest {
		vek32.Add_Inplace(c.centre, oldest[i].vector)
	}
	vek32.DivNumber_Inplace(c.centre, float32(len(oldest)))
	c.distance = math.Sqrt(max(0, 1-float64(vek32.Dot(c.centre, c.centre)))) // vectors have length 1
	c.order = rand.New(rand.NewPCG(0, 0)).Perm(dim)                          // always the same
	return c
}

// mix turns a vector so that each component says a little of all: a sign says little of a component
// that few vectors have. Products of vectors stay as they are. One round mixes 16 components, the
// second one 16 of the results, as in a randomized Hadamard transform (Ailon and Chazelle, 2006).
// The third one makes up for components that the first two left alone.
func (c *coder) mix(v, buffer []float32) []float32 {
	turn(v, buffer)
	for range 2 {
		for i, from := range c.order {
			buffer[i] = v[from]
		}
		v, buffer = buffer, v
		turn(v, buffer)
	}
	vek32.MulNumber_Inplace(v, 1./mixed/4) // each of three turns multiplies lengths by the root
	return v
}

// turn multiplies each mixed components of v with a Hadamard matrix.
func turn(v, buffer []float32) {
	for half := len(v) / 2; half >= len(v)/mixed; half /= 2 {
		for from := 0; from < len(v); from += 2 * half {
			a, b := v[from:from+half], v[from+half:from+2*half]
			vek32.Add_Into(buffer[from:], a, b)
			vek32.Sub_Into(buffer[from+half:], a, b)
		}
		v, buffer = buffer, v
	}
}

// encode returns the code of a vector.
func (c *encoder) encode(vector []float32) *code {
	out := &code{signs: c.signs.next(), numbers: make([]byte, len(vector)/2)}
	beside := vek32.Sub_Into(c.beside, vector, c.centre)
	square := vek32.Dot(beside, beside)
	out.base = vek32.Dot(beside, c.centre)
	if square == 0 { // it is the centre
		return out
	}
	v := c.mix(beside, c.buffer)
	levels := vek32.MulNumber_Into(c.buffer, v, float32(math.Sqrt(float64(len(v))/float64(square))/codeStep))
	vek32.AddNumber_Inplace(levels, middle)
	vek32.Round_Inplace(levels)
	out.rough, out.fine = square/vek32.ManhattanNorm(v), square/(vek32.Dot(v, levels)-middle*vek32.Sum(v))
	for part := range out.signs {
		levels, numbers := levels[64*part:], out.numbers[32*part:]
		var signs uint64
		for i := range min(32, len(levels)/2) {
			low, high := level(levels[2*i]), level(levels[2*i+1])
			numbers[i] = byte(low | high<<4)
			signs |= uint64(low>>3|high>>3<<1) << (2 * i)
		}
		out.signs[part] = signs
	}
	return out
}

func level(x float32) int32 { return max(0, min(15, int32(x))) }

// probe is a query in the form in which it is compared with codes.
type probe struct {
	offset float64     // product with the centre
	spread float64     // deviation of the products with unrelated vectors
	beside []float32   // its difference from the centre
	sum    float32     // of the components of beside
	bits   [][3]uint64 // the same in numbers from -3 to 3, in two's complement, lowest bits first
	step   float64     // the value of 1 in bits
	steps  int         // sum of these numbers
}

func (c *coder) probe(query []float32) *probe {
	v := c.mix(vek32.Sub(query, c.centre), make([]float32, len(query)))
	p := &probe{offset: float64(vek32.Dot(c.centre, query)), beside: v, sum: vek32.Sum(v), bits: make([][3]uint64, (len(v)+63)/64)}
	square, product := float64(vek32.Dot(v, v)), 1e-9
	deviation := math.Sqrt(square / float64(len(v)))
	p.spread = c.distance * deviation
	for i := range v {
		n := int(max(-3, min(3, math.RoundToEven(float64(v[i])/max(1e-9, probeStep*deviation)))))
		p.steps, product = p.steps+n, product+float64(v[i])*float64(n)
		for bit := range 3 {
			p.bits[i/64][bit] |= uint64(n>>bit) & 1 << (i & 63)
		}
	}
	p.step = square / product
	return p
}

// rough estimates the cosine of the query with a vector by its signs.
func (p *probe) rough(c *code) float64 {
	numbers, product := p.bits[:len(c.signs)], 0
	for i, word := range c.signs {
		n := &numbers[i]
		product += bits.OnesCount64(word&n[0]) + 2*bits.OnesCount64(word&n[1]) - 4*bits.OnesCount64(word&n[2])
	}
	return p.cosine(c, float64(c.rough)*p.step*float64(2*product-p.steps))
}

// fine estimates the same cosine by the numbers.
func (p *probe) fine(c *code) float64 {
	var even, odd float32
	for i, two := range c.numbers {
		even += float32(two&15) * p.beside[2*i]
		odd += float32(two>>4) * p.beside[2*i+1]
	}
	return p.cosine(c, float64(c.fine*(even+odd-middle*p.sum)))
}

// sampled reports whether a memory belongs to a sample of about 512, by which estimates are judged.
// The choice depends on stored data alone.
func (d *doc) sampled(of int) bool {
	const many, golden = 512, 0x9E3779B97F4A7C15 // Knuth, The Art of Computer Programming, 6.4
	return (d.code.signs[0]^uint64(d.time))*golden>>(64-bits.Len(uint(of/many))) == 0
}

// sample says how far rough estimates lie above fine ones.
type sample struct{ n, excess, squares float64 }

func (s *sample) add(rough, fine float64) {
	s.n, s.excess, s.squares = s.n+1, s.excess+rough-fine, s.squares+rough*rough-fine*fine
}

func (p *probe) cosine(c *code, beside float64) float64 {
	return max(0, p.offset+float64(c.base)+beside)
}

// narrow leaves the candidates that may be among the best of a pool. Their cosines are exact then,
// and so are the cosines of their neighbours.
func (r *Ranker) narrow(ctx context.Context, p backends.Partition, f *ranking, q *query, attainable float64, pool int) error {
	if f.cosines.probe == nil {
		return nil
	}
	f.keep(q, attainable, pool, mostFine, doubts*roughError*f.cosines.probe.spread)
	f.cosines.highest = 1 // others may be higher than their estimates
	for _, slot := range f.involved() {
		f.s.cosines[slot] = f.cosines.probe.fine(f.x.docs[slot].code)
	}
	f.keep(q, attainable, pool, mostRead, doubts*fineError*f.cosines.probe.spread)
	return r.measure(ctx, p, q, f)
}

// involved returns the slots of the candidates that have a vector, and of their neighbours.
func (f *ranking) involved() []int32 {
	var slots []int32
	for _, slot := range f.slots {
		if f.s.cosines[slot] == noVector {
			continue
		}
		slots = append(slots, slot)
		for _, beside := range []int32{f.x.sessions.offsets[slot].before, f.x.sessions.offsets[slot].after} {
			if beside > 0 && f.s.cosines[beside-1] != noVector {
				slots = append(slots, beside-1)
			}
		}
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// keep leaves the best candidates, size of them, for cosines that may be off by a doubt, and at
// most more others.
func (f *ranking) keep(q *query, attainable float64, size, more int, doubt float64) {
	kept := f.fuse(q, attainable, topK{size: size, more: more, beyond: vectorWeight * doubt / f.cosines.deviation}, doubt)
	f.slots = f.slots[:0]
	for i := range kept {
		if kept[i].slot != notIndexed {
			f.slots = append(f.slots, kept[i].slot)
		}
	}
}

// measure replaces the estimates by cosines with the stored vectors. A memory that changed since
// the index was refreshed keeps its estimate.
func (r *Ranker) measure(ctx context.Context, p backends.Partition, q *query, f *ranking) error {
	slots, ids := f.involved(), []string{}
	for _, slot := range slots {
		ids = append(ids, f.x.docs[slot].memory.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	records, err := r.config.Records.Get(ctx, p, ids...)
	if err != nil {
		return fmt.Errorf("reading the vectors of the best in partition %s: %w", p, err)
	}
	f.cosines.exact = map[int32][]float32{}
	for i := range records {
		vector, slot := make([]float32, len(q.vector)), f.x.slots[records[i].ID]
		if records[i].Version == f.x.docs[slot].memory.Version && decodeVector(vector, records[i].Vector, r.config.EmbeddingModel) == nil {
			f.s.cosines[slot], f.cosines.exact[slot] = q.cosine(vector), vector
		}
	}
	return nil
}
