// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// Bounds of one search, and the lengths to which long lines are shown.
const (
	defaultMatches = 50
	maxMatches     = 200
	maxContext     = 10       // lines before and after a match
	maxRefs        = 100      // archives
	maxPattern     = 1000     // bytes
	maxAnswer      = 16 << 10 // bytes of text

	showLine    = 400 // bytes of a line that matches
	showBefore  = 100 // of these, the bytes before the match
	showContext = 200 // bytes of a line of context
)

// GrepRequest asks for the lines that a pattern matches.
type GrepRequest struct {
	// Pattern is a text, or with Regexp a regular expression in RE2 syntax. It is matched
	// line by line, in any case unless CaseSensitive. Required; at most 1000 bytes.
	Pattern       string `json:"pattern" jsonschema:"the text to look for, within one line"`
	Regexp        bool   `json:"regex,omitempty" jsonschema:"pattern is a regular expression in RE2 syntax"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"upper and lower case differ"`
	// Refs are the archives to search, at most 100. The archives within them are searched too.
	// Defaults to the whole log of the session, then all its blobs.
	Refs []string `json:"archives,omitempty" jsonschema:"only these, such as log-12 or log-12-40"`
	// Skip names tools whose calls and results are left out: tools that search and read archives
	// repeat their content and the queries. A message that a ref names by itself is searched all
	// the same. Optional.
	Skip    []string `json:"-"`
	Context int      `json:"context_lines,omitempty" jsonschema:"lines to show before and after each match, at most 10"`
	Limit   int      `json:"limit,omitempty" jsonschema:"the most matches, at most 200; 50 by default"`
}

// GrepResponse is the result of a search, in the order of the archives.
type GrepResponse struct {
	Matches []Match `json:"matches"`
	// More says that matches beyond the limit or 16 KB of text were left out. Name fewer
	// archives or a narrower pattern.
	More     bool `json:"more,omitempty"`
	Searched int  `json:"searched"` // messages that were searched until then
	// TimedOut says that the deadline came before the end of the search: there may be more.
	TimedOut bool `json:"timed_out,omitempty"`
	// Unreadable are archives that are damaged or gone, apart from the named ones.
	Unreadable []string `json:"unreadable,omitempty"`
}

// Match is a line that the pattern matches.
type Match struct {
	Ref    string   `json:"archive"` // the archive: "log-12" or "a-…"
	Line   int      `json:"line"`    // the number of the line in the text of Ref, for [Archive.Read]
	Byte   int      `json:"byte"`    // the offset of the match in the text of Ref
	Text   string   `json:"text"`    // the line, without its end
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	// Truncated says that the line is too long to be shown: Text is an excerpt around the match.
	// Other matches of such a line are matches of their own.
	Truncated bool `json:"truncated,omitempty"`
}

// Grep searches the text of archives in the form that [Archive.Read] shows. A message that is
// both in the log and in a blob is found once. The placeholder of a single message is skipped,
// since that message itself is searched; summaries are searched.
//
// It returns ErrInvalid for a pattern that does not compile, or that matches the empty text. For
// named archives it returns the errors of [Archive.Read]. Its time grows with the text and ends
// with ctx. At a deadline it returns the matches found so far, if anything was searched.
func (x *Archive) Grep(ctx context.Context, req *GrepRequest) (*GrepResponse, error) {
	if req == nil {
		return nil, fmt.Errorf("searching archives: %w: no request", backends.ErrInvalid)
	}
	pattern, err := req.compile()
	if err != nil {
		return nil, fmt.Errorf("searching archives: %w", err)
	}
	s := &search{archive: x, req: *req, pattern: pattern, seen: map[[sha256.Size]byte]bool{}}
	s.req.Limit = min(cmp.Or(max(req.Limit, 0), defaultMatches), maxMatches)
	s.req.Context = max(0, min(req.Context, maxContext))
	if len(req.Refs) == 0 {
		err = s.everything(ctx)
	}
	for _, id := range req.Refs {
		if err == nil {
			err = s.each(ctx, id, true)
		}
	}
	if err == nil || errors.Is(err, errEnough) {
		err = ctx.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && s.out.Searched > 0 {
		s.out.TimedOut, err = true, nil
	}
	if err != nil {
		return nil, fmt.Errorf("searching session %s: %w", x.key, err)
	}
	return &s.out, nil
}

func (r *GrepRequest) compile() (*regexp.Regexp, error) {
	p := strings.ToValidUTF8(r.Pattern, "\uFFFD")
	if p == "" || len(p) > maxPattern || len(r.Refs) > maxRefs {
		return nil, fmt.Errorf("%w: a pattern of %d bytes in %d archives: 1 to %d bytes, at most %d archives; name none to search all",
			backends.ErrInvalid, len(p), len(r.Refs), maxPattern, maxRefs)
	}
	if !r.Regexp {
		p = regexp.QuoteMeta(p)
	}
	if !r.CaseSensitive {
		p = "(?i)" + p
	}
	re, err := regexp.Compile(p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the regular expression (RE2 syntax) does not compile: %w", backends.ErrInvalid, err)
	case re.MatchString(""):
		return nil, fmt.Errorf("%w: the regular expression matches the empty text, so every line: write one that matches at least one character", backends.ErrInvalid)
	}
	return re, nil
}

// errEnough ends a search whose answer is full.
var errEnough = errors.New("enough")

// search is one call of Grep.
type search struct {
	archive *Archive
	req     GrepRequest
	pattern *regexp.Regexp

	seen map[[sha256.Size]byte]bool // messages that were found
	size int                        // bytes of text
	out  GrepResponse
}

// tolerate notes an unreadable archive that the request leaves unnamed, so that the search goes
// on with the others.
func (s *search) tolerate(id string, err error) error {
	if errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrInvalid) || errors.Is(err, errDamaged) {
		s.out.Unreadable = append(s.out.Unreadable, id)
		return nil
	}
	return err
}

