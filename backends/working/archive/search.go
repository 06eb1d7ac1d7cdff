// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
)

// errEnough ends a search that found all it may.
var errEnough = errors.New("enough")

// search is one call of Grep.
type search struct {
	find    pattern
	context int
	limit   int

	begun map[string]bool            // archives by id
	seen  map[[sha256.Size]byte]bool // messages that were found
	size  int                        // bytes of text
	out   GrepResponse
}

func newSearch(find pattern, req *GrepRequest) *search {
	s := &search{find: find, context: max(0, min(req.Context, MaxContext)), limit: min(req.Limit, MaxMatches)}
	if s.limit <= 0 {
		s.limit = DefaultMatches
	}
	s.begun, s.seen = make(map[string]bool), make(map[[sha256.Size]byte]bool)
	return s
}

// document searches one message.
func (s *search) document(ctx context.Context, d *document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.out.Searched++
	text := d.alone()
	next, at := s.find(ctx, text), place{text: text, line: 1}
	for from := 0; from <= len(text); {
		start, end, ok := next(from)
		if !ok {
			return ctx.Err()
		}
		if from == 0 && !s.fresh(d) {
			return nil
		}
		at.move(start)
		m := Match{Ref: d.id, Line: at.line, Byte: start}
		m.Text, from = at.show(start, end)
		m.Clipped = from <= at.end
		if s.context > 0 {
			m.Before, m.After = at.before(s.context), at.after(s.context)
		}
		if !s.take(m) {
			return errEnough
		}
	}
	return nil
}

// fresh reports whether no message that says the same was found before.
func (s *search) fresh(d *document) bool {
	id := identity(d.Message)
	known := s.seen[id]
	s.seen[id] = true
	return !known
}

// take keeps a match if there is room.
func (s *search) take(m Match) bool {
	size := len(m.Text) + len(m.Ref)
	for _, line := range append(m.Before[:len(m.Before):len(m.Before)], m.After...) {
		size += len(line)
	}
	if len(s.out.Matches) == s.limit || s.size+size > maxAnswer {
		s.out.More = true
		return false
	}
	s.size += size
	s.out.Matches = append(s.out.Matches, m)
	return true
}

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
