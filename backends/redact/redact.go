// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact finds secrets and personal data in texts by their form. Each gives way to a
// placeholder that names its kind, such as "[redacted:password]".
//
// [Text] finds keys, tokens and passwords. It is the default Redact of every configuration
// that stores a person's words. [Shared] also finds card and account numbers, e-mail
// addresses, phone numbers and national ids. It is the default for data that others read.
// [None] switches redaction off.
//
// Such a table is always incomplete: keep a secret away from models and tools if that is
// possible. All functions are pure, and safe for concurrent use.
package redact

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// fieldMark replaces the value of a field that is named like a secret. A secret that was found by
// its form gets a mark of its kind: "[redacted:key]".
const fieldMark = "[redacted]"

// mark is the form of all marks.
var mark = regexp.MustCompile(`^\[redacted(?::[a-z]+)?\]$`)

// IsMark reports whether a text is exactly a placeholder of this package.
func IsMark(s string) bool { return mark.MatchString(s) }

// None returns s as it is: a Redact that keeps everything.
func None(s string) string { return s }

// maxSecret is the most bytes of a secret that are searched for its end.
const maxSecret = 8 << 10

// beforeNeedle is how much of the text in front of a needle a check sees, in bytes.
const beforeNeedle = 32

// Text returns s without secrets. A text that has none comes back unchanged.
func Text(s string) string { return without(s, secrets(s)) }

// Shared returns s as others may read it: without secrets and without personal data.
func Shared(s string) string { return without(s, personalData(secrets(s), s)) }

// secrets returns the places of secrets.
func secrets(s string) (cuts []span) {
	lower := lowered(s)
	for i := range forms {
		for _, needle := range forms[i].needles {
			cuts = forms[i].find(cuts, s, lower, needle)
		}
	}
	return cuts
}

// Value returns a copy of a JSON value, as encoding/json decodes it, without secrets. Each
// text, json.Number and key goes through text. The values of fields that are named like
// secrets become "[redacted]", whatever they hold.
func Value(v any, text func(string) string) any {
	switch x := v.(type) {
	case string:
		return text(x)
	case json.Number:
		if number := text(x.String()); number != x.String() {
			return number
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Value(e, text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			if isSecret(k, e) {
				out[text(k)] = fieldMark
				continue
			}
			out[text(k)] = Value(e, text)
		}
		return out
	}
	return v
}

// isSecret reports whether a field is named like a secret and holds something.
func isSecret(name string, v any) bool {
	switch v {
	case nil, "", true, false:
		return false
	}
	return secretName.MatchString(name) && !pageName.MatchString(name)
}

// span is a stretch of a text, in bytes, with its kind.
type span struct {
	from, to int
	kind     string
}

// find adds the secrets of one form behind one needle to cuts.
func (f *form) find(cuts []span, s, lower, needle string) []span {
	for i := 0; ; {
		at := strings.Index(lower[i:], needle)
		if at < 0 {
			return cuts
		}
		at += i
		i = at + len(needle)
		m := f.rest.FindStringSubmatchIndex(s[i:min(len(s), i+maxSecret)])
		if m == nil {
			continue
		}
		cut := secretOf(m, at, i)
		secret := s[cut.from:cut.to]
		if secret == "" || IsMark(secret) || IsMark("["+secret+"]") || f.check != nil && !f.check(s[max(0, at-beforeNeedle):at], secret) {
			continue
		}
		cut.kind = cmp.Or(f.kind, kindOf(needle))
		cuts = append(cuts, cut) // a name may stand inside it, too: the search goes on behind the needle
	}
}

// secretOf returns the place of the secret in a match: the group that took part in it, or
// else needle and match together.
func secretOf(match []int, needle, rest int) span {
	for g := 2; g < len(match); g += 2 {
		if match[g] >= 0 {
			return span{from: rest + match[g], to: rest + match[g+1]}
		}
	}
	return span{from: needle, to: rest + match[1]}
}

// without returns the text with marks for the spans. Overlapping spans become one, of the
// kind of the first.
func without(s string, cuts []span) string {
	if len(cuts) == 0 {
		return s
	}
	slices.SortFunc(cuts, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var b strings.Builder
	done := 0
	for _, c := range cuts {
		if c.from >= done {
			b.WriteString(s[done:c.from] + "[redacted:" + c.kind + "]")
		}
		done = max(done, c.to)
	}
	b.WriteString(s[done:])
	return b.String()
}

// lowered returns s with its ASCII letters in lower case: as many bytes as s.
func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
