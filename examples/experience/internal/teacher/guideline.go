// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// call is a call of a tool that the teacher is shown.
type call struct {
	arguments map[string]any
	failed    bool
}

// trial is what happened with one argument.
type trial struct{ worked, failed []string }

// guideline says how a tool is best called, a sentence an argument.
func guideline(tool string, calls []call) string {
	trials := map[string]*trial{}
	for _, c := range calls {
		for name, v := range c.arguments {
			t := trials[name]
			if t == nil {
				t = &trial{}
				trials[name] = t
			}
			if c.failed {
				t.failed = append(t.failed, fmt.Sprint(v))
			} else {
				t.worked = append(t.worked, fmt.Sprint(v))
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		if rule := trials[name].rule(); rule != "" {
			out = append(out, fmt.Sprintf(rule, tool, name))
		}
	}
	if len(out) == 0 {
		return fmt.Sprintf("Nothing sets calls of %s that work apart from others so far.", tool)
	}
	return strings.Join(out, " ")
}

// rule returns a sentence with places for the tool and the argument, or "".
func (t *trial) rule() string {
	if len(t.worked) == 0 {
		return ""
	}
	if numbers, ok := numbersIn(t.worked); ok {
		bad, _ := numbersIn(t.failed)
		return numberRule(numbers, bad)
	}
	common := shapeOf(t.worked[0])
	for _, v := range t.worked {
		if shapeOf(v) != common {
			return ""
		}
	}
	for _, v := range t.failed {
		if shapeOf(v) == common {
			return ""
		}
	}
	if common == "" {
		return ""
	}
	return "In calls of %s write %s " + common + ": only such calls worked."
}

// numberRule says which side of what failed is what worked; if nothing failed, what
// worked so far.
func numberRule(worked, failed []int) string {
	least, greatest := slices.Min(worked), slices.Max(worked)
	below := fmt.Sprintf("In calls of %%[1]s keep %%[2]s at %d or below", greatest)
	above := fmt.Sprintf("In calls of %%[1]s keep %%[2]s at %d or above", least)
	switch {
	case len(failed) == 0:
		return below + ". " + above + ": all such calls worked."
	case slices.Min(failed) > greatest:
		return below + ": larger ones failed."
	case slices.Max(failed) < least:
		return above + ": smaller ones failed."
	}
	return ""
}

func numbersIn(values []string) ([]int, bool) {
	var out []int
	for _, v := range values {
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) > 0
}

// shapeOf says how a word is written, or "".
func shapeOf(word string) string {
	upper := strings.IndexFunc(word, unicode.IsUpper) >= 0
	lower := strings.IndexFunc(word, unicode.IsLower) >= 0
	switch {
	case len(word) == 1 && (upper || lower):
		return "as its first letter alone"
	case upper && !lower:
		return "in capital letters"
	case lower && !upper:
		return "in small letters"
	case word != "" && unicode.IsUpper(rune(word[0])) && word[1:] == strings.ToLower(word[1:]):
		return "with a capital letter first"
	}
	return ""
}
