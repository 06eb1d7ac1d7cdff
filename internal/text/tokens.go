// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

// What a byte costs, in fifteenths of a token, by what stands before it. What is
// not named is free: a vocabulary has the first letters of most words, and a space
// goes with the word behind it. The costs are fitted to o200k_base, the vocabulary of
// OpenAI's models since GPT-4o.
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
	spaceOther   = 7  // what is beyond ASCII and no such letter after a space, beside its own cost
	strayCost    = 23 // a byte that belongs to no character
)

// Tokens estimates how many tokens a model counts for s, without any model's
// vocabulary: by its letters, digits, marks and spaces, in one pass. More text never
// counts less, and a text that is not empty counts one token at least. It errs on the
// high side, because a budget is to hold: against o200k_base +2 % for English, +12 for
// Chinese, +4 for JSON, 0 for logs, +24 for Korean and Russian, +54 for hexadecimal.
func Tokens(s string) int {
	var c tokenCounter
	for i := range len(s) {
		c.add(s[i])
	}
	if s == "" {
		return 0
	}
	return max((c.cost+unit-1)/unit, 1)
}

type byteClass int

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

// tokenCounter adds up what bytes cost.
type tokenCounter struct {
	cost              int
	last              byte
	before            byteClass
	word, run, spaces int  // how long they are so far
	missing           int  // bytes that the character under way lacks
	inWord            bool // whether that character is a letter of words
}

func (c *tokenCounter) add(b byte) {
	k := classOf(b)
	if k == wide {
		k = c.addWide(b)
	} else {
		c.missing, c.inWord = 0, false
	}
	if k.isLetter() {
		c.addLetter(k)
	}
	c.addRun(k)
	switch k {
	case digit:
		c.choose(c.before == digit, digitMore, digitCost)
	case line:
		c.choose(c.before == line, lineMore, lineCost)
	case punct:
		c.addPunct(b)
	}
	c.before, c.last = k, b
}

func (c *tokenCounter) choose(condition bool, yes, no int) {
	if condition {
		c.cost += yes
	} else {
		c.cost += no
	}
}

// addRun counts long runs of letters and digits, and of spaces.
func (c *tokenCounter) addRun(k byteClass) {
	if k.isLetter() || k == digit {
		c.run++
		c.choose(c.run >= 16, longRun, 0)
	} else {
		c.run = 0
	}
	if k != space {
		c.spaces = 0
		return
	}
	c.spaces++
	c.choose(c.spaces == 2, spaceTwo, 0)
	c.choose(c.spaces > 2, spaceMore, 0)
}

func (c *tokenCounter) addPunct(b byte) {
	switch {
	case c.before == punct:
		c.choose(c.last == b, punctSame, punctMore)
	default:
		c.choose(c.before == space || c.before == line, punctFree, punctCost)
	}
}

func (c *tokenCounter) addLetter(k byteClass) {
	c.word++
	switch {
	case !c.before.isLetter():
		c.word = 1
		c.startWord(k)
	case k == capital && c.before == small:
		c.word = 1
		c.cost += wordJoined
	case k == capital && c.before == capital:
		c.cost += capitalCost
	}
	c.choose(c.word >= 8 && k != other, longWord, 0)
}

func (c *tokenCounter) startWord(k byteClass) {
	switch {
	case k == other:
		c.cost += letterOther
	case c.before == punct:
		c.cost += wordJoined
	case c.before == digit:
		c.cost += wordAfterNum
	default:
		c.cost += wordCost
	}
}

// addWide counts a character where it begins, so that half of one costs no more than
// the whole.
func (c *tokenCounter) addWide(b byte) byteClass {
	switch {
	case b >= 0xc0:
		s := scriptOf(b)
		c.cost += s.cost
		c.missing, c.inWord = s.more, s.word
		c.choose(!s.word && c.before == space, spaceOther, 0)
	case c.missing > 0:
		c.missing--
	default:
		c.cost += strayCost
		c.inWord = false
	}
	if c.inWord {
		return other
	}
	return wide
}

// script says what a character beyond ASCII costs, by the first byte of its UTF-8.
type script struct {
	first byte // and up to the next one's
	cost  int
	more  int  // how many bytes follow the first
	word  bool // whether spaces stand between its words
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
	{0xf0, 34, 3, false},        // emoji, and what is rare
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
