// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
)

// ranked is a memory on its way to becoming a hit.
type ranked struct {
	slot    int32
	value   float64 // what the order is by
	lexical float64 // 0 to 1, as in backends.ScoreParts
	vector  float64
	score   float64
	time    int64
	id      string
}

// compareRanked orders by value, then newer first, then by id: the same on every
// store, since nothing depends on where a memory stands in the index.
func compareRanked(a, b *ranked) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.time, a.time), cmp.Compare(a.id, b.id))
}

// topK keeps the best of what is offered in a heap whose root is the worst kept.
type topK struct {
	size int
	heap []ranked
}

func (t *topK) offer(r ranked) {
	if len(t.heap) < t.size {
		t.heap = append(t.heap, r)
		t.up(len(t.heap) - 1)
		return
	}
	if t.size == 0 || compareRanked(&r, &t.heap[0]) >= 0 {
		return
	}
	t.heap[0] = r
	t.down(0)
}

// beats reports whether something of the given value may be kept.
func (t *topK) beats(value float64) bool {
	return len(t.heap) < t.size || t.size > 0 && value >= t.heap[0].value
}

// best empties the heap, best first.
func (t *topK) best() []ranked {
	out := t.heap
	t.heap = nil
	slices.SortFunc(out, func(a, b ranked) int { return compareRanked(&a, &b) })
	return out
}

func (t *topK) worse(i, j int) bool { return compareRanked(&t.heap[i], &t.heap[j]) > 0 }

func (t *topK) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.worse(i, parent) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *topK) down(i int) {
	for {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.heap) && t.worse(child, worst) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}
