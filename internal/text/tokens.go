// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

// The cost of a byte, in fifteenths of a token, by the byte before it. A byte without a
// cost here is free: a vocabulary has the first letters of most words, and a space goes
// with the word behind it. The costs are fitted to o200k_base, the vocabulary of OpenAI's
// models since GPT-4o.
const (
	unit = 15 // a token

	wordCost     = 15 // the first letter of a word
	wordJoined   = 18 // the same after punctuation, and a capital after a small letter
	wordAfterNum = 6  // the same after a digit
	capitalCost  = 1  // a capital after a capital
	longWord     = 8  // the eighth letter of a word, and each after it
	longRun      = 5  // beside that: the sixteenth letter or digit of a run, and each after it
	digitCost    = 24 // the first digit of a number, with the space before it
	digitMore    = 5  // each other: three make a token
	punctCost    = 3  // a punctuation mark
	punctFree    = 8  // the same after a space or a line's end
	punctMore    = 4  // the same after another mark
	punctSame    = 2  // the same after itself
	lineCost     = 25 // a line's end
	lineMore     = 8  // the same after another
	spaceTwo     = 14 // a second space
	spaceMore    = 2  // each other
	letterOther  = 3  // the first letter of a word of another alphabet, beside its own cost
	spaceOther   = 7  // any other character beyond ASCII after a space, beside its own cost
	strayCost    = 23 // a byte outside all characters
)

// Tokens estimates how many tokens a model counts for s, by its letters, digits, marks
// and spaces, in one pass and without a vocabulary. More text never counts less, and a
// text with a byte counts one token at least. It errs on the high side, because a budget
// must hold: against o200k_base +2 % for English, +12 for Chinese, +4 for JSON, 0 for
// logs, +24 for Korean and Russian, +54 for hexadecimal.
func Tokens(s string) int {
	if s == "" {
		return 0
	}
	cost, word, run, spaces := 0, 0, 0, 0 // how long they are so far
	missing := 0                          // bytes that a character beyond ASCII lacks
	before, last := nothing, byte(' ')    // a space is no mark
	for i := range len(s) {
		b := s[i]
		k := classes[b]
		switch {
		case k != wide:
			missing = 0
		case b < 0xc0 && missing > 0: // the character was counted where it begins, so half of one costs at most the whole
			missing--
			k = before
		case b < 0xc0:
			cost += strayCost
		default:
			sc := scriptOf(b)
			cost += sc.cost
			missing = sc.more
			if sc.word {
				k = other
			} else if before == space {
				cost += spaceOther
			}
		}
		cost += costs[before%16][k%16]
		if word++; !k.isLetter() || !before.isLetter() || before == small && k == capital {
			word = 1
		}
		if run++; !k.isLetter() && k != digit {
			run = 0
		}
		if spaces++; k != space {
			spaces = 0
		}
		if word >= 8 && k != other {
			cost += longWord
		}
		if run >= 16 {
			cost += longRun
		}
		if spaces == 2 {
			cost += spaceTwo - spaceMore
		}
		if k == punct && b == last {
			cost += punctSame - punctMore
		}
		before, last = k, b
	}
	return max((cost+unit-1)/unit, 1)
}

type byteClass uint8

const (
	nothing byteClass = iota
	small
	capital
	other // a letter of an alphabet beyond ASCII whose words spaces set apart
	digit
	space
	line
	punct
	wide // of any other character beyond ASCII
)

func (k byteClass) isLetter() bool { return k == small || k == capital || k == other }

func classOf(b byte) byteClass {
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

// classes and costs hold the results of classOf and costOf: contexts of megabytes are counted
// in each turn.
var classes, costs = func() (class [256]byteClass, cost [16][16]int) {
	for b := range class {
		class[b] = classOf(byte(b))
	}
	for before := nothing; before <= wide; before++ {
		for k := nothing; k <= wide; k++ {
			cost[before][k] = costOf(before, k)
		}
	}
	return class, cost
}()

// costOf returns the cost of a byte by the class of the byte before it. The costs for the
// length of words and runs, and for a character beyond ASCII, come on top.
func costOf(before, k byteClass) int {
	switch {
	case k.isLetter():
		return letterCost(before, k)
	case k == digit && before == digit:
		return digitMore
	case k == digit:
		return digitCost
	case k == space && before == space:
		return spaceMore
	case k == line && before == line:
		return lineMore
	case k == line:
		return lineCost
	case k == punct && before == punct:
		return punctMore
	case k == punct && (before == space || before == line):
		return punctFree
	case k == punct:
		return punctCost
	}
	return 0
}

func letterCost(before, k byteClass) int {
	switch {
	case k == capital && before == small:
		return wordJoined
	case k == capital && before == capital:
		return capitalCost
	case before.isLetter():
		return 0
	case k == other:
		return letterOther
	case before == punct:
		return wordJoined
	case before == digit:
		return wordAfterNum
	}
	return wordCost
}

// script has the cost of a character beyond ASCII, by the first byte of its UTF-8.
type script struct {
	first byte // and up to the next one's
	cost  int
	more  int  // how many bytes follow the first
	word  bool // spaces stand between its words
}

var scripts = []script{
	{0xc0, strayCost, 0, false}, // of no character
	{0xc2, 15, 1, false},        // « » ° and the like
	{0xc3, 18, 1, true},         // à é ü
	{0xc4, 24, 1, true},         // č ł ş ơ
	{0xca, 23, 1, true},         // phonetic letters, and accents that stand alone
	{0xce, 6, 1, true},          // Greek
	{0xd0, 4, 1, true},          // Cyrillic
	{0xd5, 7, 1, true},          // Armenian, Hebrew
	{0xd8, 6, 1, true},          // Arabic
	{0xdc, 7, 1, true},          // Syriac and others
	{0xe0, 6, 2, false},         // the scripts of India, Thai
	{0xe1, 5, 2, true},          // Georgian, and the accents of Vietnamese
	{0xe2, 17, 2, false},        // — … “ ” → ✅
	{0xe3, 10, 2, false},        // Kana, 。「」
	{0xe4, 14, 2, false},        // rare Han
	{0xe5, 13, 2, false},        // Han
	{0xea, 10, 2, false},        // Hangul
	{0xee, 23, 2, false},        // private characters
	{0xef, 9, 2, false},         // ，！ and full-width letters
	{0xf0, 34, 3, false},        // emoji, and rare characters
	{0xf5, strayCost, 0, false}, // of no character
}

func scriptOf(first byte) *script {
	for i := len(scripts) - 1; i > 0; i-- {
		if scripts[i].first <= first {
			return &scripts[i]
		}
	}
	return &scripts[0]
}
