// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// pager cuts one page out of a text that it is given in pieces. All pieces but
// the last end with a line break.
type pager struct {
	line, lines int // by line, if line is not 0
	at, most    int // by byte; the most bytes in any case

	size, breaks int // of what was seen
	ended        bool

	begun        bool
	start, first int // where the page begins: byte and line
	buf          []byte
	bufBreaks    int
}

func newPager(req *ReadRequest) (*pager, error) {
	if req.Line < 0 || req.Lines < 0 || req.Byte < 0 || req.Bytes < 0 {
		return nil, fmt.Errorf("%w: lines count from 1, bytes from 0", backends.ErrInvalid)
	}
	if req.Line > 0 && req.Byte > 0 {
		return nil, fmt.Errorf("%w: begin at line %d or at byte %d, not at both", backends.ErrInvalid, req.Line, req.Byte)
	}
	p := &pager{line: req.Line, lines: req.Lines, at: req.Byte, most: min(req.Bytes, MaxBytes)}
	if p.most == 0 {
		p.most = DefaultBytes
	}
	if p.line == 0 && req.Byte == 0 && req.Bytes == 0 {
		p.line = 1
	}
	if p.lines == 0 {
		p.lines = DefaultLines
	}
	return p, nil
}

// full reports whether more text would not change the page.
func (p *pager) full() bool {
	return p.begun && (len(p.buf) >= p.most+utf8.UTFMax || p.line > 0 && p.bufBreaks >= p.lines)
}

// add takes the next piece.
func (p *pager) add(s string) {
	if s == "" {
		return
	}
	from := 0
	if !p.begun {
		if from = p.find(s); from >= 0 {
			p.begun, p.start, p.first = true, p.size+from, 1+p.breaks+strings.Count(s[:from], "\n")
		}
	}
	if p.begun && !p.full() {
		took := s[from:]
		took = took[:min(len(took), p.most+utf8.UTFMax-len(p.buf))]
		p.buf = append(p.buf, took...)
		p.bufBreaks += strings.Count(took, "\n")
	}
	p.size += len(s)
	p.breaks += strings.Count(s, "\n")
	p.ended = s[len(s)-1] == '\n'
}

// find returns where in the next piece the page begins, or -1.
func (p *pager) find(s string) int {
	if p.line == 0 {
		at := p.at - p.size
		if at >= len(s) {
			return -1
		}
		for at > 0 && !utf8.RuneStart(s[at]) {
			at--
		}
		return at
	}
	at := 0
	for range p.line - 1 - p.breaks {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	if at == len(s) {
		return -1
	}
	return at
}

// page returns the page. counted says that the text was seen to its end.
func (p *pager) page(counted bool) (*Page, error) {
	lines := p.breaks
	if p.size > 0 && !p.ended {
		lines++
	}
	if !p.begun && (p.size > 0 || p.line > 1 || p.at > 0) {
		return nil, p.nothingThere(lines)
	}
	text := p.cut()
	out := &Page{Text: text, FirstLine: max(p.first, 1), Byte: p.start, NextByte: p.start + len(text)}
	out.LastLine = p.first + strings.Count(text, "\n")
	whole := strings.HasSuffix(text, "\n")
	if whole {
		out.LastLine--
	}
	if out.More = !counted || out.NextByte < p.size; out.More && whole {
		out.NextLine = out.LastLine + 1
	}
	if counted {
		out.TotalLines, out.TotalBytes = lines, p.size
	}
	return out, nil
}

// cut takes from the end of the page what is too much.
func (p *pager) cut() string {
	text := string(p.buf)
	if p.line > 0 {
		text = firstLines(text, p.lines)
	}
	if len(text) <= p.most {
		return text
	}
	if p.line > 0 {
		if i := strings.LastIndexByte(text[:p.most], '\n'); i >= 0 {
			return text[:i+1]
		}
	}
	end := p.most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 { // not even one character fits
		_, end = utf8.DecodeRuneInString(text)
	}
	return text[:end]
}

func firstLines(s string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
	}
	return s[:at]
}

func (p *pager) nothingThere(lines int) error {
	what := fmt.Sprintf("line %d", p.line)
	if p.line == 0 {
		what = fmt.Sprintf("byte %d", p.at)
	}
	if p.size == 0 {
		return fmt.Errorf("%w: there is no %s: it is empty", backends.ErrInvalid, what)
	}
	return fmt.Errorf("%w: there is no %s: it has the lines 1 to %d and the bytes 0 to %d", backends.ErrInvalid, what, lines, p.size-1)
}
