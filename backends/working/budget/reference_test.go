// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

// reference is the estimate a byte at a time, for the tests: what it says in words
// is what the code does to sixty-four bytes at once.
func reference(s string) int {
	var r referencePass
	for i := range len(s) {
		r.step(s[i])
	}
	if s == "" {
		return 0
	}
	return max((r.cost+14)/15, 1)
}

type kind int

const (
	start kind = iota
	small
	capital
	other // a letter of another alphabet
	digit
	space
	line
	punct
	wide
)

func (k kind) letter() bool { return k == small || k == capital || k == other }

func kindOf(b byte) kind {
	switch {
	case 'a' <= b && b <= 'z':
		return small
	case 'A' <= b && b <= 'Z':
		return capital
	case '0' <= b && b <= '9':
		return digit
	case b == ' ' || b == '\t':
		return space
	case '\n' <= b && b <= '\r':
		return line
	case b >= 0x80:
		return wide
	}
	return punct
}

type referencePass struct {
	cost              int
	last              byte
	before            kind
	word, run, spaces int // how long they are
	missing           int // bytes of a character
	inWord            bool
}

func (r *referencePass) step(b byte) {
	k := r.wide(b, kindOf(b))
	if k.letter() {
		r.letter(k)
	}
	if k.letter() || k == digit {
		r.run++
		r.add(r.run >= 16, 5, 0)
	} else {
		r.run = 0
	}
	if k == space {
		r.spaces++
	} else {
		r.spaces = 0
	}
	switch k {
	case digit:
		r.add(r.before == digit, 5, 24)
	case line:
		r.add(r.before == line, 8, 25)
	case space:
		r.add(r.spaces == 2, 14, 0)
		r.add(r.spaces > 2, 2, 0)
	case punct:
		if r.before == punct {
			r.add(r.last == b, 2, 4)
		} else {
			r.add(r.before == space || r.before == line, 8, 3)
		}
	}
	r.before, r.last = k, b
}

func (r *referencePass) add(condition bool, yes, no int) {
	if condition {
		r.cost += yes
	} else {
		r.cost += no
	}
}

func (r *referencePass) wide(b byte, k kind) kind {
	switch {
	case k != wide:
		r.missing, r.inWord = 0, false
	case b >= 0xc0:
		cost, more, word := scriptOf(b)
		r.cost += cost
		r.missing, r.inWord = more, word
		r.add(!word && r.before == space, 7, 0)
	case r.missing > 0:
		r.missing--
	default:
		r.cost += 23
		r.inWord = false
	}
	if r.inWord {
		return other
	}
	return k
}

func (r *referencePass) letter(k kind) {
	r.word++
	switch {
	case !r.before.letter():
		r.word = 1
		switch {
		case k == other:
			r.cost += 3
		case r.before == punct:
			r.cost += 18
		case r.before == digit:
			r.cost += 6
		default:
			r.cost += 15
		}
	case k == capital && r.before == small:
		r.word = 1
		r.cost += 18
	case k == capital && r.before == capital:
		r.cost++
	}
	r.add(r.word >= 8 && k != other, 8, 0)
}

func scriptOf(b byte) (cost, more int, word bool) {
	for _, s := range []struct {
		below      byte
		cost, more int
		word       bool
	}{
		{0xc2, 23, 0, false}, {0xc3, 15, 1, false}, {0xc4, 18, 1, true}, {0xca, 24, 1, true}, {0xce, 23, 1, true},
		{0xd0, 6, 1, true}, {0xd5, 4, 1, true}, {0xd8, 7, 1, true}, {0xdc, 6, 1, true}, {0xe0, 7, 1, true},
		{0xe1, 6, 2, false}, {0xe2, 5, 2, true}, {0xe3, 17, 2, false}, {0xe4, 10, 2, false}, {0xe5, 14, 2, false},
		{0xea, 13, 2, false}, {0xee, 10, 2, false}, {0xef, 23, 2, false}, {0xf0, 9, 2, false}, {0xf5, 34, 3, false},
	} {
		if b < s.below {
			return s.cost, s.more, s.word
		}
	}
	return 23, 0, false
}
