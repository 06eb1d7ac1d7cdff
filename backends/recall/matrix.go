// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "slices"

// matrix holds the vectors of a partition as rows of one stretch of memory, so
// that a scan reads it from end to end.
type matrix struct {
	dim   int
	data  []float32
	slots []int32 // row → slot
}

func (m *matrix) rows() int { return len(m.slots) }

func (m *matrix) row(i int32) []float32 {
	at := int(i) * m.dim
	return m.data[at : at+m.dim : at+m.dim]
}

// reserved returns m with room for n more rows. Searches may go on reading m.
func (m *matrix) reserved(n int) matrix {
	out := *m
	need := len(m.data) + n*m.dim
	if need <= cap(m.data) {
		return out
	}
	size := need
	if len(m.data) > 0 { // it has grown once, and will again
		size += need / 4
	}
	out.data = make([]float32, len(m.data), size)
	copy(out.data, m.data)
	return out
}

// add appends a row, which the caller fills, and returns its number.
func (m *matrix) add(slot int32) int32 {
	m.data = slices.Grow(m.data, m.dim)[:len(m.data)+m.dim]
	m.slots = append(m.slots, slot)
	return int32(len(m.slots) - 1)
}

// remove takes a row out by moving the last one into its place. It returns the
// slot of the row that moved, or -1.
func (m *matrix) remove(row int32) int32 {
	last := int32(len(m.slots) - 1)
	moved := int32(-1)
	if row != last {
		copy(m.row(row), m.row(last))
		moved = m.slots[last]
		m.slots[row] = moved
	}
	m.slots = m.slots[:last]
	m.data = m.data[:int(last)*m.dim]
	return moved
}

func (m *matrix) bytes() int64 { return int64(cap(m.data))*4 + int64(cap(m.slots))*4 }
