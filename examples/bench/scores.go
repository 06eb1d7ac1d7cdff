// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// score is what was measured of one question, in columns.
type score struct {
	conversation, category string
	columns                []float64
}

// scores are those of many questions.
type scores []score

// column returns one figure of each question.
func (s scores) column(n int) []float64 {
	out := make([]float64, len(s))
	for i := range s {
		out[i] = s[i].columns[n]
	}
	return out
}

func (s scores) mean(column int) float64 {
	sum := 0.0
	for _, v := range s.column(column) {
		sum += v
	}
	return sum / float64(max(1, len(s)))
}

// interval returns the 95 % interval of the mean of a column.
func (s scores) interval(column int, format string) string {
	low, high := bootstrap(s.column(column))
	return fmt.Sprintf(format+"–"+format, low, high)
}

// of returns those that belong to a group.
func (s scores) of(belongs func(*score) bool) scores {
	var out scores
	for i := range s {
		if belongs(&s[i]) {
			out = append(out, s[i])
		}
	}
	return out
}

// byCategory calls do with each category and its scores, if there are several.
func (s scores) byCategory(do func(name string, of scores)) {
	var names []string
	for i := range s {
		names = append(names, s[i].category)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 1 {
		return
	}
	for _, name := range names {
		do(name, s.of(func(s *score) bool { return s.category == name }))
	}
}

const resamples = 1000

// bootstrap returns the 95 % interval of a mean by the percentiles of the means of resamples
// (Efron 1979), the same in each run. It takes questions as independent of each other, which
// those of one conversation are only in part.
func bootstrap(values []float64) (low, high float64) {
	if len(values) == 0 {
		return 0, 0
	}
	rnd := rand.New(rand.NewPCG(1979, uint64(len(values))))
	means := make([]float64, resamples)
	for i := range means {
		for range values {
			means[i] += values[rnd.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[resamples*25/1000-1], means[resamples*975/1000-1]
}

// depths are the numbers of first results among which is counted. The first columns of what a
// query found are the percent of its answers among them, the last is 1 / rank of the best.
var depths = [...]int{1, 5, 10, 25, 50}

// found returns the columns of a query, whose results are ordered best first.
func found(results, answers []string) []float64 {
	out := make([]float64, len(depths)+1)
	for rank, id := range results {
		if !slices.Contains(answers, id) {
			continue
		}
		for i, k := range depths {
			if rank < k {
				out[i] += 100 / float64(len(answers))
			}
		}
		out[len(depths)] = max(out[len(depths)], 1/float64(rank+1))
	}
	return out
}

// foundHeader is the head of the columns of foundCells.
var foundHeader = []string{"queries", "recall@1 / 5 / 10 / 25 / 50 %", "MRR", "95 %: recall@5", "recall@10", "MRR"}

// foundCells are the last of a row: means over queries, and intervals.
func (s scores) foundCells() []any {
	var recall []string
	for i := range depths {
		recall = append(recall, fmt.Sprintf("%.1f", s.mean(i)))
	}
	return []any{
		len(s), strings.Join(recall, " / "), fmt.Sprintf("%.3f", s.mean(len(depths))),
		s.interval(1, "%.1f"), s.interval(2, "%.1f"), s.interval(len(depths), "%.3f"),
	}
}
