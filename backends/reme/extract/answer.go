// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

// What makes an answer unusable. The texts are shown to the model.
var (
	errNoList = errors.New("the JSON holds no list of entries")
	errNoText = errors.New("no entry has both when_to_use and the experience itself, in words")
)

// The names under which things are looked for, in order: ours, and those that models
// and other prompts use.
var (
	itemKeys    = []string{"experiences", "memories", "items", "results"}
	whenKeys    = []string{"when_to_use", "condition"}
	contentKeys = []string{"experience", "memory", "content"}
	knownKeys   = slices.Concat(whenKeys, contentKeys, []string{"tags", "confidence", "step_type", "tools_used"})
)

// items are the candidates of an answer.
type items struct {
	kept    []Candidate
	dropped int // refused, or too many
}

// maxItem is how large one candidate may be, in bytes of its texts: what is larger is
// no lesson, and is refused.
const maxItem = 32 << 10

// readItems reads the candidates of an answer, the first most of those that have both
// texts. An empty list is an answer; one in which no entry can be used is not.
func readItems(m *schema.Message, tool string, most int) (items, error) {
	entries, err := entriesIn(m, tool, itemKeys, slices.Concat(whenKeys, contentKeys))
	if err != nil {
		return items{}, err
	}
	var out items
	for _, o := range entries {
		c, ok := candidateIn(o)
		if !ok || len(out.kept) == most {
			out.dropped++
			continue
		}
		out.kept = append(out.kept, c)
	}
	if len(out.kept) == 0 && out.dropped > 0 {
		return items{}, errNoText
	}
	return out, nil
}

// entriesIn returns the entries of the list in an answer. What is no object is an
// empty one. An object with one of the marks is an entry itself.
func entriesIn(m *schema.Message, tool string, keys, marks []string) ([]map[string]any, error) {
	v, err := answerIn(m, tool)
	if err != nil {
		return nil, err
	}
	list, ok := entryList(v, keys, marks)
	if !ok {
		return nil, errNoList
	}
	var out []map[string]any
	for _, e := range list {
		o, _ := e.(map[string]any)
		if inner, ok := listOf(o, keys); ok && !has(o, marks) { // the arguments of one of several calls
			for _, e := range inner {
				o, _ := e.(map[string]any)
				out = append(out, o)
			}
			continue
		}
		out = append(out, o)
	}
	return out, nil
}

func entryList(v any, keys, marks []string) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case map[string]any:
		if has(x, marks) {
			return []any{x}, true
		}
		return listOf(x, keys)
	}
	return nil, false
}

// listOf returns the list that an object has under one of the keys, also one that is
// written as a text; a single entry stands for a list of one.
func listOf(o map[string]any, keys []string) ([]any, bool) {
	for _, key := range keys {
		switch x := o[key].(type) {
		case []any:
			return x, true
		case map[string]any:
			return []any{x}, true
		case string:
			if nested, err := modelanswer.JSON(x); err == nil {
				if list, ok := nested.([]any); ok {
					return list, true
				}
			}
		}
	}
	return nil, false
}

func has(o map[string]any, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return o[k] != nil })
}

// candidateIn reads one entry; false when it lacks a text.
func candidateIn(o map[string]any) (Candidate, bool) {
	c := Candidate{
		WhenToUse: firstText(o, whenKeys), Content: firstText(o, contentKeys),
		Tags: textsIn(o["tags"]), ToolsUsed: textsIn(o["tools_used"]), StepType: stepTypeIn(o["step_type"]),
	}
	if n, ok := shareIn(o["confidence"]); ok {
		c.Confidence = n
	}
	for key, v := range o {
		if v == nil || slices.Contains(knownKeys, key) {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]any{}
		}
		c.Extra[cleaned(key)] = valueIn(v)
	}
	size := len(c.WhenToUse) + len(c.Content)
	if raw, err := json.Marshal([]any{c.Extra, c.Tags, c.ToolsUsed}); err != nil || size+len(raw) > maxItem {
		return Candidate{}, false
	}
	return c, wordy(c.WhenToUse) && wordy(c.Content)
}

// firstText returns the first text that holds words.
func firstText(o map[string]any, keys []string) string {
	for _, k := range keys {
		if s, ok := o[k].(string); ok && wordy(s) {
			return cleaned(s)
		}
	}
	return ""
}

// wordy reports whether a text says anything.
func wordy(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// cleaned takes out what no store takes.
func cleaned(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// textsIn reads a list of texts, or one with commas.
func textsIn(v any) []string {
	var all []string
	switch x := v.(type) {
	case string:
		all = strings.FieldsFunc(x, func(r rune) bool { return strings.ContainsRune(",，、;；", r) })
	case []any:
		for _, e := range x {
			if s, ok := e.(string); ok {
				all = append(all, s)
			}
		}
	}
	var out []string
	for _, s := range all {
		if s = cleaned(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func stepTypeIn(v any) StepType {
	s, _ := v.(string)
	switch t := StepType(strings.ToLower(strings.TrimSpace(s))); t {
	case StepReasoning, StepAction, StepObservation, StepDecision:
		return t
	}
	return ""
}

// numberIn reads a finite number, also one that is written as a text.
func numberIn(v any) (float64, bool) {
	var s string
	switch x := v.(type) {
	case json.Number:
		s = x.String()
	case string:
		s = strings.TrimSpace(x)
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// shareIn reads a number from 0 to 1.
func shareIn(v any) (float64, bool) {
	f, ok := numberIn(v)
	return f, ok && f >= 0 && f <= 1
}

// valueIn makes a plain JSON value of one that modelanswer read.
func valueIn(v any) any {
	switch x := v.(type) {
	case string:
		return cleaned(x)
	case json.Number:
		if f, ok := numberIn(x); ok {
			return f
		}
		return x.String()
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = valueIn(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, e := range x {
			out[cleaned(key)] = valueIn(e)
		}
		return out
	}
	return v
}
