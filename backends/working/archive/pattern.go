// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// MaxPattern is the longest pattern, in bytes.
const MaxPattern = 1000

// maxProgram is the most instructions of a regular expression. Time grows with
// their number times that of the characters.
const maxProgram = 2000

// pattern finds what it stands for in a text, line by line. The function that it
// returns for a text is for one goroutine, and for rising positions: it returns
// where the next match at or after from begins and ends, or ok false. A match
// lies within one line, and is not empty.
type pattern func(ctx context.Context, text string) func(from int) (start, end int, ok bool)

// compile returns the pattern of a request, or ErrInvalid with the reason.
func compile(req *GrepRequest) (pattern, error) {
	s := strings.ToValidUTF8(req.Pattern, "\uFFFD")
	switch {
	case s == "":
		return nil, fmt.Errorf("%w: no pattern", backends.ErrInvalid)
	case len(s) > MaxPattern:
		return nil, fmt.Errorf("%w: the pattern has %d bytes, at most %d", backends.ErrInvalid, len(s), MaxPattern)
	case req.Regexp:
		return compileRegexp(s, req.CaseSensitive)
	case strings.Contains(s, "\n"):
		return nil, fmt.Errorf("%w: the pattern has a line break, and each line is searched by itself: search for a part of one line", backends.ErrInvalid)
	case req.CaseSensitive:
		return exactly(s), nil
	}
	return folded(s), nil
}

func exactly(s string) pattern {
	return func(_ context.Context, text string) func(int) (int, int, bool) {
		return func(from int) (int, int, bool) {
			i := strings.Index(text[from:], s)
			return from + i, from + i + len(s), i >= 0
		}
	}
}

func compileRegexp(s string, caseSensitive bool) (pattern, error) {
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: the regular expression (RE2 syntax) does not compile: %w", backends.ErrInvalid, err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("%w: the regular expression is too large: repeat less, or search for a part of it", backends.ErrInvalid)
	}
	if !caseSensitive {
		s = "(?i)" + s
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, fmt.Errorf("%w: the regular expression (RE2 syntax) does not compile: %w", backends.ErrInvalid, err)
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("%w: the regular expression matches the empty text, so every line: write one that matches at least one character", backends.ErrInvalid)
	}
	r := &expression{re: re, anchored: has(parsed, syntax.OpBeginLine, syntax.OpBeginText), bounded: has(parsed, syntax.OpWordBoundary, syntax.OpNoWordBoundary)}
	return r.pattern, nil
}

func has(re *syntax.Regexp, ops ...syntax.Op) bool {
	for _, op := range ops {
		if re.Op == op {
			return true
		}
	}
	for _, sub := range re.Sub {
		if has(sub, ops...) {
			return true
		}
	}
	return false
}

// expression is a regular expression.
type expression struct {
	re       *regexp.Regexp
	anchored bool // looks for the beginning of a line
	bounded  bool // looks at the character before the match
}

func (e *expression) pattern(ctx context.Context, text string) func(int) (int, int, bool) {
	return func(from int) (int, int, bool) {
		for lines := 0; from < len(text); lines++ {
			if lines%256 == 0 && ctx.Err() != nil {
				break
			}
			end := len(text)
			if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
				end = from + i
			}
			if start, stop, ok := e.inLine(ctx, text, from, end); ok {
				return start, stop, true
			}
			from = end + 1
		}
		return 0, 0, false
	}
}

// inLine looks at text[from:end], a line or the rest of one. Of a rest it would
// take the beginning for that of the line, and of a word: there it does not trust
// a match that may be one for that reason alone.
func (e *expression) inLine(ctx context.Context, text string, from, end int) (int, int, bool) {
	rest := from > 0 && text[from-1] != '\n'
	if rest && e.anchored {
		return 0, 0, false
	}
	for range 2 {
		start, stop := e.find(ctx, text[from:end])
		if start == stop {
			return 0, 0, false
		}
		if start > 0 || !rest || !e.bounded {
			return from + start, from + stop, true
		}
		_, size := utf8.DecodeRuneInString(text[from:end])
		from += size
	}
	return 0, 0, false
}

// longLine is the length in bytes above which a search for a regular expression
// can be cancelled within a line.
const longLine = 64 << 10

// find returns the first match in s; an empty one, or none, has start == stop.
func (e *expression) find(ctx context.Context, s string) (start, stop int) {
	var at []int
	if len(s) <= longLine {
		at = e.re.FindStringIndex(s)
	} else {
		at = e.re.FindReaderIndex(&runes{ctx: ctx, Reader: strings.NewReader(s)})
	}
	if at == nil || ctx.Err() != nil {
		return 0, 0
	}
	return at[0], at[1]
}
