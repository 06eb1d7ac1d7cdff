// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// Similar says which stretches of successes and failures are enough alike to be
// compared. Zero fields have the defaults.
type Similar struct {
	Threshold float64 // similarity above which two are compared, to 1. Defaults to 0.3.
	PerSide   int     // segments of successes and of failures that are looked at, each. Defaults to 5.
	Pairs     int     // pairs that are compared, the most similar first. Defaults to 3.
}

// WithDefaults returns a copy that is complete, or ErrInvalid.
func (s Similar) WithDefaults() (Similar, error) {
	if s.Threshold == 0 {
		s.Threshold = 0.3
	}
	if s.PerSide == 0 {
		s.PerSide = 5
	}
	if s.Pairs == 0 {
		s.Pairs = 3
	}
	if !(s.Threshold > 0 && s.Threshold < 1) || s.PerSide < 0 || s.Pairs < 0 {
		return s, fmt.Errorf("similar: %w: Threshold %v must be above 0 and below 1, PerSide %d and Pairs %d above 0", backends.ErrInvalid, s.Threshold, s.PerSide, s.Pairs)
	}
	return s, nil
}

// SegmentPair is a stretch of a success and one of a failure that are alike.
type SegmentPair struct {
	Better, Worse *Segment
	Similarity    float64
}

// Match returns the pairs whose similarity is above the threshold, the most similar
// first. Attempts at the same task are left to [Pairs]. similarity is asked for each
// pair once, by places in the lists.
func (s Similar) Match(success, failure []Segment, similarity func(better, worse int) float64) []SegmentPair {
	success, failure = s.Candidates(success), s.Candidates(failure)
	var out []SegmentPair
	for i := range success {
		for j := range failure {
			if sameTask(success[i].Trajectory, failure[j].Trajectory) {
				continue
			}
			if near := similarity(i, j); near > s.Threshold {
				out = append(out, SegmentPair{Better: &success[i], Worse: &failure[j], Similarity: near})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b SegmentPair) int {
		switch {
		case a.Similarity > b.Similarity:
			return -1
		case a.Similarity < b.Similarity:
			return 1
		}
		return 0
	})
	return out[:min(len(out), s.Pairs)]
}

// Candidates returns the segments that are looked at: the first.
func (s Similar) Candidates(segments []Segment) []Segment {
	return segments[:min(len(segments), s.PerSide)]
}

func sameTask(a, b *Trajectory) bool {
	x, named := a.taskKey()
	y, also := b.taskKey()
	return named && also && x == y
}

// Overlap says which share of their words two segments have in common, 0 to 1: the
// number of common words over the geometric mean of both numbers. Of Chinese the
// characters count.
func Overlap(a, b *Segment) float64 {
	x, y := a.words(), b.words()
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	common := 0
	for w := range x {
		if _, ok := y[w]; ok {
			common++
		}
	}
	return float64(common) / math.Sqrt(float64(len(x))*float64(len(y)))
}

// words returns the words of the steps and the task.
func (s *Segment) words() map[string]struct{} {
	out := map[string]struct{}{}
	addWords(out, s.Trajectory.Task())
	for i := range s.Steps {
		m := s.Steps[i].Message
		addWords(out, einox.Text(m))
		for _, call := range callsOf(m) {
			addWords(out, call.Function.Name)
			addWords(out, call.Function.Arguments)
		}
	}
	return out
}

func addWords(to map[string]struct{}, text string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if !strings.ContainsFunc(w, isHan) {
			to[w] = struct{}{}
			continue
		}
		for _, r := range w {
			to[string(r)] = struct{}{}
		}
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }
