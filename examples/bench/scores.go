// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
)

// scores are means over questions: recall and hit in percent, the others from 0 to 1.
type scores struct {
	Questions int     `json:"questions" col:"questions"`
	Recall    depths  `json:"recall" col:"recall"` // share of the evidence among the first k
	Hit       depths  `json:"hit" col:"hit"`       // share of questions with any evidence among the first k
	MRR       float64 `json:"mrr" col:"MRR;%.3f"`  // 1 / rank of the first evidence among those found
	NDCG10    float64 `json:"ndcg10" col:"nDCG@10;%.3f"`
}

// depths are a score at numbers of hits.
type depths struct {
	At1  float64 `json:"1" col:"@1;%.1f"`
	At5  float64 `json:"5" col:"@5;%.1f"`
	At10 float64 `json:"10" col:"@10;%.1f"`
	At25 float64 `json:"25" col:"@25;%.1f"`
	At50 float64 `json:"50" col:"@50;%.1f"`
}

// maxDepth is how many hits are looked at.
const maxDepth = 50

// each calls f for each depth.
func (d *depths) each(f func(k int, score *float64)) {
	f(1, &d.At1)
	f(5, &d.At5)
	f(10, &d.At10)
	f(25, &d.At25)
	f(maxDepth, &d.At50)
}

const units = "recall@k: the share of what answers a query among the first k that it finds, hit@k: whether any is; both in percent, MRR and nDCG from 0 to 1; means over queries"

// add counts one question: what was found, best first, against its evidence.
func (s *scores) add(found, evidence []string) {
	s.Questions++
	among := func(k int) (n float64) {
		for _, id := range found[:min(k, len(found))] {
			if slices.Contains(evidence, id) {
				n++
			}
		}
		return n
	}
	s.Recall.each(func(k int, score *float64) { *score += 100 * among(k) / float64(len(evidence)) })
	s.Hit.each(func(k int, score *float64) { *score += 100 * min(1, among(k)) })
	if i := slices.IndexFunc(found, func(id string) bool { return slices.Contains(evidence, id) }); i >= 0 {
		s.MRR += 1 / float64(i+1)
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

// mean returns the sums as means, rounded.
func (s *scores) mean() scores {
	out := *s
	round := func(digits float64) func(int, *float64) {
		return func(_ int, score *float64) { *score = math.Round(*score/float64(max(1, s.Questions))*digits) / digits }
	}
	out.Recall.each(round(1e2))
	out.Hit.each(round(1e2))
	round(1e4)(0, &out.MRR)
	round(1e4)(0, &out.NDCG10)
	return out
}
