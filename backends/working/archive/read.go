// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// How much a page holds.
const (
	DefaultLines = 200
	DefaultBytes = 6000     // about 1500 tokens of English: less than what compaction takes out again
	MaxBytes     = 64 << 10 // also of a page by lines
)

// maxCounted is how many messages of the log are gone through to count the lines
// of an archive. Then reading ends where the page does.
const maxCounted = 1000

// ReadRequest asks for a page of an archive, by line or by byte.
type ReadRequest struct {
	Ref string // the archive, or one message of it: "log-12-40", "a-…", "a-…#3". Required.

	// Line is the first line of the page, from 1 on, and Lines how many there are at
	// most (default DefaultLines). Lines end with "\n" alone.
	Line, Lines int
	// Byte, if Line is 0, is where the page begins, from 0 on. In the midst of a
	// character it begins with that character. Lines does not count then. With
	// neither Line nor Byte nor Bytes the page begins with line 1.
	Byte int
	// Bytes is how many bytes the page has at most, also if it is one of lines.
	// Defaults to DefaultBytes; no more than MaxBytes, no less than one character.
	Bytes int
}

// Page is a stretch of an archive's text. Pages that follow one another make up
// the whole text without a gap.
type Page struct {
	Ref  string
	Text string // with its line breaks

	FirstLine, LastLine int // the lines, from 1 on, that Text has something of; LastLine is 0 in an empty archive
	// NextLine is where to go on by line. It is 0 if nothing is left, or if Text ends
	// in the midst of a line because that has more than Bytes: go on by NextByte.
	NextLine int
	// Text is the bytes from Byte on and before NextByte.
	Byte, NextByte int
	More           bool // something follows

	// The size of the whole. Both are 0 if it was not counted: of more than 1000
	// messages of the log, no more are read than the page needs.
	TotalLines, TotalBytes int
}

// Read returns a page of the text of an archive. One message that is nothing but
// text has that as its text, byte by byte. Otherwise each message begins with a
// line that says whose it is, followed by its reasoning, text, media and tool
// calls.
//
// It returns ErrNotFound for an archive that this session does not have, and
// ErrInvalid for an id that is none, or a line or byte that is not there; the
// error says what is.
//
// A page of a blob reads the blob whole, so that reading one of 10 MB in pages
// costs some tens of milliseconds each. A page of a stretch of the log goes
// through the stretch from its beginning: name a shorter one to begin later.
func (x *Archive) Read(ctx context.Context, req *ReadRequest) (*Page, error) {
	if req == nil {
		return nil, fmt.Errorf("reading an archive: %w: no request", backends.ErrInvalid)
	}
	r, err := parseRef(req.Ref)
	if err != nil {
		return nil, err
	}
	p, err := newPager(req)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", r, err)
	}
	counted, err := x.fill(ctx, p, r)
	if err != nil {
		return nil, err
	}
	page, err := p.page(counted)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", r, err)
	}
	page.Ref = r.String()
	return page, nil
}

// fill has the pager go through an archive, and reports whether it saw all of it.
func (x *Archive) fill(ctx context.Context, p *pager, r ref) (bool, error) {
	n := 0
	for d, err := range x.documents(ctx, r) {
		if err != nil {
			return false, err
		}
		if n > maxCounted && p.full() {
			return false, nil
		}
		n++
		if r.single(d) {
			p.add(d.alone())
		} else {
			p.add(d.block())
		}
	}
	return true, nil
}

// single reports whether d is all that r names.
func (r ref) single(d *document) bool {
	if r.isLog() {
		return r.item >= 0 || r.from == r.upto
	}
	return r.item >= 0 || d.id == blobPrefix+r.blob
}
