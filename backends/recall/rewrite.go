// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// Rewriter says what else a search should look for: memories often answer a query in other words.
// The ranker asks it once for a query, however many partitions it searches, and keeps its answer
// for that day among the last 256. It must be safe for concurrent use. Chat of package model is one.
type Rewriter interface {
	// Rewrite returns additions to a query, of at most 4 KiB, that is asked at now. After an error
	// the query stays as it is, and Degraded reports it.
	Rewrite(ctx context.Context, query string, now time.Time) (*Rewriting, error)
}

// Rewriting is what a [Rewriter] adds to a query. All of it is optional.
type Rewriting struct {
	// Keywords are words and names that an answer may have instead of the query's. They count half;
	// a keyword that the query has counts as it does there. A search looks for the first 16 terms.
	Keywords []string
	// Questions are the parts of the query, one thing at a time. A search looks for each like for a
	// query. The memory's value for the query gets half of its value for the question that it
	// answers best. Its Score is the highest of all. The first 4 count.
	Questions []string
	// From and Until are the time that the query asks about; Until is its exclusive end. A zero
	// Until means that the query does not name a time. A zero From leaves the beginning open.
	From, Until time.Time
}

const (
	keywordWeight = 0.5 // of a word that is new to the query, against one that it has
	maxKeywords   = 16
	maxParts      = 4
	maxRewritten  = 4 << 10 // bytes of a query: see text.Ends
	maxRewritings = 256
)

// rewrite adds the Rewriter's answer to the query. The error is for Degraded. Work that learns
// skips it: it searches with whole messages instead of questions. Searches that ask the same at the
// same time share the answer.
func (r *Ranker) rewrite(ctx context.Context, q *query) error {
	if q.rewriter == nil || learns(ctx) {
		return nil
	}
	now, asked := r.config.Clock(), text.Ends(q.text, maxRewritten)
	key := now.Format(time.DateOnly) + asked
	w, known := r.rewritten.Get(key)
	if !known {
		var err error
		w, err = call(ctx, r.rewriting, func(ctx context.Context) (*Rewriting, error) {
			answer, err, _ := r.rewrites.Do(key, func() (any, error) {
				if w, known := r.rewritten.Get(key); known { // since this one looked
					return w, nil
				}
				w, err := q.rewriter.Rewrite(ctx, asked, now)
				if err == nil && (w == nil || w.Until.Before(w.From)) {
					err = fmt.Errorf("the rewriter: %w: no answer, or a time that ends before it begins", backends.ErrModel)
				}
				if err == nil {
					r.rewritten.Add(key, w)
				}
				return w, err
			})
			w, _ := answer.(*Rewriting)
			return w, err
		})
		if err != nil {
			r.rewrites.Forget(key) // later searches start anew instead of waiting for one that hangs
			return fmt.Errorf("the query is as it was asked: %w", err)
		}
	}
	r.widen(q, w)
	return nil
}

// widen adds a rewriting to a query, except for words that the query has already.
func (r *Ranker) widen(q *query, w *Rewriting) {
	own, _ := r.analyzer.count(q.text)
	for _, t := range r.terms(strings.ToValidUTF8(strings.Join(w.Keywords, "\n"), "")) {
		same := func(other queryTerm) bool { return other.text == t.text }
		if len(q.keywords) < maxKeywords && !slices.ContainsFunc(own, same) {
			q.keywords = append(q.keywords, queryTerm{text: t.text, count: keywordWeight})
		}
	}
	for _, question := range w.Questions[:min(len(w.Questions), maxParts)] {
		question = strings.TrimSpace(strings.ToValidUTF8(text.Ends(question, maxRewritten), ""))
		if question == "" || strings.EqualFold(question, q.text) {
			continue
		}
		part := *q
		part.keywords = nil
		r.read(&part, question)
		q.questions = append(q.questions, &part)
	}
	if named := newSpan(w.From, w.Until); r.signals.dates && named.from < named.until {
		for _, part := range q.questions {
			part.spans = append(part.spans, named)
		}
	}
}
