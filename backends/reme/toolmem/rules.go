// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends/reme/flow"
)

// few is the number of calls below which a guideline made of them is but a hint.
const few = 5

// guidelineByRules writes a guideline without a model: what fails, with which
// arguments, and what to do. The same calls give the same text.
func guidelineByRules(l flow.Language, s Statistics, calls []Call) string {
	w := wordsOf(l)
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, "- "+fmt.Sprintf(format, args...)) }
	served, example := whatServed(calls)
	add(w.served, served, len(calls))
	if example != "" {
		add(w.works, example)
	}
	for _, e := range s.Errors {
		add(w.fails, e.Calls, w.classes[e.Class], e.Example, w.advice[e.Class])
	}
	for _, a := range s.Arguments {
		what := fmt.Sprintf(w.anyValue, strconv.Quote(a.Name))
		if a.Value != "" {
			what = a.Name + "=" + a.Value
		}
		add(w.argument, a.Bad, a.Bad+a.Good, what)
	}
	if s.Repeats.FailingCalls > 1 {
		add(w.repeated, s.Repeats.FailingCalls, s.Repeats.FailingError, s.Repeats.Failing)
	}
	if s.Empty > 0 {
		add(w.emptyAdvice, s.Empty)
	}
	if served == len(calls) {
		lines = append(lines, "- "+w.allWell)
	}
	add(w.expect, s.AvgTime, s.Latency.P90)
	if len(calls) < few {
		lines = append(lines, "- "+w.fewCalls)
	}
	return strings.Join(lines, "\n")
}

// whatServed returns how many calls served their purpose, and the newest input of
// those.
func whatServed(calls []Call) (n int, example string) {
	for i := range calls {
		if !calls[i].bad() {
			n++
			example = clip(oneLine(readable(calls[i].Input)), maxExample)
		}
	}
	return n, example
}
