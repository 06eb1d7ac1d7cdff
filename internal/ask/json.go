// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

// What makes an answer unusable. The texts are fit to be shown to the model.
var (
	ErrEmpty     = errors.New("the answer was empty")
	ErrTruncated = errors.New("the answer was cut off before its end; keep it shorter")
	ErrNoJSON    = errors.New("the answer holds no JSON")
	ErrTooLarge  = errors.New("the answer is too large")
	ErrMalformed = errors.New("the JSON is malformed")
)

// maxAnswer is the longest answer that is read as JSON, in bytes.
const maxAnswer = 1 << 19

var (
	thought      = regexp.MustCompile(`(?is)<(think|thinking|reasoning)>.*?</(think|thinking|reasoning)>`)
	thoughtClose = regexp.MustCompile(`(?is)^.*</(think|thinking|reasoning)>`)
	fence        = regexp.MustCompile("(?s)^```[^\n]*\n(.*?)\\s*```$")
	// nul is an escape of the character that no store takes.
	nul = regexp.MustCompile(`((?:^|[^\\])(?:\\\\)*)(?:\\u0000)+`)
)

// cutOff reports whether the model says that it had to stop before the end.
func cutOff(m *schema.Message) bool {
	if m.ResponseMeta == nil {
		return false
	}
	switch m.ResponseMeta.FinishReason {
	case "length", "max_tokens", "MAX_TOKENS":
		return true
	}
	return false
}

// unwrap takes away what a model thought before it answered, and the code fence around the
// whole of an answer.
func unwrap(s string) string {
	s = strings.TrimSpace(thoughtClose.ReplaceAllString(thought.ReplaceAllString(s, ""), ""))
	return strings.TrimSpace(fence.ReplaceAllString(s, "$1"))
}

// JSON returns the first JSON object or list in an answer, as encoding/json decodes it into
// an any, repaired if need be. An answer that ends before its JSON does is ErrTruncated:
// what a repair would make up of it looks whole and is not.
func JSON(answer string) (any, error) {
	if len(answer) > maxAnswer {
		return nil, ErrTooLarge
	}
	s := strings.TrimSpace(answer)
	if !json.Valid([]byte(s)) {
		s = unwrap(strings.ToValidUTF8(s, "\uFFFD"))
	}
	if s == "" {
		return nil, ErrEmpty
	}
	start := strings.IndexAny(s, "{[")
	if start < 0 {
		return nil, ErrNoJSON
	}
	s = nul.ReplaceAllString(s[start:], "${1}")
	v, err := decode(s)
	if errors.Is(err, ErrMalformed) {
		return decode(repair(s))
	}
	return v, err
}

// decode decodes the value with which s begins.
func decode(s string) (v any, err error) {
	switch err = json.NewDecoder(strings.NewReader(s)).Decode(&v); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ErrTruncated
	case err != nil:
		return nil, ErrMalformed
	}
	return v, nil
}

var (
	// gap is what may stand between two tokens, comments among it. Commas are written anew.
	gap  = regexp.MustCompile(`(?s)^(?:[\s\x{a0}\x{feff},，、;]|//[^\n]*|/\*.*?\*/)+`)
	bare = regexp.MustCompile(`^[^\s,，:：{}\[\]"]+`) // what stands without quotes
	// afterQuote is what may follow the quote that closes a text: a bracket, a colon,
	// or the next entry, with its comma or without.
	afterQuote = regexp.MustCompile(`^\s*([}\]:：]|//|/\*|$|[,，][,，\s]*([{\["'“}\]0-9-]|//|/\*|$|(true|false|null|None)\b|[\p{L}_]\w*\s*[:：])|\s["'“][^"'”]{0,40}["'”]\s*[:：]|\s*\{)`)
	escape     = regexp.MustCompile(`^(?:["'\\/bfnrt]|u[0-9a-fA-F]{4})`)
)

// repair rewrites as JSON what models write instead: quotes of other kinds, keys without
// any, commas missing or too many, comments, line breaks and quotes inside texts, Python's
// literals. It makes up no end: what is cut off stays cut off. (json-repair completes it,
// garbles \u escapes, and on some inputs calls itself until the process dies.)
func repair(s string) string {
	var out strings.Builder
	depth := 0
	ended := false // the token before ends a value: another value needs a comma
	value := func(token string, ends bool) {
		if ended {
			out.WriteByte(',')
		}
		out.WriteString(token)
		ended = ends
	}
	for s != "" {
		s = s[len(gap.FindString(s)):]
		r, n := utf8.DecodeRuneInString(s)
		rest := s[n:]
		switch {
		case r == '{', r == '[':
			value(string(r), false)
			depth++
		case r == '}', r == ']':
			out.WriteRune(r)
			ended = true
			if depth--; depth == 0 {
				return out.String()
			}
		case r == ':', r == '：':
			out.WriteByte(':')
			ended = false
		case closing(r) != 0:
			var text string
			text, rest = quoted(s)
			value(text, true)
		default:
			if word := bare.FindString(s); word != "" {
				rest = s[len(word):]
				value(literal(word, strings.HasPrefix(strings.TrimLeft(rest, " "), ":")), true)
			}
		}
		s = rest
	}
	return out.String()
}

// literal returns a word without quotes as JSON writes it: as a text if it is a key, true for
// Python's True. Of any other word JSON makes an error.
func literal(word string, key bool) string {
	lower := strings.ToLower(word)
	switch {
	case key:
		return `"` + word + `"`
	case lower == "none", lower == "nil", lower == "undefined":
		return "null"
	}
	return lower
}

// closing returns the quote that closes one, or 0 when r is no quote.
func closing(r rune) rune {
	switch r {
	case '"', '\'':
		return r
	case '“', '”':
		return '”'
	}
	return 0
}

// quoted returns the text at the start of s as JSON, and what follows it. A quote inside it
// is part of the text, unless what follows can only stand outside; an escape that JSON does
// not know stands for itself, as in a Windows path.
func quoted(s string) (text, rest string) {
	open, i := utf8.DecodeRuneInString(s)
	var out strings.Builder
	out.WriteByte('"')
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\\':
			e := escape.FindString(s[i:])
			i += len(e)
			switch e {
			case "":
				out.WriteString(`\\`)
			case "'":
				out.WriteString(e)
			default:
				out.WriteString(`\` + e)
			}
		case r == closing(open) && afterQuote.MatchString(s[i:min(len(s), i+200)]):
			out.WriteByte('"')
			return out.String(), s[i:]
		case r == '"':
			out.WriteString(`\"`)
		case r < ' ':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String(), ""
}
