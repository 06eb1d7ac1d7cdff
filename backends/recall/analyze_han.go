// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// hanPoints are the marks of Chinese text that stay apart from all characters
// beside them: folding turns some into ASCII, but none into a part of a word. Of
// those two digits are the commas, which join them: see isHanText.
const hanPoints = "，；。、：！？（）《》〈〉「」『』【】“”—…　"

// commonHan reports whether r is one of the characters that nearly all Chinese
// text is written in. Nothing folds them, and each is a word by UAX #29.
func commonHan(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF }

// isHanText reports whether a text has only common Han characters, their marks
// and ASCII in it, and no wide comma between digits, which folding makes one number.
func isHanText(text string) bool {
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf || commonHan(r):
		case !strings.ContainsRune(hanPoints, r):
			return false
		case r == '，' || r == '；':
			if next := i + utf8.RuneLen(r); i > 0 && next < len(text) && isDigit(text[i-1]) && isDigit(text[next]) {
				return false
			}
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// han notes the terms of a text for which isHanText holds: each character, each
// pair of neighbours, and the words of the ASCII between them.
func (r *reader) han(text string) {
	before := -1 // where the character begins that ends at i; -1: there is none
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && text[end] < utf8.RuneSelf {
			end++
		}
		if end > i {
			r.ascii(text[i:end])
			before, i = -1, end
			continue
		}
		c, size := utf8.DecodeRuneInString(text[i:])
		if !commonHan(c) {
			before, i = -1, i+size
			continue
		}
		r.character(text[i : i+size])
		if before >= 0 {
			r.character(text[before : i+size])
		}
		before, i = i, i+size
	}
}

// character notes a term of one or two Han characters. No key of an ASCII word is
// its key: all its bytes have their top bit set.
func (r *reader) character(term string) {
	var buf [8]byte
	copy(buf[:], term)
	key := wordKey{low: binary.LittleEndian.Uint64(buf[:])}
	number, ok := r.words.get(key)
	if !ok {
		number = r.vocabulary.number(term)
		r.words.put(key, number)
	}
	r.note(number)
}
