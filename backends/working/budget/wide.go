// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

// script says what the characters that begin with a byte cost, in fifteenths of a
// token.
type script struct {
	first byte // and those after it, up to the next script
	cost  int
	more  int  // how many bytes follow the first
	word  bool // whether spaces stand between its words
}

// scripts are in the order of the first byte of a character's UTF-8.
var scripts = byFirst([]script{
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
})

// byFirst returns the scripts by the first byte, less 0xc0.
func byFirst(rows []script) (table [0x40]script) {
	for _, r := range rows {
		for i := int(r.first) - 0xc0; i < len(table); i++ {
			table[i] = r
		}
	}
	return table
}

// wide returns what those of eight bytes that are beyond ASCII cost, and which of
// them are letters of words. A character is counted where it begins, so that half
// of one costs no more than the whole.
func (p *pass) wide(x uint64) (cost int, letters set) {
	last := byte(p.last)
	for i := range 8 {
		b := byte(x >> (8 * i))
		switch {
		case b < 0x80:
			p.missing, p.inWord = 0, false
		case b >= 0xc0:
			s := &scripts[b-0xc0]
			cost += s.cost
			p.missing, p.inWord = s.more, s.word
			if !s.word && (last == ' ' || last == '\t') {
				cost += spaceOther
			}
		case p.missing > 0:
			p.missing--
		default:
			cost += strayCost
			p.inWord = false
		}
		if p.inWord {
			letters |= 1 << i
		}
		last = b
	}
	return cost, letters
}
