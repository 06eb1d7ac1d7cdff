// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// ArgumentCount counts calls that were made with an argument, or with one value of
// it.
type ArgumentCount struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"` // as JSON; empty: whatever its value
	Bad   int    `json:"bad"`             // calls that failed, or whose result served nothing
	Good  int    `json:"good"`            // all others
}

const (
	maxArguments = 8  // that statistics tell of
	maxValue     = 60 // characters of a value that is counted; a longer one is a text
	maxKeys      = 64 // arguments of a call that are looked at
)

// countArguments returns the arguments that stand out in calls that went badly: at
// least two such calls have them, and a larger share of them than of the others.
// Arguments that every call has say nothing.
func countArguments(calls []Call) []ArgumentCount {
	type key struct{ name, value string }
	counts, bad := map[key]*ArgumentCount{}, 0
	count := func(k key, isBad bool) {
		if counts[k] == nil {
			counts[k] = &ArgumentCount{Name: k.name, Value: k.value}
		}
		if isBad {
			counts[k].Bad++
		} else {
			counts[k].Good++
		}
	}
	for i := range calls {
		isBad := calls[i].bad()
		if isBad {
			bad++
		}
		for _, name := range argumentNames(calls[i].Input) {
			count(key{name: name}, isBad)
			if v := shortValue(calls[i].Input.(map[string]any)[name]); v != "" {
				count(key{name, v}, isBad)
			}
		}
	}
	good := len(calls) - bad
	var out []ArgumentCount
	for _, c := range counts {
		if c.Bad >= 2 && c.Bad+c.Good < len(calls) && c.Bad*max(good, 1) > c.Good*bad {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b ArgumentCount) int {
		return cmp.Or(cmp.Compare(b.Bad-b.Good, a.Bad-a.Good), cmp.Compare(b.Bad, a.Bad), strings.Compare(a.Name, b.Name), strings.Compare(b.Value, a.Value))
	})
	return slices.Clip(out[:min(len(out), maxArguments)])
}

// argumentNames returns the names of an object's arguments in order.
func argumentNames(input any) []string {
	o, ok := input.(map[string]any)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(o))
	for k := range o {
		names = append(names, k)
	}
	slices.Sort(names)
	return names[:min(len(names), maxKeys)]
}

// shortValue returns a value as JSON if it is short enough to be one of a few, and
// nothing for what was redacted.
func shortValue(v any) string {
	if s, ok := v.(string); ok && s == redacted {
		return ""
	}
	text := readableJSON(v)
	if utf8.RuneCountInString(text) > maxValue {
		return ""
	}
	return text
}

// readable returns an input for a reader: a string as it is, anything else as JSON.
func readable(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	return readableJSON(v)
}

func readableJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine returns a text with all space in it single.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
