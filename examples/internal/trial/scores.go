// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Score is the result of one question, in columns.
type Score struct {
	Conversation, Category string
	Columns                []float64
}

// Scores are the results of many questions.
type Scores []Score

// Mean returns the mean of a column, or 0 for an empty list.
func (s Scores) Mean(column int) float64 {
	sum := 0.0
	for _, one := range s {
		sum += one.Columns[column]
	}
	return sum / float64(max(1, len(s)))
}

// Interval returns the 95 % interval of the mean of a column.
func (s Scores) Interval(column int, format string) string {
	low, high := s.bootstrap(column)
	return fmt.Sprintf(format+"–"+format, low, high)
}

// Of returns the scores of a group.
func (s Scores) Of(belongs func(Score) bool) Scores {
	return slices.DeleteFunc(slices.Clone(s), func(one Score) bool { return !belongs(one) })
}

// ByCategory calls do with each category and its scores, if there are several.
func (s Scores) ByCategory(do func(name string, of Scores)) {
	of := map[string]Scores{}
	for _, one := range s {
		of[one.Category] = append(of[one.Category], one)
	}
	if len(of) == 1 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		do(name, of[name])
	}
}

const resamples = 1000

// bootstrap returns the 95 % interval of the mean of a column.
func (s Scores) bootstrap(column int) (low, high float64) {
	_, low, high = s.Paired(s, column, func(mean, _ float64) float64 { return mean })
	return low, high
}

// Paired compares a column with the one of other scores of the same questions, in the same order: it
// returns the value of both means, and its 95 % interval by the percentiles of resamples (Efron
// 1979), the same in each run. It takes questions as independent of each other, although questions of
// one conversation are so only in part.
func (s Scores) Paired(other Scores, column int, value func(mean, of float64) float64) (at, low, high float64) {
	if len(s) == 0 {
		return 0, 0, 0
	}
	rnd := rand.New(rand.NewPCG(1979, uint64(len(s))))
	values := make([]float64, resamples)
	for i := range values {
		var mean, of float64
		for range s {
			n := rnd.IntN(len(s))
			mean += s[n].Columns[column] / float64(len(s))
			of += other[n].Columns[column] / float64(len(s))
		}
		values[i] = value(mean, of)
	}
	slices.Sort(values)
	return value(s.Mean(column), other[:len(s)].Mean(column)), values[resamples*25/1000-1], values[resamples*975/1000-1]
}

// Depths are the numbers of first results in the counts. The first columns of a query are the
// percent of its answers among them, the last is 1 / rank of the best.
var Depths = [...]int{1, 5, 10, 25, 50}

// Found returns the columns of a query for results that are ordered best first.
func Found(results, answers []string) []float64 {
	out := make([]float64, len(Depths)+1)
	for rank, id := range results {
		if !slices.Contains(answers, id) {
			continue
		}
		for i, k := range Depths {
			if rank < k {
				out[i] += 100 / float64(len(answers))
			}
		}
		out[len(Depths)] = max(out[len(Depths)], 1/float64(rank+1))
	}
	return out
}

// FoundHeader is the head of the columns of FoundCells.
var FoundHeader = []string{"queries", "recall@1 / 5 / 10 / 25 / 50 %", "MRR", "95 %: recall@5", "recall@10", "MRR"}

// FoundCells are the last cells of a row: means over queries, and intervals.
func (s Scores) FoundCells() []any {
	var recall []string
	for i := range Depths {
		recall = append(recall, fmt.Sprintf("%.1f", s.Mean(i)))
	}
	return []any{
		len(s), strings.Join(recall, " / "), fmt.Sprintf("%.3f", s.Mean(len(Depths))),
		s.Interval(1, "%.1f"), s.Interval(2, "%.1f"), s.Interval(len(Depths), "%.3f"),
	}
}
