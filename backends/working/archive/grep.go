// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// What one search may bring.
const (
	DefaultMatches = 50
	MaxMatches     = 200
	MaxContext     = 10 // lines before and after a match
	MaxRefs        = 100

	maxAnswer = 16 << 10 // bytes of text
)

// GrepRequest asks for the lines that a pattern matches.
type GrepRequest struct {
	// Pattern is a text, or with Regexp a regular expression in RE2 syntax. It is
	// matched line by line, in any case unless CaseSensitive. Required; at most
	// MaxPattern bytes.
	Pattern       string
	Regexp        bool
	CaseSensitive bool
	// Refs are the archives to search, at most MaxRefs, and what is archived within
	// them. Defaults to the whole log of the session, then all its blobs.
	Refs []string
	// Skip are names of tools whose calls and results are left out, but for a message
	// that a ref names by itself: tools that search and read archives repeat what is
	// in them, and what they are asked for. Optional.
	Skip    []string
	Context int // lines to show before and after each match, at most MaxContext
	Limit   int // Defaults to DefaultMatches; at most MaxMatches.
}

// GrepResponse is what a search found, in the order of the archives.
type GrepResponse struct {
	Matches []Match
	// More says that there is more than the limit or 16 KB of text. Name fewer
	// archives or a narrower pattern.
	More     bool
	Searched int // messages that were searched, before More was known
	// Unreadable are archives that were not named, and are damaged or gone.
	Unreadable []string
}

// Match is a line that the pattern matches.
type Match struct {
	Ref    string // the message: "log-12", "a-…" or "a-…#3"
	Line   int    // where [Archive.Read] shows it in the text of Ref
	Byte   int    // where the match begins in the text of Ref
	Text   string // the line, without its end
	Before []string
	After  []string
	// Clipped says that the line is too long to be shown: Text is what surrounds the
	// match. Other matches of such a line are matches of their own.
	Clipped bool
}

// Grep searches single messages, each as [Archive.Read] shows it by itself. A
// message that is in the log and in a blob is found once. What stands in for one
// message is not searched, since that message is; summaries are.
//
// It returns ErrInvalid for a pattern that does not compile, or that matches the
// empty text, and the errors of [Archive.Read] for archives that are named. The
// time that it takes grows with the text, at worst times the length of the pattern,
// and ends with ctx.
func (x *Archive) Grep(ctx context.Context, req *GrepRequest) (*GrepResponse, error) {
	if req == nil {
		return nil, fmt.Errorf("searching archives: %w: no request", backends.ErrInvalid)
	}
	find, err := compile(req)
	if err != nil {
		return nil, fmt.Errorf("searching archives: %w", err)
	}
	if len(req.Refs) > MaxRefs {
		return nil, fmt.Errorf("searching archives: %w: %d of them, at most %d; name none to search all", backends.ErrInvalid, len(req.Refs), MaxRefs)
	}
	s := newSearch(find, req)
	if len(req.Refs) == 0 {
		err = x.grepAll(ctx, s)
	}
	for _, id := range req.Refs {
		if err == nil {
			err = x.grepOne(ctx, s, id, 0)
		}
	}
	if err == nil || errors.Is(err, errEnough) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("searching %s: %w", x, err)
	}
	return &s.out, nil
}

// grepOne searches an archive, and those that its messages stand in for.
func (x *Archive) grepOne(ctx context.Context, s *search, id string, depth int) error {
	r, err := parseRef(id)
	if err != nil || s.begun[id] {
		return err
	}
	s.begun[id] = true
	for d, err := range x.documents(ctx, r) {
		if err == nil {
			err = s.document(ctx, d, r.single(d))
		}
		if err != nil {
			return err
		}
		if inner := einox.RefOf(d.Message); inner != "" && depth < maxDepth {
			err := x.grepOne(ctx, s, inner, depth+1)
			if errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrInvalid) {
				s.out.Unreadable, err = append(s.out.Unreadable, inner), nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// grepAll searches the log of the session and its blobs.
func (x *Archive) grepAll(ctx context.Context, s *search) error {
	for d, err := range x.logged(ctx, 1, wholeLog) {
		if err == nil {
			err = s.document(ctx, d, false)
		}
		if err != nil {
			return err
		}
	}
	at := store.Page{Limit: 100}
	for {
		page, err := x.cfg.Sessions.ListBlobs(ctx, x.partition, x.session, blobFolder, at)
		if err != nil {
			return fmt.Errorf("listing archives: %w", err)
		}
		for _, b := range page.Blobs {
			if err := x.grepBlob(ctx, s, b.Name); err != nil {
				return err
			}
		}
		if at.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
}

// grepBlob searches a blob. One that is gone, or damaged, does not keep the others
// from being searched.
func (x *Archive) grepBlob(ctx context.Context, s *search, name string) error {
	r, ok := readRef(blobPrefix + name[len(blobFolder):])
	if !ok || r.item >= 0 {
		return nil
	}
	for d, err := range x.documents(ctx, r) {
		switch {
		case errors.Is(err, backends.ErrNotFound):
			return nil
		case errors.Is(err, backends.ErrInvalid):
			s.out.Unreadable = append(s.out.Unreadable, r.String())
			return nil
		case err == nil:
			err = s.document(ctx, d, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
