// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// depths are the numbers of first results among which is counted; no more are asked for.
var depths = [...]int{1, 5, 10, 25, 50}

// scoresHeader is the part of a table's head above what [scores] prints.
const scoresHeader = "queries | recall@1 / 5 / 10 / 25 / 50 % | MRR |"

// scores are sums over queries.
type scores struct {
	queries int
	recall  [len(depths)]float64 // share of what answers a query among the first
	mrr     float64              // 1 / rank of the first that answers
}

// add counts what one query found, best first, of what answers it.
func (s *scores) add(found, evidence []string) {
	s.queries++
	answers := func(id string) bool { return slices.Contains(evidence, id) }
	for i, k := range depths {
		for _, id := range found[:min(k, len(found))] {
			if answers(id) {
				s.recall[i] += 1 / float64(len(evidence))
			}
		}
	}
	if i := slices.IndexFunc(found, answers); i >= 0 {
		s.mrr += 1 / float64(i+1)
	}
}

// at returns recall among the first k, a mean over queries in percent.
func (s *scores) at(k int) float64 {
	return 100 * s.recall[slices.Index(depths[:], k)] / float64(max(1, s.queries))
}

// String is the end of a row.
func (s *scores) String() string {
	var at []string
	for _, k := range depths {
		at = append(at, fmt.Sprintf("%.1f", s.at(k)))
	}
	return fmt.Sprintf("%d | %s | %.3f |\n", s.queries, strings.Join(at, " / "), s.mrr/float64(max(1, s.queries)))
}

func idsOf(hits []backends.Hit) []string {
	out := make([]string, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}
