// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// Reranker orders a pool of hits by a closer look, as a cross-encoder or a model does. It
// must be safe for concurrent use. Chat of package model is one.
type Reranker interface {
	// Rerank returns one score from 0 to 1 for each hit. The hits are the whole pool, more than the
	// search asks for, best first, long ones with their Passage. Rerank must leave them as they
	// are. After an error the order stays as it was, and Degraded reports it.
	Rerank(ctx context.Context, query string, hits []backends.Hit) ([]float64, error)
}

// found is a hit on its way from the ranking to the answer.
type found struct {
	of     *backends.Memory // in the index: the same one for all questions
	score  float64
	parts  backends.ScoreParts
	value  float64         // the order follows it
	vector []float32       // nil if the memory has none
	words  map[string]bool // diversify makes it
	like   float64         // how like it is to the most similar one before it
}

// pool is how many hits leave the ranking: TopK, or more where a closer look chooses among them.
func (q *query) pool() int {
	if q.reranker == nil && q.diversity == 0 && len(q.questions) == 1 {
		return q.topK
	}
	return max(4*q.topK, 60)
}

// questionWeight is the weight of a memory's value for a question in the query against its value
// for the query itself. On LoCoMo a question about something else costs 23 points of recall@5 if
// the better of both counts, and 7 with this weight; a question with three words of the answer
// brings 1 and 11.
const questionWeight = 0.5

// join adds to the value of each memory its value for the question that it answers best.
func join(pool, others []found) []found {
	byValue := func(a, b found) int { return cmp.Compare(b.value, a.value) }
	slices.SortStableFunc(others, byValue)
	offsets, joined := map[*backends.Memory]int{}, map[*backends.Memory]bool{}
	for i := range pool {
		offsets[pool[i].of] = i
	}
	for _, f := range others {
		if joined[f.of] {
			continue
		}
		joined[f.of] = true
		i, known := offsets[f.of]
		if !known {
			i, pool = len(pool), append(pool, f)
			pool[i].value = 0
		}
		pool[i].value += questionWeight * max(0, f.value)
		pool[i].score = max(pool[i].score, f.score)
	}
	slices.SortStableFunc(pool, byValue)
	return pool
}

// rerank orders the pool by the reranker's scores. On a failure the order stays as it was, and
// the error is for Degraded.
func (r *Ranker) rerank(ctx context.Context, q *query, pool []found) error {
	if q.reranker == nil || len(pool) == 0 {
		return nil
	}
	shown := make([]backends.Hit, len(pool)) // also a reranker that answers too late has hits of its own
	for i := range shown {
		shown[i] = backends.Hit{Memory: pool[i].of.Clone(), Score: pool[i].score, Parts: pool[i].parts}
	}
	r.Passages(q.text, shown)
	scores, err := call(ctx, r.reranking, func(ctx context.Context) ([]float64, error) {
		return q.reranker.Rerank(ctx, q.text, shown)
	})
	if err == nil {
		err = checkScores(scores, len(pool))
	}
	if err != nil {
		return fmt.Errorf("the order is as before the reranker: %w", err)
	}
	for i := range pool {
		pool[i].value, pool[i].parts.Rerank = scores[i], scores[i]
	}
	slices.SortStableFunc(pool, func(a, b found) int { return cmp.Compare(b.value, a.value) })
	return nil
}

func checkScores(scores []float64, n int) error {
	if len(scores) != n {
		return fmt.Errorf("%d scores for %d hits: %w", len(scores), n, backends.ErrModel)
	}
	for i, s := range scores {
		if math.IsNaN(s) || s < 0 || s > 1 {
			return fmt.Errorf("score %v of hit %d: %w: not from 0 to 1", s, i, backends.ErrModel)
		}
	}
	return nil
}

// maxDiverse is how many hits of a pool diversify looks at: it compares each with each.
const maxDiverse = 200

// diversify orders the pool by maximal marginal relevance (Carbonell and Goldstein, The Use of MMR,
// Diversity-Based Reranking, SIGIR 1998). The next hit is the one that has most left after a
// deduction for likeness to the hits before it. The quality of a hit is its share of the first
// hit's value.
func (r *Ranker) diversify(q *query, pool []found) {
	pool = pool[:min(len(pool), maxDiverse)]
	if q.diversity == 0 || len(pool) == 0 {
		return
	}
	words := r.Words()
	for i := range pool {
		pool[i].words = words.Of(pool[i].of.WhenToUse + "\n" + pool[i].of.Text)
	}
	top := pool[0].value
	left := func(f *found) float64 { return (1-q.diversity)*max(0, share(f.value, top)) - q.diversity*f.like }
	for offset := 1; offset < min(len(pool), q.topK); offset++ {
		next := offset
		for i := offset; i < len(pool); i++ {
			pool[i].like = max(pool[i].like, likeness(q, &pool[offset-1], &pool[i]))
			if left(&pool[i]) > left(&pool[next]) {
				next = i
			}
		}
		chosen := pool[next]
		copy(pool[offset+1:], pool[offset:next])
		pool[offset] = chosen
	}
}

// likeness is 0 to 1: how far the cosine of two memories exceeds the usual one, and where vectors
// are missing their share of words in common (Jaccard).
func likeness(q *query, a, b *found) float64 {
	if a.vector != nil && b.vector != nil && len(a.vector) == len(b.vector) {
		return above(q.scale.usual, float64(vek32.Dot(a.vector, b.vector)))
	}
	common := 0
	for w := range a.words {
		if b.words[w] {
			common++
		}
	}
	return share(float64(common), float64(len(a.words)+len(b.words)-common))
}

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
