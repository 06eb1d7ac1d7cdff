// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

// matrix holds the vectors of a partition as rows. Rows that were decoded together
// lie side by side, so that a scan reads memory from end to end nearly
// everywhere, and growing copies none of them.
type matrix struct {
	dim     int
	vectors [][]float32 // the rows, and behind them room for some that left
	slots   []int32     // row → slot
}

func (m *matrix) rows() int { return len(m.slots) }

func (m *matrix) row(i int32) []float32 { return m.vectors[i] }

// add appends a row and returns its number. The vector belongs to the matrix now.
func (m *matrix) add(slot int32, vector []float32) int32 {
	row := len(m.slots)
	m.slots = append(m.slots, slot)
	if row < len(m.vectors) {
		copy(m.vectors[row], vector)
	} else {
		m.vectors = append(m.vectors, vector)
	}
	return int32(row)
}

// set replaces a row. It copies the vector: the memory of the row would stay, with
// that of its neighbours.
func (m *matrix) set(row int32, vector []float32) { copy(m.vectors[row], vector) }

// remove takes a row out by moving the last one into its place. It returns the
// slot of the row that moved, or -1.
func (m *matrix) remove(row int32) int32 {
	last := int32(len(m.slots) - 1)
	moved := int32(-1)
	if row != last {
		m.vectors[row], m.vectors[last] = m.vectors[last], m.vectors[row]
		moved = m.slots[last]
		m.slots[row] = moved
	}
	m.slots = m.slots[:last]
	return moved
}

func (m *matrix) bytes() int64 {
	const perRow = 24 + 4 // slice header, slot
	return int64(len(m.vectors)) * (int64(m.dim)*4 + perRow)
}
