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
)

// Rewriter says what else a search should look for: memories often answer a query without its
// words. It is asked once for a query, however many partitions are searched, and its answer is
// kept for that day among the last 256. It must be safe for concurrent use. [Chat] is one.
type Rewriter interface {
	// Rewrite returns what to add to a query, of at most 4 KiB, that is asked at now. An error
	// leaves the query as it is and is reported as Degraded.
	Rewrite(ctx context.Context, query string, now time.Time) (*Rewriting, error)
}

// Rewriting is what a [Rewriter] adds to a query. All of it is optional.
type Rewriting struct {
	// Keywords are words and names that an answer may have in the place of those of the query.
	// They count half; those that the query has count as they do there. The first 16 terms are
	// looked for.
	Keywords []string
	// Questions are what the query asks, one thing at a time. Each is looked for like a query,
	// and to what a memory is worth for the query comes half of what it is for the question that
	// it answers best. Its Score is the highest of all. The first 4 are asked.
	Questions []string
	// From and Until are the time that the query asks about, up to Until. Until is zero where it
	// asks about none, From where it asks about all that was before.
	From, Until time.Time
}

const (
	keywordWeight = 0.5 // of a word that the query has not, against one that it has
	maxKeywords   = 16
	maxParts      = 4
	maxRewritten  = 4 << 10 // bytes of a query: see shorten
	maxRewritings = 256
)

// rewrite adds to the query what the Rewriter says. The error is for Degraded. What learns
// searches with whole messages, which no user asked. Searches that ask the same at the same time
// share the answer.
func (r *Ranker) rewrite(ctx context.Context, q *query) error {
	if q.rewriter == nil || learns(ctx) {
		return nil
	}
	now, text := r.config.Clock(), shorten(q.text, maxRewritten)
	key := now.Format(time.DateOnly) + text
	w, known := r.rewritten.Get(key)
	if !known {
		var err error
		w, err = call(ctx, r.rewriting, func(ctx context.Context) (*Rewriting, error) {
			answer, err, _ := r.rewrites.Do(key, func() (any, error) {
				if w, known := r.rewritten.Get(key); known { // since this one looked
					return w, nil
				}
				w, err := q.rewriter.Rewrite(ctx, text, now)
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
			r.rewrites.Forget(key) // no later search waits for one that hangs
			return fmt.Errorf("the query is as it was asked: %w", err)
		}
	}
	r.widen(q, w)
	return nil
}

// widen adds a rewriting to a query. What the query has itself is not added.
func (r *Ranker) widen(q *query, w *Rewriting) {
	own, _ := r.analyzer.count(q.text)
	for _, t := range r.terms(strings.ToValidUTF8(strings.Join(w.Keywords, "\n"), "")) {
		same := func(other queryTerm) bool { return other.text == t.text }
		if len(q.keywords) < maxKeywords && !slices.ContainsFunc(own, same) {
			q.keywords = append(q.keywords, queryTerm{t.text, keywordWeight})
		}
	}
	for _, text := range w.Questions[:min(len(w.Questions), maxParts)] {
		text = strings.TrimSpace(strings.ToValidUTF8(shorten(text, maxRewritten), ""))
		if text == "" || strings.EqualFold(text, q.text) {
			continue
		}
		part := *q
		part.keywords = nil
		r.read(&part, text)
		q.questions = append(q.questions, &part)
	}
	if asked := newSpan(w.From, w.Until); r.signals.dates && asked.from < asked.until {
		for _, part := range q.questions {
			part.spans = append(part.spans, asked)
		}
	}
}
