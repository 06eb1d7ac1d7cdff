// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/period"
)

// Period is a stretch of time that a text names: Text is its words, From and Until are its ends.
// Sure says that the calendar alone decides.
type Period struct {
	Text        string
	From, Until time.Time
	Sure        bool
}

// PersonalRetrieveRequest asks for the facts about a person.
type PersonalRetrieveRequest struct {
	backends.SearchRequest        // Kinds is ignored.
	Target                 string // Optional. The name of its subject. Defaults to any.
}

// PersonalRetrieveResponse is the answer to a [PersonalRetrieveRequest].
type PersonalRetrieveResponse struct {
	// SearchResponse has the memories, best first. Score is the search's: see package recall.
	backends.SearchResponse
	// Answer has a line for each hit: its text with the day on which it was said, its time, and its
	// id.
	Answer  string
	Periods []Period // the times that the query asks about; empty for any
}

// Retrieve finds the facts about a person, best first. It orders by
//
//	similarity × time weight
//
// where similarity is the highest Score of a hit and the hits behind it, so that without weights
// the order is recall's. The time weight is 2 for memories that were said in, or are about, a time
// of the query. If the search finds fewer than TopK memories, others of that time fill the places,
// newest first, with a Score of 0. Requests with a Threshold, AsOf or KnownAt leave the places
// empty.
//
// Rules find times in the query, in English and Chinese.
//
// Errors: ErrNoScope, ErrInvalid for an illegal request, ErrUnavailable when the store fails.
// Degraded reports a failing embedder.
func (p *Personal) Retrieve(ctx context.Context, r *PersonalRetrieveRequest) (*PersonalRetrieveResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	q, err := p.query(ctx, r)
	if err != nil {
		return nil, err
	}
	resp := &PersonalRetrieveResponse{}
	if strings.TrimSpace(r.Query) == "" {
		return resp, nil
	}
	pool := q.SearchRequest // more than the caller's TopK
	pool.TopK = min(maxTopK, max(50, 5*q.TopK))
	found, err := p.keep.Search(ctx, q.partition, &pool)
	if err != nil {
		return nil, err
	}
	for _, p := range q.periods {
		resp.Periods = append(resp.Periods, Period(p))
	}
	resp.Degraded = found.Degraded
	resp.Hits = p.rank(found.Hits, q)
	more, err := p.ofTheTime(ctx, resp.Hits, q)
	if err != nil {
		return nil, err
	}
	resp.Hits = append(resp.Hits, more...)
	resp.Answer = p.answer(p.language.For(r.Query), resp.Hits)
	return resp, nil
}

// personalQuery is a checked request.
type personalQuery struct {
	backends.SearchRequest
	partition backends.Partition
	periods   []period.Period
}

func (p *Personal) query(ctx context.Context, r *PersonalRetrieveRequest) (*personalQuery, error) {
	at, err := p.place(ctx, &backends.AddRequest{Scope: r.Scope}, r.Target)
	if err != nil {
		return nil, err
	}
	q := &personalQuery{SearchRequest: r.SearchRequest, partition: at.Partition}
	switch {
	case q.TopK < 0 || q.TopK > maxTopK:
		return nil, fmt.Errorf("reme: %w: TopK %d is not from 0 to %d", backends.ErrInvalid, q.TopK, maxTopK)
	case !utf8.ValidString(q.Query):
		return nil, fmt.Errorf("reme: %w: the query is not UTF-8", backends.ErrInvalid)
	case q.TopK == 0:
		q.TopK = p.config.TopK
	}
	if r.Target != "" {
		about := backends.Eq("metadata."+metaTarget, r.Target)
		q.Filter = keeper.Both(&about, r.Filter)
	}
	q.Scope, q.Kinds = at.Scope, []backends.Kind{backends.KindPersonal}
	q.periods = period.Find(q.Query, p.keep.Now().In(p.config.Location))
	return q, nil
}

// timeWeight is ReMe's factor for memories of a time that the query names.
const timeWeight = 2

