// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

// What a byte costs, in fifteenths of a token, by what stands before it. What is
// not named is free: a vocabulary has the first letters of most words, and a space
// goes with the word behind it. The costs are fitted to o200k_base; for how well
// see [Estimate].
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

// estimateText adds up what the bytes cost, in one pass. Each costs what it does
// by what precedes it alone, so that more text never counts less. A text that is
// not empty counts one token at least.
func estimateText(s string) int {
	if s == "" {
		return 0
	}
	var p pass
	fifteenths := 0
	for len(s) > blockBytes {
		fifteenths += p.block(s[:blockBytes])
		s = s[blockBytes:]
	}
	fifteenths += p.block(s)
	return max((fifteenths+unit-1)/unit, 1)
}
