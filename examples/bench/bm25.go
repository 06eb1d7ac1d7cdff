// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/porter"
)

var word = regexp.MustCompile(`[\p{L}\p{N}]+`)

// terms are the words of a text without those of a full English stop list, stemmed by
// Porter's algorithm.
func terms(text string) []string {
	var out []string
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		if !englishStops[w] {
			env := snowballstem.NewEnv(w)
			porter.Stem(env)
			out = append(out, env.Current())
		}
	}
	return out
}

var englishStops = func() analysis.TokenMap {
	stops := analysis.NewTokenMap()
	if err := stops.LoadBytes(en.EnglishStopWords); err != nil {
		panic(fmt.Sprintf("the stop list of a dependency: %v", err))
	}
	return stops
}()

// plainIndex is BM25 by the book, k1 1.2 and b 0.75, with the idf of Lucene. It is
// what the ranking is compared with, and shares nothing with it.
type plainIndex struct {
	counts  []map[string]float64
	lengths []float64
	holding map[string]float64 // term → texts that hold it
	mean    float64
}

func newPlainIndex(texts []string) *plainIndex {
	x := &plainIndex{holding: map[string]float64{}}
	for _, text := range texts {
		terms := terms(text)
		counts := map[string]float64{}
		for _, t := range terms {
			if counts[t]++; counts[t] == 1 {
				x.holding[t]++
			}
		}
		x.counts, x.lengths = append(x.counts, counts), append(x.lengths, float64(len(terms)))
		x.mean += float64(len(terms)) / float64(len(texts))
	}
	return x
}

// rank returns the places of the texts that share a term with the query, best first.
func (x *plainIndex) rank(query string) []int {
	const k1, b = 1.2, 0.75
	n := float64(len(x.counts))
	scores := make([]float64, len(x.counts))
	for _, t := range terms(query) {
		idf := math.Log(1 + (n-x.holding[t]+0.5)/(x.holding[t]+0.5))
		for i, counts := range x.counts {
			if f := counts[t]; f > 0 {
				scores[i] += idf * f * (k1 + 1) / (f + k1*(1-b+b*x.lengths[i]/x.mean))
			}
		}
	}
	var out []int
	for i, s := range scores {
		if s > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return out
}
