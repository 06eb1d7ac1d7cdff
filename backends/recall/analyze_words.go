// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "encoding/binary"

// wordTable maps short words of ASCII characters to numbers: a word fits into its
// key, so that one look at memory finds it. Nearly all words that a text is read
// for are looked up here.
type wordTable struct {
	cells []wordCell // a power of two; at least a third of them empty
	size  int
}

type wordCell struct {
	key    wordKey
	number int32
}

// wordKey is a word of 1 to maxShort characters in lower case, filled up with
// zeros. The empty key is that of no word.
type wordKey struct{ low, high uint64 }

const (
	maxShort = 16      // characters
	maxWords = 1 << 18 // of a table
)

// keyOf returns the key of text[start:end], a word of letters, digits and the
// characters between them, of which none but the capitals lacks the bit that tells
// them from small letters.
func keyOf(text string, start, end int) wordKey {
	var buf [maxShort]byte
	copy(buf[:], text[start:end])
	const small = 0x2020202020202020
	k := wordKey{binary.LittleEndian.Uint64(buf[:8]), binary.LittleEndian.Uint64(buf[8:])}
	if n := end - start; n < 8 {
		k.low |= small & (1<<(8*n) - 1)
	} else {
		k.low |= small
		k.high |= small & (1<<(8*(n-8)) - 1)
	}
	return k
}

// cell returns where a key is, or where it belongs.
func (t *wordTable) cell(k wordKey) *wordCell {
	const odd = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	hash := (k.low ^ k.high*odd) * odd
	mask := uint64(len(t.cells) - 1)
	for i := hash >> 32; ; i++ {
		c := &t.cells[i&mask]
		if c.key == k || c.key == (wordKey{}) {
			return c
		}
	}
}

func (t *wordTable) get(k wordKey) (number int32, ok bool) {
	if t.size == 0 {
		return 0, false
	}
	c := t.cell(k)
	return c.number, c.key == k
}

// put keeps the number of a word. A full table forgets all others.
func (t *wordTable) put(k wordKey, number int32) {
	if t.size >= maxWords {
		*t = wordTable{}
	}
	if 3*t.size >= 2*len(t.cells) {
		t.grow()
	}
	c := t.cell(k)
	if c.key != k {
		t.size++
	}
	*c = wordCell{k, number}
}

func (t *wordTable) grow() {
	old := t.cells
	t.cells = make([]wordCell, max(64, 2*len(old)))
	for _, c := range old {
		if c.key != (wordKey{}) {
			*t.cell(c.key) = c
		}
	}
}