// everything searches the log of the session and its blobs.
func (s *search) everything(ctx context.Context) error {
	x := s.archive
	if err := s.each(ctx, ref{from: 1, upto: wholeLog}.String(), false); err != nil && !errors.Is(err, backends.ErrNotFound) {
		return err
	}
	return store.Each(func(page store.Page) (*store.BlobPage, error) {
		found, err := x.cfg.Sessions.ListBlobs(ctx, x.key.Partition, x.key.ID, blobFolder, page)
		if err != nil {
			err = fmt.Errorf("listing archives: %w", err)
		}
		return found, err
	}, func(b store.BlobInfo) error {
		id := blobPrefix + strings.TrimPrefix(b.Name, blobFolder)
		if !legal.MatchString(id) {
			return nil // of another program
		}
		return s.tolerate(id, s.each(ctx, id, false))
	})
}

// each searches the messages of an archive. If the request names it, each also searches the
// archives that its placeholders stand for.
func (s *search) each(ctx context.Context, id string, named bool) error {
	line, at := 1, 0 // where the message begins in a blob
	return s.archive.documents(ctx, id, func(d *document) error {
		single := named && d.alone
		d.alone = d.alone || d.id != id // entries of the log are read one by one
		said := d.text()
		if single || !s.repeats(d) {
			if err := s.document(ctx, d, said, Match{Ref: d.id, Line: line, Byte: at}, single); err != nil {
				return err
			}
		}
		if d.id == id {
			line, at = line+strings.Count(said, "\n"), at+len(said)
		}
		if named && d.Ref != "" {
			return s.tolerate(d.Ref, s.each(ctx, d.Ref, true))
		}
		return nil
	})
}

// document searches one message; m says where its text begins. single says that the request
// names it.
func (s *search) document(ctx context.Context, d *document, said string, m Match, single bool) error {
	s.out.Searched++
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	known := false
	for i, line := range lines {
		if !single && s.calls(d, line) {
			m.Byte += len(line) + 1
			continue
		}
		for shown := 0; shown < len(line) && ctx.Err() == nil; {
			at := s.pattern.FindStringIndex(line[shown:])
			if at == nil || at[0] == at[1] {
				break
			}
			if !known && !s.fresh(d) {
				return nil
			}
			known = true
			start := shown + at[0]
			found := Match{Ref: m.Ref, Line: m.Line + i, Byte: m.Byte + start, Text: line, Truncated: len(line) > showLine}
			found.Before = shortened(lines[max(0, i-s.req.Context):i])
			found.After = shortened(lines[i+1 : min(len(lines), i+1+s.req.Context)])
			if shown = len(line) + 1; found.Truncated {
				found.Text, shown = around(line, start)
			}
			if !s.take(found) {
				return errEnough
			}
		}
		m.Byte += len(line) + 1
	}
	return ctx.Err()
}

// repeats reports whether d only repeats messages that are searched themselves.
func (s *search) repeats(d *document) bool {
	return d.Role == schema.Tool && slices.Contains(s.req.Skip, d.ToolName) || d.Ref != "" && d.Kind != einox.Summary
}

// calls reports whether a line is a call of a skipped tool.
func (s *search) calls(d *document, line string) bool {
	return len(d.ToolCalls) > 0 && slices.ContainsFunc(s.req.Skip, func(tool string) bool {
		return strings.HasPrefix(line, callPrefix+tool+"(")
	})
}

// fresh reports whether d is the first found message with its content.
func (s *search) fresh(d *document) bool {
	same := document{alone: true, Marked: einox.Marked{Message: d.Message}}
	id := sha256.Sum256([]byte(string(d.Role) + d.ToolCallID + "\x00" + same.text()))
	known := s.seen[id]
	s.seen[id] = true
	return !known
}

// take keeps a match if there is room.
func (s *search) take(m Match) bool {
	s.size += len(m.Text) + len(m.Ref) + len(strings.Join(m.Before, "")) + len(strings.Join(m.After, ""))
	if len(s.out.Matches) == s.req.Limit || s.size > maxAnswer {
		s.out.More = true
		return false
	}
	s.out.Matches = append(s.out.Matches, m)
	return true
}

// around returns an excerpt of a long line around a match, and the offset at which the excerpt
// ends.
func around(line string, start int) (string, int) {
	from := text.RuneStart(line, max(0, start-showBefore))
	to := text.RuneStart(line, min(len(line), from+showLine))
	shown := line[from:to]
	if from > 0 {
		shown = text.Ellipsis + shown
	}
	if to < len(line) {
		shown += text.Ellipsis
	}
	return shown, to
}

func shortened(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, text.TruncateBytes(line, showContext))
	}
	return out
}
