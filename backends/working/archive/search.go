// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// errEnough ends a search that found all it may.
var errEnough = errors.New("enough")

// search is one call of Grep.
type search struct {
	find    pattern
	context int
	limit   int
	skip    map[string]bool // tools

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
	s.skip = make(map[string]bool, len(req.Skip))
	for _, name := range req.Skip {
		s.skip[name] = true
	}
	s.begun, s.seen = make(map[string]bool), make(map[[sha256.Size]byte]bool)
	return s
}

// document searches one message, which may have been named by itself.
func (s *search) document(ctx context.Context, d *document, named bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !named && s.repeats(d) {
		return nil
	}
	s.out.Searched++
	text := d.alone()
	next, at, found := s.find(ctx, text), place{text: text, line: 1}, false
	for from := 0; from <= len(text); {
		start, end, ok := next(from)
		if !ok {
			return ctx.Err()
		}
		if !found {
			if found = true; !s.fresh(d) {
				return nil
			}
		}
		at.move(start)
		if !named && s.asks(d, text[at.start:at.end]) {
			from = at.end + 1
			continue
		}
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

// repeats reports whether d says only what others say that are searched.
func (s *search) repeats(d *document) bool {
	return d.Role == schema.Tool && s.skip[d.ToolName] || einox.RefOf(d.Message) != "" && !einox.IsSummary(d.Message)
}

// asks reports whether a line is a call of a tool that is left out.
func (s *search) asks(d *document, line string) bool {
	for i := range d.ToolCalls {
		if c := &d.ToolCalls[i]; s.skip[c.Function.Name] && strings.HasPrefix(line, callLine(c)) {
			return true
		}
	}
	return false
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
