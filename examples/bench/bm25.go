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

// wording is how the words of a text are made terms.
type wording struct {
	name  string
	terms func(text string) []string
}

var word = regexp.MustCompile(`[\p{L}\p{N}]+`)

// plainWords are lower-cased words, all of them.
var plainWords = wording{"BM25, lower-cased words", func(text string) []string {
	return word.FindAllString(strings.ToLower(text), -1)
}}

// stemmedWords are without the words of a full English stop list, and stemmed by
// Porter's algorithm.
var stemmedWords = wording{"BM25, stop list and stemmer", func(text string) []string {
	var out []string
	for _, w := range plainWords.terms(text) {
		if !englishStops[w] {
			env := snowballstem.NewEnv(w)
			porter.Stem(env)
			out = append(out, env.Current())
		}
	}
	return out
}}

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
	wording wording
	counts  []map[string]float64
	lengths []float64
	holding map[string]float64 // term → texts that hold it
	mean    float64
}

func newPlainIndex(texts []string, w wording) *plainIndex {
	x := &plainIndex{wording: w, holding: map[string]float64{}}
	for _, text := range texts {
		terms := w.terms(text)
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
	for _, t := range x.wording.terms(query) {
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
