// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "math/bits"

const blockBytes = 64

// set has a bit for each byte of a block, the first byte's lowest.
type set = uint64

// pass goes over a text in blocks. Its sets are those of the block before, so that
// what a byte costs does not depend on where blocks end.
type pass struct {
	letter, small, capital    set
	digit, punct, space, line set
	spaces                    set    // spaces after a space
	word, word2, word4        set    // letters that 1, 2, 4 or more others of their word precede
	run, run2, run4, run8     set    // letters and digits; the second, the fourth, the eighth of a run and later ones
	last                      uint64 // the last byte
	missing                   int    // how many bytes the last character beyond ASCII lacks
	inWord                    bool   // whether that is a letter of words
}

// block returns what the bytes of s, of which there are no more than a block's,
// cost together.
func (p *pass) block(s string) int {
	var letter, small, digit, space, line, wide, again set
	wideCost, valid, at := 0, ^set(0)>>(blockBytes-len(s)), uint(0)
	for len(s) > 0 {
		var x uint64
		if len(s) >= 8 {
			x, s = load(s), s[8:]
		} else {
			x, s = loadTail(s), ""
		}
		low, ascii := x&^tops, ^x&tops
		if ascii != tops {
			cost, letters := p.wide(x)
			wideCost += cost
			letter |= letters << at
			wide |= gather(^ascii&tops) << at
		} else {
			p.missing = 0
		}
		folded := low | 0x20*ones
		a := from(folded, 'a') &^ from(folded, 'z'+1) & ascii
		letter |= gather(a) << at
		small |= gather(a&(low<<2)) << at // what tells a from A
		digit |= gather(from(low, '0')&^from(low, '9'+1)&ascii) << at
		tab, lf := from(low, '\t'), from(low, '\n')
		space |= gather((from(low, ' ')&^from(low, ' '+1)|tab&^lf)&ascii) << at
		line |= gather(lf&^from(low, '\r'+1)&ascii) << at
		again |= gather(zero(x^(x<<8|p.last))) << at
		p.last = x >> 56
		at = (at + 8) & 63
	}
	capital := letter &^ small &^ wide
	punct := ^(letter | digit | space | line | wide)
	return wideCost + p.words(letter, small, capital, punct, digit, wide, valid) +
		p.numbers(letter|digit, digit, valid) + p.marks(punct, again, space, line, valid)
}

// words returns what letters cost.
func (p *pass) words(letter, small, capital, punct, digit, wide, valid set) int {
	before := behind(letter, p.letter)
	camel := capital & behind(small, p.small)
	start := letter &^ before
	other := start & wide
	start ^= other
	joined := start & behind(punct, p.punct)
	afterNum := start & behind(digit, p.digit)

	word := letter & before &^ camel
	word2 := word & behind(word, p.word)
	word4 := word2 & (word2<<2 | p.word2>>62)
	long := word4 & (word4<<3 | p.word4>>61) &^ wide
	capitals := capital & behind(capital, p.capital)
	p.letter, p.small, p.capital, p.word, p.word2, p.word4 = letter, small, capital, word, word2, word4

	return wordCost*count(start&^(joined|afterNum)&valid) + wordJoined*count((joined|camel)&valid) +
		wordAfterNum*count(afterNum&valid) + capitalCost*count(capitals&valid) +
		longWord*count(long&valid) + letterOther*count(other&valid)
}

// numbers returns what digits, and long runs of letters and digits, cost.
func (p *pass) numbers(run, digit, valid set) int {
	before := behind(digit, p.digit)
	run2 := run & behind(run, p.run)
	run4 := run2 & (run2<<2 | p.run2>>62)
	run8 := run4 & (run4<<4 | p.run4>>60)
	long := run8 & (run8<<8 | p.run8>>56)
	p.digit, p.run, p.run2, p.run4, p.run8 = digit, run, run2, run4, run8
	return digitCost*count(digit&^before&valid) + digitMore*count(digit&before&valid) + longRun*count(long&valid)
}

// marks returns what punctuation, spaces and lines' ends cost.
func (p *pass) marks(punct, again, space, line, valid set) int {
	spaceBefore, lineBefore, punctBefore := behind(space, p.space), behind(line, p.line), behind(punct, p.punct)
	free := punct & (spaceBefore | lineBefore)
	more := punct & punctBefore
	spaces := space & spaceBefore
	third := spaces & behind(spaces, p.spaces)
	p.punct, p.space, p.line, p.spaces = punct, space, line, spaces
	return punctCost*count(punct&^(more|free)&valid) + punctFree*count(free&valid) +
		punctMore*count(more&^again&valid) + punctSame*count(more&again&valid) +
		lineCost*count(line&^lineBefore&valid) + lineMore*count(line&lineBefore&valid) +
		spaceTwo*count(spaces&^third&valid) + spaceMore*count(third&valid)
}

// behind returns the bytes right behind those of the set; before is the set of the
// block before.
func behind(s, before set) set { return s<<1 | before>>63 }

func count(s set) int { return bits.OnesCount64(s) }
