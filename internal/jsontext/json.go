// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsontext reads JSON as models write it: in fences, with thoughts before it, nearly
// well-formed, and as tool calls that are printed into a text.
package jsontext

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonrepair"
)

// The reasons why an answer is unusable. The model may be shown the texts.
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
	// nul is an escape of the character that stores refuse.
	nul = regexp.MustCompile(`((?:^|[^\\])(?:\\\\)*)(?:\\u0000)+`)
)

// Unwrap removes a model's thoughts before its answer, and the code fence around a whole
// answer.
func Unwrap(s string) string {
	s = strings.TrimSpace(thoughtClose.ReplaceAllString(thought.ReplaceAllString(s, ""), ""))
	s = strings.TrimPrefix(s, "[TOOL_CALLS]") // Mistral's mark of a call
	return strings.TrimSpace(fence.ReplaceAllString(s, "$1"))
}

// Parse returns the first JSON object or list in an answer, as encoding/json decodes it into
// an any, repaired if need be. An answer that ends before its JSON does is ErrTruncated: a
// repair would make it look whole.
func Parse(answer string) (any, error) {
	if len(answer) > maxAnswer {
		return nil, ErrTooLarge
	}
	s := strings.TrimSpace(answer)
	if !json.Valid([]byte(s)) {
		s = Unwrap(strings.ToValidUTF8(s, "\uFFFD"))
	}
	if s == "" {
		return nil, ErrEmpty
	}
	if strings.Contains(s, "｛") {
		s = brackets.Replace(s)
	}
	start := strings.IndexAny(s, "{[")
	if start < 0 {
		return nil, ErrNoJSON
	}
	s = nul.ReplaceAllString(s[start:], "${1}")
	v, err := decode(s)
	if errors.Is(err, ErrMalformed) {
		return repair(s)
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

// maxRepaired bounds repairs, in bytes: unclosed brackets take quadratic time.
const maxRepaired = 1 << 15

// words is a list of unquoted words: a remark instead of an answer.
var words = regexp.MustCompile(`^\[\s*(?:\p{Han}|[\p{L}_]+\s+[\p{L}_]|:)`)

// apostrophe is one within a word, where it ends no text; held takes its place during a
// repair.
var apostrophe = regexp.MustCompile(`(\p{L})'(\p{L})`)

const held = "\uE000" // for private use, and absent from texts

// fullWidth are the signs between two tokens that Chinese models write.
var fullWidth = regexp.MustCompile(`(?:["'”}\]\d]|true|false|null)\s*[：，、]\s*(?:["'“{\[\d-]|true|false|null)`)

var (
	signs    = strings.NewReplacer("：", ":", "，", ",", "、", ",")
	brackets = strings.NewReplacer("｛", "{", "｝", "}", "［", "[", "］", "]")
)

// repair decodes almost valid JSON, as models write it: quotes and commas of any kind or
// missing, comments, a text behind the last bracket. Unclosed brackets are ErrTruncated: a
// mark behind the JSON must stay behind it.
func repair(s string) (any, error) {
	if strings.Contains(s, "{{") { // of a template whose braces were escaped
		s = strings.NewReplacer("{{", "{", "}}", "}").Replace(s)
		if v, err := decode(s); !errors.Is(err, ErrMalformed) {
			return v, err
		}
	}
	s = s[:strings.LastIndexAny(s, "}]")+1]
	switch {
	case s == "":
		return nil, ErrTruncated
	case len(s) > maxRepaired, words.MatchString(s):
		return nil, ErrMalformed
	}
	for range 2 { // two in a row share the letter between them
		s = apostrophe.ReplaceAllString(s, "${1}"+held+"${2}")
	}
	marked := `{"value":` + s + `,"end":true}`
	fixed, err := jsonrepair.JSONRepair(marked)
	if err != nil {
		for range 2 { // two signs in a row share the token between them
			marked = fullWidth.ReplaceAllStringFunc(marked, signs.Replace)
		}
		fixed, err = jsonrepair.JSONRepair(marked)
	}
	if err != nil {
		return nil, ErrMalformed
	}
	v, err := decode(strings.ReplaceAll(fixed, held, "'"))
	whole, _ := v.(map[string]any)
	if err == nil && whole["end"] != true {
		err = ErrTruncated
	}
	return whole["value"], err
}

var opens = regexp.MustCompile(`^\s*[{\[]`)

// Named is a value with its name in the object around it.
type Named struct {
	Name  string
	Value any
}

// Inside returns the lists, objects and texts in a list or an object, by name. A text of JSON
// counts as its value.
func Inside(v any) (out []Named) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, Named{Value: Parsed(e)})
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch value := Parsed(v[name]).(type) {
			case map[string]any, []any, string:
				out = append(out, Named{name, value})
			}
		}
	}
	return out
}

// Parsed returns the JSON that a text consists of, else the value.
func Parsed(v any) any {
	if s, ok := v.(string); ok && opens.MatchString(s) {
		if nested, err := Parse(s); err == nil {
			return nested
		}
	}
	return v
}
