// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// errNoVerdict is shown to the model.
var errNoVerdict = fmt.Errorf("%w: not every candidate has one verdict with is_valid and a score from 0 to 1", backends.ErrModel)

var (
	verdictKeys = []string{"verdicts", "judgements", "results"}
	numberKeys  = []string{"candidate", "index", "id"}
	validKeys   = []string{"is_valid", "valid"}
)

// verdict is what the judge says of a candidate; err when it says nothing that can be
// understood.
type verdict struct {
	valid    bool
	score    float64
	feedback string
	err      error
}

// readVerdicts reads the verdicts on n candidates. Only what says in so many words
// that a candidate is valid or not, and how good it is, is a verdict; of two on the
// same candidate neither counts.
func readVerdicts(m *schema.Message, n int) ([]verdict, error) {
	entries, err := entriesIn(m, toolVerdicts, verdictKeys, validKeys)
	if err != nil {
		return nil, err
	}
	out := make([]verdict, n)
	times := make([]int, n)
	for i := range out {
		out[i].err = errNoVerdict
	}
	for _, o := range entries {
		number, ok := firstNumber(o)
		if !ok && n == 1 && len(entries) == 1 && !has(o, numberKeys) {
			number, ok = 1, true
		}
		if !ok || number < 1 || number > n {
			continue
		}
		out[number-1] = verdictIn(o)
		if times[number-1]++; times[number-1] > 1 {
			out[number-1] = verdict{err: errNoVerdict}
		}
	}
	return out, nil
}

func verdictIn(o map[string]any) verdict {
	var v verdict
	score, scored := shareIn(o["score"])
	valid, said := truthIn(o)
	if !scored || !said {
		return verdict{err: errNoVerdict}
	}
	v.score, v.valid = score, valid
	v.feedback, _ = o["feedback"].(string)
	v.feedback = cleaned(v.feedback)
	return v
}

// truthIn reads a truth, also one that is written as a text.
func truthIn(o map[string]any) (value, said bool) {
	for _, key := range validKeys {
		switch x := o[key].(type) {
		case bool:
			return x, true
		case string:
			switch strings.ToLower(strings.TrimSpace(x)) {
			case "true":
				return true, true
			case "false":
				return false, true
			}
		}
	}
	return false, false
}

func firstNumber(o map[string]any) (int, bool) {
	for _, key := range numberKeys {
		if o[key] != nil {
			return wholeNumber(o[key])
		}
	}
	return 0, false
}
