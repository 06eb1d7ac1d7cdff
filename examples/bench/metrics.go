// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strconv"
)

// depths are the numbers of hits at which recall is measured where nothing else is said.
var depths = []int{5, 10, 25, 50}

// scores are means over questions, in the units of the literature: recall and hit
// in percent, the others from 0 to 1.
type scores struct {
	Questions int                `json:"questions"`
	Recall    map[string]float64 `json:"recall"` // share of the evidence among the first k
	Hit       map[string]float64 `json:"hit"`    // share of questions with any evidence among the first k
	MRR       float64            `json:"mrr"`    // 1 / rank of the first evidence among those found
	NDCG10    float64            `json:"ndcg10"`

	depths []int
}

const units = "recall and hit in percent, mrr and ndcg10 from 0 to 1"

func newScores() *scores { return newScoresAt(depths) }

func newScoresAt(depths []int) *scores {
	return &scores{Recall: map[string]float64{}, Hit: map[string]float64{}, depths: depths}
}

// add counts one question: what was found, best first, against its evidence.
func (s *scores) add(found, evidence []string) {
	s.Questions++
	for _, k := range s.depths {
		n := 0
		for _, id := range found[:min(k, len(found))] {
			if slices.Contains(evidence, id) {
				n++
			}
		}
		key := strconv.Itoa(k)
		s.Recall[key] += 100 * float64(n) / float64(len(evidence))
		s.Hit[key] += 100 * min(1, float64(n))
	}
	for i, id := range found {
		if slices.Contains(evidence, id) {
			s.MRR += 1 / float64(i+1)
			break
		}
	}
	s.NDCG10 += ndcg(found, evidence, 10)
}

// ndcg is the normalised discounted cumulative gain with gains of 0 and 1.
func ndcg(found, evidence []string, k int) float64 {
	var gain, ideal float64
	for i := range k {
		discount := 1 / math.Log2(float64(i+2))
		if i < len(found) && slices.Contains(evidence, found[i]) {
			gain += discount
		}
		if i < len(evidence) {
			ideal += discount
		}
	}
	return gain / ideal
}

// mean turns the sums into means, rounded.
func (s *scores) mean() {
	mean := func(sum, digits float64) float64 {
		return math.Round(sum/float64(max(1, s.Questions))*digits) / digits
	}
	for _, m := range []map[string]float64{s.Recall, s.Hit} {
		for k := range m {
			m[k] = mean(m[k], 1e2)
		}
	}
	s.MRR, s.NDCG10 = mean(s.MRR, 1e4), mean(s.NDCG10, 1e4)
}
