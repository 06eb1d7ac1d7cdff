// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends/working/budget"
)

// Rendering says how much of a trajectory is shown at a time. Zero fields have the
// defaults.
type Rendering struct {
	Limit   int            // tokens of a chunk; below [MinLimit] it is MinLimit. Defaults to 12,000.
	Counter budget.Counter // Defaults to budget.Estimate.
}

// MinLimit is the least number of tokens of a chunk: room for headings, for words on
// what is left out, and for a little of what is not.
const MinLimit = 128

const defaultLimit = 12_000

func (r *Rendering) withDefaults() Rendering {
	var out Rendering
	if r != nil {
		out = *r
	}
	if out.Limit == 0 {
		out.Limit = defaultLimit
	}
	out.Limit = max(out.Limit, MinLimit)
	out.Counter = orEstimate(out.Counter)
	return out
}

// Chunk is a stretch of steps as a model is shown it.
type Chunk struct {
	Text        string
	Tokens      int
	First, Last int // the numbers of its first and last step
	LeftOut     int // characters left out of steps that are too long; the text says where and how many
	StepsOut    int // steps left out; the text says which
}

// Render shows steps as numbered headings, each followed by what was thought, said and
// called, or by what the tool returned, indented. Steps that are too many are divided
// into several chunks; one that is too long for a chunk of its own is clipped in its
// middle, which the text and the chunk say.
func Render(steps []Step, r *Rendering) []Chunk {
	opts := r.withDefaults()
	var out []Chunk
	var open writer
	for _, b := range blocksOf(steps) {
		text, left := clip(b.head, b.body, opts.Limit, opts.Counter)
		size := opts.Counter.Text(text)
		if len(open.texts) > 0 && !open.fits(text, size, &opts) {
			out = append(out, open.chunk(opts.Counter))
			open = writer{}
		}
		open.add(b.number, text, size, left)
	}
	if len(open.texts) > 0 {
		out = append(out, open.chunk(opts.Counter))
	}
	return out
}

// writer collects the steps of a chunk.
type writer struct {
	texts       []string
	size, left  int
	first, last int
	stepsOut    int
}

func (w *writer) add(number int, text string, size, left int) {
	if len(w.texts) == 0 {
		w.first = number
	}
	w.last = number
	w.texts = append(w.texts, text)
	w.size += size
	w.left += left
}

// fits reports whether the text fits as well. Most counters count no more for texts
// together than for each of them; what they count together decides.
func (w *writer) fits(text string, size int, r *Rendering) bool {
	return w.size+size <= r.Limit && r.Counter.Text(strings.Join(w.texts, "")+text) <= r.Limit
}

func (w *writer) chunk(counter budget.Counter) Chunk {
	text := strings.Join(w.texts, "")
	return Chunk{Text: text, Tokens: counter.Text(text), First: w.first, Last: w.last, LeftOut: w.left, StepsOut: w.stepsOut}
}

// Glimpse shows steps on a line each, at most n characters of it.
func Glimpse(steps []Step, n int) string {
	var sb strings.Builder
	for _, b := range blocksOf(steps) {
		fmt.Fprintf(&sb, "%s: %s\n", strings.TrimSpace(b.head), Line(b.body, n))
	}
	return sb.String()
}
