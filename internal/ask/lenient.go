// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lenient reads what is nearly JSON, as models write it: quotes of every kind or
// none, commas missing or too many, comments, line breaks and quotes inside
// texts, Python's literals. It never makes up an end: a text that is cut off is
// ErrTruncated. (json-repair completes what is cut off, garbles \u escapes, and on
// some inputs calls itself until the process dies.)
type lenient struct {
	s     string
	i     int
	depth int
}

// maxDepth bounds how deep brackets may stand inside each other.
const maxDepth = 32

func readLenient(s string) (any, error) {
	l := &lenient{s: s}
	return l.value()
}

// peek returns the next character that is neither space, comma nor comment.
func (l *lenient) peek() (rune, bool) {
	for l.i < len(l.s) {
		rest := l.s[l.i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			l.skipTo("\n")
		case strings.HasPrefix(rest, "/*"):
			l.skipTo("*/")
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !strings.ContainsRune(" \t\r\n\u00a0\ufeff,，、;", r) {
				return r, true
			}
			l.i += n
		}
	}
	return 0, false
}

func (l *lenient) skipTo(end string) {
	if k := strings.Index(l.s[l.i:], end); k >= 0 {
		l.i += k + len(end)
		return
	}
	l.i = len(l.s)
}

func (l *lenient) value() (any, error) {
	r, ok := l.peek()
	switch {
	case !ok:
		return nil, ErrTruncated
	case r == '{', r == '[':
		if l.depth++; l.depth > maxDepth {
			return nil, ErrMalformed
		}
		defer func() { l.depth-- }()
		l.i++
		if r == '{' {
			return l.object()
		}
		return l.array()
	case closing(r) != 0:
		return l.text(r)
	}
	return l.bare()
}

func (l *lenient) array() (any, error) {
	list := []any{}
	for {
		r, ok := l.peek()
		switch {
		case !ok:
			return nil, ErrTruncated
		case r == ']':
			l.i++
			return list, nil
		case r == '}' || r == ':':
			return nil, ErrMalformed
		}
		v, err := l.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (l *lenient) object() (any, error) {
	o := map[string]any{}
	for {
		r, ok := l.peek()
		switch {
		case !ok:
			return nil, ErrTruncated
		case r == '}':
			l.i++
			return o, nil
		case r == ']' || r == '{' || r == '[':
			return nil, ErrMalformed
		}
		key, err := l.key(r)
		if err != nil {
			return nil, err
		}
		r, ok = l.peek()
		if !ok {
			return nil, ErrTruncated
		}
		if r != ':' && r != '：' {
			return nil, ErrMalformed
		}
		l.i += utf8.RuneLen(r)
		if o[key], err = l.value(); err != nil {
			return nil, err
		}
	}
}

var bareKey = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]*`)

func (l *lenient) key(r rune) (string, error) {
	if closing(r) != 0 {
		return l.text(r)
	}
	k := bareKey.FindString(l.s[l.i:])
	if k == "" {
		return "", ErrMalformed
	}
	l.i += len(k)
	return k, nil
}

var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// bare reads what stands without quotes, up to a comma, a bracket or the line's
// end.
func (l *lenient) bare() (any, error) {
	end := strings.IndexAny(l.s[l.i:], ",，]}\n")
	if end < 0 {
		return nil, ErrTruncated
	}
	word := strings.TrimSpace(l.s[l.i : l.i+end])
	l.i += end
	switch strings.ToLower(word) {
	case "true", "false":
		return strings.EqualFold(word, "true"), nil
	case "null", "none", "nil", "undefined":
		return nil, nil
	case "":
		return nil, ErrMalformed
	}
	if number.MatchString(word) {
		return json.Number(word), nil
	}
	return word, nil
}

// closing returns the quote that closes one, or 0 when r is no quote.
func closing(r rune) rune {
	switch r {
	case '"', '\'', '`':
		return r
	case '“', '”':
		return '”'
	case '‘', '’':
		return '’'
	}
	return 0
}

// text reads a quoted text. A quote inside it is part of the text, unless what
// follows can only stand outside.
func (l *lenient) text(open rune) (string, error) {
	l.i += utf8.RuneLen(open)
	end := closing(open)
	var sb strings.Builder
	for l.i < len(l.s) {
		r, n := utf8.DecodeRuneInString(l.s[l.i:])
		l.i += n
		switch {
		case r == '\\':
			l.escape(&sb)
		case r == end && l.outside():
			return sb.String(), nil
		default:
			sb.WriteRune(r)
		}
	}
	return "", ErrTruncated
}

// afterQuote is what may follow the quote that closes a text: a bracket, a colon,
// or the next entry, with its comma or without.
var afterQuote = regexp.MustCompile(`^\s*([}\]:：]|//|/\*|$|[,，][,，\s]*([{\["'“‘` + "`" + `}\]0-9-]|//|/\*|$|(true|false|null|None)\b|[\p{L}_]\w*\s*[:：])|\s["'“][^"'”]{0,40}["'”]\s*[:：]|\s*\{)`)

func (l *lenient) outside() bool {
	return afterQuote.MatchString(l.s[l.i:min(len(l.s), l.i+200)])
}

// escape writes the character that an escape stands for. One that JSON does not
// know stands for itself, as in a Windows path.
func (l *lenient) escape(sb *strings.Builder) {
	if l.i >= len(l.s) {
		return
	}
	c := l.s[l.i]
	if c == 'u' {
		if r, ok := l.hex(1); ok {
			l.i += 5
			if utf16.IsSurrogate(r) {
				low, paired := rune(0), false
				if strings.HasPrefix(l.s[l.i:], `\u`) {
					low, paired = l.hex(2)
				}
				if r = utf16.DecodeRune(r, low); paired && r != utf8.RuneError {
					l.i += 6
				}
			}
			sb.WriteRune(r)
			return
		}
	}
	if k := strings.IndexByte(`"'\/bfnrt`+"`", c); k >= 0 {
		sb.WriteByte("\"'\\/\b\f\n\r\t`"[k])
		l.i++
		return
	}
	sb.WriteByte('\\')
}

// hex reads the four digits that begin skip bytes further on.
func (l *lenient) hex(skip int) (rune, bool) {
	if l.i+skip+4 > len(l.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(l.s[l.i+skip:l.i+skip+4], 16, 32)
	return rune(n), err == nil
}
