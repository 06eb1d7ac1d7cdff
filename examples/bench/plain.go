// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/einomem/einomem/examples/internal/trial"
)

// plain is BM25 over the words of turns, without anything of this library: bleve's analyzers make
// the words (English without stop words in Porter's stems, or bigrams of CJK). A speaker's name is
// a word of the text.
type plain struct {
	words  func(string) []string
	counts []map[string]float64 // by turn
	length []float64
	mean   float64
	df     map[string]float64
}

func newPlain(c *trial.Conversation) (*plain, error) {
	name := en.AnalyzerName
	for i := range c.Turns {
		if strings.ContainsFunc(c.Turns[i].Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			name = cjk.AnalyzerName
		}
	}
	analyzer, err := registry.NewCache().AnalyzerNamed(name)
	if err != nil {
		return nil, fmt.Errorf("bleve's analyzer %s: %w", name, err)
	}
	p := &plain{df: map[string]float64{}, words: func(s string) (out []string) {
		for _, token := range analyzer.Analyze([]byte(s)) {
			out = append(out, string(token.Term))
		}
		return out
	}}
	for i := range c.Turns {
		count, words := map[string]float64{}, p.words(c.Turns[i].Speaker+" "+c.Turns[i].Text)
		for _, w := range words {
			count[w]++
		}
		for w := range count {
			p.df[w]++
		}
		p.counts, p.length = append(p.counts, count), append(p.length, float64(len(words)))
		p.mean += float64(len(words)) / float64(len(c.Turns))
	}
	return p, nil
}

// find returns the numbers of the turns with a word of the query, best first.
func (p *plain) find(query string, k1, b float64) []int {
	scores := make([]float64, len(p.counts))
	for _, w := range p.words(query) {
		idf := math.Log(1 + (float64(len(p.counts))-p.df[w]+.5)/(p.df[w]+.5))
		for i, count := range p.counts {
			if n := count[w]; n > 0 {
				scores[i] += idf * n * (k1 + 1) / (n + k1*(1-b+b*p.length[i]/p.mean))
			}
		}
	}
	var order []int
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order
}

// printPlain prints the row of the best plain BM25: of 20 pairs of k1 and b the one with the highest
// MRR on these questions, which favours it.
func (a *arm) printPlain(row func(label string, of trial.Scores)) error {
	var all []*plain
	for i := range a.conversations {
		p, err := newPlain(&a.conversations[i])
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	var best trial.Scores
	label, mrr := "", -1.0
	for _, k1 := range []float64{.6, .9, 1.2, 1.6} {
		for _, b := range []float64{.2, .4, .6, .75, .9} {
			var scores trial.Scores
			for i, c := range a.conversations {
				for _, q := range c.Questions {
					var found []string
					for _, n := range all[i].find(q.Text, k1, b) {
						if found = append(found, c.Turns[n].ID); len(found) == trial.Depths[len(trial.Depths)-1] {
							break
						}
					}
					scores = append(scores, trial.Score{Conversation: c.ID, Category: q.Category, Columns: trial.Found(found, q.Evidence)})
				}
			}
			if now := scores.Mean(len(trial.Depths)); now > mrr {
				best, mrr, label = scores, now, fmt.Sprintf("the best plain BM25 (k1 %g, b %g)", k1, b)
			}
		}
	}
	row(label, best)
	return nil
}
