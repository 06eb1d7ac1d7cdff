// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import "fmt"

// minStep is the least number of tokens that a step is cut down to before steps are
// left out.
const minStep = 40

// Squeeze shows the steps of segments in one chunk: when they are too many, the longest are
// clipped in their middles, all to the same length, and if that is not enough, steps
// are left out of the middle. The text says what is missing where, the chunk how much.
func Squeeze(segments []Segment, r *Rendering) Chunk {
	opts := r.withDefaults()
	blocks := segmentBlocks(segments)
	sizes := make([]int, len(blocks))
	for i := range blocks {
		sizes[i] = opts.Counter.Text(blocks[i].text())
	}
	for each := share(sizes, opts.Limit); each >= minStep; each -= 1 + each/8 {
		if c := squeezed(blocks, sizes, each, &opts); c.Tokens <= opts.Limit {
			return c
		}
	}
	return middleOut(blocks, &opts)
}

// share returns the largest size to which all texts can be cut so that they fit.
func share(sizes []int, limit int) int {
	low, high := 0, limit
	for low < high {
		mid := (low + high + 1) / 2
		sum := 0
		for _, n := range sizes {
			sum += min(n, mid)
		}
		if sum <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

func squeezed(blocks []block, sizes []int, each int, r *Rendering) Chunk {
	var w writer
	for i, b := range blocks {
		text, left := b.text(), 0
		if sizes[i] > each {
			text, left = clip(b.head, b.body, each, r.Counter)
		}
		w.add(b.number, text, 0, left)
	}
	return w.chunk(r.Counter)
}

// middleOut keeps steps at both ends, as many as fit.
func middleOut(blocks []block, r *Rendering) Chunk {
	best := Chunk{}
	low, high := 0, len(blocks)
	for low <= high {
		keep := (low + high) / 2
		if c := ended(blocks, keep, r); c.Tokens <= r.Limit || keep == 0 {
			best, low = c, keep+1
		} else {
			high = keep - 1
		}
	}
	return best
}

// ended shows the given number of steps, at both ends, and a line for the others.
func ended(blocks []block, keep int, r *Rendering) Chunk {
	back := keep / 2
	front := keep - back
	var w writer
	for i, b := range blocks {
		switch gone := len(blocks) - keep; {
		case i < front || i >= len(blocks)-back:
			text, left := clip(b.head, b.body, minStep, r.Counter)
			w.add(b.number, text, 0, left)
		case i == front:
			w.add(b.number, fmt.Sprintf("[… %d steps left out, %d to %d …]\n", gone, b.number, b.number+gone-1), 0, 0)
			w.stepsOut = gone
		default:
			w.last = b.number
		}
	}
	return w.chunk(r.Counter)
}