// rank orders the pool by similarity and time, and cuts it to TopK.
func (p *Personal) rank(pool []backends.Hit, q *personalQuery) []backends.Hit {
	value := make(map[string]float64, len(pool))
	similarity := 0.0
	for i := len(pool) - 1; i >= 0; i-- {
		m := &pool[i].Memory
		similarity = max(similarity, pool[i].Score)
		value[m.ID] = similarity
		if p.inTime(m, q.periods) {
			value[m.ID] *= timeWeight
		}
	}
	slices.SortStableFunc(pool, func(a, b backends.Hit) int { return cmp.Compare(value[b.ID], value[a.ID]) })
	return slices.Clone(pool[:min(len(pool), q.TopK)])
}

// ofTheTime returns further memories of the periods, for the places that are left.
func (p *Personal) ofTheTime(ctx context.Context, hits []backends.Hit, q *personalQuery) ([]backends.Hit, error) {
	if len(hits) >= q.TopK || len(q.periods) == 0 || q.Threshold > 0 || !q.AsOf.IsZero() || !q.KnownAt.IsZero() {
		return nil, nil
	}
	match, err := p.keep.Visible(q.Scope, q.partition, q.Filter).Compile()
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	all, err := p.keep.All(ctx, q.partition)
	if err != nil {
		return nil, err
	}
	var of []*backends.Memory
	for _, m := range all {
		holds := (m.Active() || q.IncludeSuperseded) && (q.IncludeExpired || !m.Expired(p.keep.Now()))
		shown := slices.ContainsFunc(hits, func(h backends.Hit) bool { return h.ID == m.ID })
		if m.Kind == backends.KindPersonal && holds && !shown && p.inTime(m, q.periods) && match(m) {
			of = append(of, m)
		}
	}
	slices.SortStableFunc(of, func(a, b *backends.Memory) int { return b.Observed.Compare(a.Observed) })
	var out []backends.Hit
	for _, m := range of[:min(q.TopK-len(hits), len(of))] {
		out = append(out, backends.Hit{Memory: p.keep.Shown(q.Scope, q.partition, m.Clone())})
	}
	return out, nil
}

// inTime reports whether a memory was said in one of the periods, or is about one.
func (p *Personal) inTime(m *backends.Memory, periods []period.Period) bool {
	if len(periods) == 0 {
		return false
	}
	event, timed := p.event(m)
	return slices.ContainsFunc(periods, func(in period.Period) bool { return in.Contains(m.Observed) || timed && in.Overlaps(event) })
}

// event returns the time of a memory's subject, if it says one. In ReMe's own libraries it is free
// text.
func (p *Personal) event(m *backends.Memory) (period.Period, bool) {
	for _, key := range []string{metaEvent, metaTimeInfo} {
		said, _ := m.Metadata[key].(string)
		if found := period.Find(said, m.Observed.In(p.config.Location)); len(found) > 0 {
			return found[0], true
		}
	}
	if m.Valid.IsZero() {
		return period.Period{}, false
	}
	since := m.Valid.In(p.config.Location)
	return period.Period{From: since, Until: since.Add(time.Nanosecond)}, true
}

// answer renders hits for a prompt, a line each.
func (p *Personal) answer(l backends.Language, hits []backends.Hit) string {
	words := personalWords[l]
	lines := make([]string, len(hits))
	for i := range hits {
		m := &hits[i].Memory
		var notes []string
		if !m.Observed.IsZero() {
			notes = append(notes, words.said+" "+m.Observed.In(p.config.Location).Format(time.DateOnly))
		}
		if event, ok := p.event(m); ok {
			about := event.String()
			if event.Until.Sub(event.From) < time.Hour { // an instant is its day
				about = event.From.Format(time.DateOnly)
			}
			notes = append(notes, words.about+" "+about)
		}
		notes = append(notes, "id "+m.ID)
		lines[i] = fmt.Sprintf("- %s (%s)", strings.Join(strings.Fields(m.Text), " "), strings.Join(notes, ", "))
	}
	return strings.Join(lines, "\n")
}
