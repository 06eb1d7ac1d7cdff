// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsontext reads JSON as models write it: in fences, with thoughts before it, nearly
// well-formed, and as calls of tools that are printed into a text.
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

// Unwrap takes away what a model thought before it answered, and the code fence around the
// whole of an answer.
func Unwrap(s string) string {
	s = strings.TrimSpace(thoughtClose.ReplaceAllString(thought.ReplaceAllString(s, ""), ""))
	s = strings.TrimPrefix(s, "[TOOL_CALLS]") // Mistral's, in the place of a call
	return strings.TrimSpace(fence.ReplaceAllString(s, "$1"))
}

// Parse returns the first JSON object or list in an answer, as encoding/json decodes it into
// an any, repaired if need be. An answer that ends before its JSON does is ErrTruncated:
// what a repair would make up of it looks whole and is not.
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

// maxRepaired bounds what is repaired, in bytes: brackets that nothing closes take quadratic time.
const maxRepaired = 1 << 15

// words is a list of what stands without quotes, which is a remark and no answer.
var words = regexp.MustCompile(`^\[\s*(?:\p{Han}|[\p{L}_]+\s+[\p{L}_]|:)`)

// apostrophe is one within a word, which ends no text; held takes its place during a repair.
var apostrophe = regexp.MustCompile(`(\p{L})'(\p{L})`)

const held = "\uE000" // for private use: no text has it

// fullWidth are the signs between two tokens that Chinese models write.
var fullWidth = regexp.MustCompile(`(?:["'”}\]\d]|true|false|null)\s*[：，、]\s*(?:["'“{\[\d-]|true|false|null)`)

var (
	signs    = strings.NewReplacer("：", ":", "，", ",", "、", ",")
	brackets = strings.NewReplacer("｛", "{", "｝", "}", "［", "[", "］", "]")
)

// repair decodes what is nearly JSON, as models write it: quotes and commas of any kind or
// none, comments, a text behind the last bracket. What its brackets do not close is
// ErrTruncated: a mark behind them has to stay behind them.
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
		for range 2 { // two signs in a row share what stands between them
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

// Named is a value, and its name in the object that it is from.
type Named struct {
	Name  string
	Value any
}

// Inside returns what is in a list, or in an object: its lists, objects and texts, by name. A
// text that is JSON counts as what it says.
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

// Parsed returns the JSON that a text holds as a whole, else the value.
func Parsed(v any) any {
	if s, ok := v.(string); ok && opens.MatchString(s) {
		if nested, err := Parse(s); err == nil {
			return nested
		}
	}
	return v
}
