// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"strings"
	"unicode/utf8"
)

// How much of a line is shown, in bytes.
const (
	clipLine    = 400 // of one that matches
	clipBefore  = 100 // of that, before the match
	clipContext = 200 // of one beside it
	lookBack    = 4096
)

// place is a line of a text.
type place struct {
	text       string
	line       int // from 1 on
	start, end int // of the line, without its line break; end is 0 before the first move
}

// move goes on to the line of the byte at.
func (p *place) move(at int) {
	if at < p.end {
		return
	}
	skipped := p.text[p.start:at]
	if n := strings.Count(skipped, "\n"); n > 0 {
		p.line += n
		p.start += strings.LastIndexByte(skipped, '\n') + 1
	}
	p.end = len(p.text)
	if i := strings.IndexByte(p.text[at:], '\n'); i >= 0 {
		p.end = at + i
	}
}

// show returns the line of a match, or what of a long line surrounds it, and from
// where on the search goes on.
func (p *place) show(start, end int) (string, int) {
	if p.end-p.start <= clipLine {
		return p.text[p.start:p.end], p.end + 1
	}
	from := runeAt(p.text, max(p.start, start-clipBefore))
	to := runeAt(p.text, min(p.end, from+clipLine))
	shown := p.text[from:to]
	if from > p.start {
		shown = "…" + shown
	}
	if to < p.end {
		shown += "…"
	}
	return shown, max(to, end)
}

// before returns up to n lines before the line. It looks no further back than
// past one very long line.
func (p *place) before(n int) []string {
	var out []string
	for end := p.start - 1; end >= 0 && len(out) < n; {
		low := max(0, end-lookBack)
		i := strings.LastIndexByte(p.text[low:end], '\n')
		if i < 0 && low > 0 {
			out = append(out, "…"+p.text[runeAt(p.text, end-clipContext):end])
			break
		}
		start := low + i + 1
		out = append(out, clipEnd(p.text[start:end]))
		end = start - 1
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// after returns up to n lines after the line.
func (p *place) after(n int) []string {
	var out []string
	for at := p.end + 1; at < len(p.text) && len(out) < n; {
		end := len(p.text)
		if i := strings.IndexByte(p.text[at:], '\n'); i >= 0 {
			end = at + i
		}
		out = append(out, clipEnd(p.text[at:end]))
		at = end + 1
	}
	return out
}

func clipEnd(s string) string {
	if len(s) <= clipContext {
		return s
	}
	return s[:runeAt(s, clipContext)] + "…"
}

// runeAt returns where the character begins that has the byte at.
func runeAt(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
