// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// Statistics tell how calls of one tool went. The fields that ReMe knows have its
// names and roundings as JSON.
type Statistics struct {
	Tool string `json:"tool_name"`
	// Total are all calls that are kept, and those that the guideline knew of when they
	// expired with their month: see Config.Keep.
	Total int64     `json:"total_calls"`
	Calls int       `json:"recent_calls_analyzed"` // those that the rest is about
	From  time.Time `json:"from,omitzero"`         // the first of them
	To    time.Time `json:"to,omitzero"`           // the last of them
	// Truncated: there were more calls in the time asked for than are looked at.
	Truncated bool `json:"truncated,omitempty"`

	SuccessRate float64 `json:"success_rate"`   // share that did not fail, 4 decimals
	Judged      int     `json:"judged"`         // calls with a score
	AvgScore    float64 `json:"avg_score"`      // of those, 3 decimals
	AvgTime     float64 `json:"avg_time_cost"`  // seconds, 3 decimals
	TokensKnown int     `json:"tokens_known"`   // calls whose tokens are known
	AvgTokens   float64 `json:"avg_token_cost"` // of those, 2 decimals
	Latency     Latency `json:"latency"`

	Failed    int             `json:"failed"`
	Empty     int             `json:"empty"`            // did not fail, and returned nothing
	Errors    []ErrorCount    `json:"errors,omitempty"` // the most frequent class first
	Repeats   Repeats         `json:"repeats"`
	Arguments []ArgumentCount `json:"arguments,omitempty"` // those that stand out in calls that went badly
}

// Latency are percentiles of the time that calls took, in seconds with 3 decimals,
// by nearest rank: each is the time of a call.
type Latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// ErrorCount counts calls of a class that failed, or returned an error in words.
type ErrorCount struct {
	Class   ErrorClass `json:"class"`
	Calls   int        `json:"calls"`
	Example string     `json:"example"` // what the newest of them said, shortened
}

// Repeats count calls that were made before in the window, to the letter and with
// the same result.
type Repeats struct {
	Calls int     `json:"calls"` // beside the first of each
	Share float64 `json:"share"` // of all calls, 4 decimals
	// Failing is the input that failed most often with the same result, at least
	// twice; else empty.
	Failing      string `json:"failing_input,omitempty"`
	FailingCalls int    `json:"failing_calls,omitempty"`
	FailingError string `json:"failing_error,omitempty"`
}

// Measure computes the statistics of calls in any order. No calls have none: Calls is
// 0. It trusts the Hash of a call that has one.
func Measure(calls []Call) Statistics {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, byTime)
	s := Statistics{Calls: len(calls), Total: int64(len(calls))}
	if len(calls) == 0 {
		return s
	}
	s.Tool, s.From, s.To = calls[0].Tool, calls[0].Time, calls[len(calls)-1].Time
	var score, tokens float64
	var took time.Duration
	for i := range calls {
		c := &calls[i]
		took += c.Took
		if c.failed() {
			s.Failed++
		} else if saysNothing(c.Output) {
			s.Empty++
		}
		if c.Score != nil {
			s.Judged++
			score += *c.Score
		}
		if c.Tokens >= 0 {
			s.TokensKnown++
			tokens += float64(c.Tokens)
		}
	}
	n := float64(len(calls))
	s.SuccessRate = round((n-float64(s.Failed))/n, 4)
	s.AvgTime = round(took.Seconds()/n, 3)
	s.AvgScore = round(score/float64(max(s.Judged, 1)), 3)
	s.AvgTokens = round(tokens/float64(max(s.TokensKnown, 1)), 2)
	s.Latency = latency(calls)
	s.Errors = countErrors(calls)
	s.Repeats = countRepeats(calls)
	s.Arguments = countArguments(calls)
	return s
}

// byTime orders calls by when they began, and within an instant as they were
// recorded.
func byTime(a, b Call) int { return a.Time.Compare(b.Time) }

// round rounds to the nearest decimal, a half to the even one, as Python's round
// does.
func round(f float64, decimals int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	return r
}

func latency(calls []Call) Latency {
	all := make([]time.Duration, len(calls))
	for i := range calls {
		all[i] = calls[i].Took
	}
	slices.Sort(all)
	rank := func(percent int) float64 {
		i := (len(all)*percent+99)/100 - 1
		return round(all[max(i, 0)].Seconds(), 3)
	}
	return Latency{P50: rank(50), P90: rank(90), P99: rank(99)}
}

// maxExample bounds texts that statistics quote, in bytes.
const maxExample = 160

func countErrors(calls []Call) []ErrorCount {
	counts := map[ErrorClass]*ErrorCount{}
	for i := range calls {
		text := calls[i].problem()
		class := ClassifyError(text)
		if class == "" {
			continue
		}
		if counts[class] == nil {
			counts[class] = &ErrorCount{Class: class}
		}
		counts[class].Calls++
		counts[class].Example = clip(oneLine(text), maxExample)
	}
	var out []ErrorCount
	for _, c := range counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Class, b.Class))
	})
	return out
}

func countRepeats(calls []Call) Repeats {
	var r Repeats
	seen := map[string]int{}
	for i := range calls {
		c := &calls[i]
		hash := c.Hash
		if hash == "" {
			hash = Hash(c.Input, c.Output)
		}
		if seen[hash]++; seen[hash] == 1 {
			continue
		}
		r.Calls++
		if n := seen[hash]; c.wrong() && n >= r.FailingCalls {
			r.FailingCalls = n
			r.Failing, r.FailingError = clip(oneLine(readable(c.Input)), maxExample), clip(oneLine(c.problem()), maxExample)
		}
	}
	r.Share = round(float64(r.Calls)/float64(len(calls)), 4)
	return r
}
