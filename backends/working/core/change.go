// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// change makes a block's next text of the one before, by the new text as it may be
// stored.
type change func(before, added string) (string, error)

// appended puts added on a line of its own.
func appended(before, added string) (string, error) {
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + added, nil
}

// replaced puts added in the place of the one occurrence of old: in the text, else
// in the text as models are shown it.
func replaced(name, old string) change {
	return func(before, added string) (string, error) {
		at, n := occurrences(before, old)
		if n == 1 {
			return before[:at] + added + before[at+len(old):], nil
		}
		if n == 0 {
			var from, to int
			if from, to, n = show(before).find(show(old).text); n == 1 {
				return before[:from] + added + before[to:], nil
			}
		}
		return "", &MatchError{Block: name, Count: min(n, maxCount), More: n > maxCount, Text: before}
	}
}

// maxCount is up to where occurrences are counted.
const maxCount = 100

// occurrences returns where part first occurs in text, and how often it does, also
// where one overlaps another: which of them is meant, nobody knows either. It counts
// to maxCount+1; an empty part does not occur.
func occurrences(text, part string) (first, n int) {
	if part == "" {
		return -1, 0
	}
	first = -1
	for from := 0; n <= maxCount; n++ {
		i := strings.Index(text[from:], part)
		if i < 0 {
			break
		}
		if n == 0 {
			first = from + i
		}
		from += i + 1
	}
	return first, n
}

// next returns what becomes of a block's text: redacted, and within the limit. A
// text that is too long already may become shorter step by step.
func (b *Blocks) next(v *Value, added string, f change) (string, error) {
	redact := func(text string) string { return strings.ToValidUTF8(b.config.Redact(text), "\uFFFD") }
	stable := redact(v.Text) == v.Text // what is stored can be redacted again
	if !stable {
		added = redact(added)
	}
	text, err := f(v.Text, added)
	if err != nil {
		return "", err
	}
	if stable { // also what only the two texts together tell
		text = redact(text)
	}
	size, was := utf8.RuneCountInString(text), v.Size()
	if size > v.Block.Limit && size >= was {
		return "", &LimitError{Block: v.Block.Name, Limit: v.Block.Limit, Size: was, Asked: size}
	}
	return text, nil
}

// clean returns a text as blocks hold it, with \n for line breaks, or ErrInvalid.
func clean(what, text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%s: %w: not UTF-8", what, backends.ErrInvalid)
	}
	return breaks(text), nil
}

func breaks(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
