// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// rank orders the pool by type and time, fills it up and cuts it to what was asked
// for.
func (q *retrieval) rank(ctx context.Context, pool []backends.Hit, periods []Period) ([]backends.Hit, error) {
	stage := q.run.Stage(StageRank)
	stage.Took(len(pool))
	type ranked struct {
		backends.Hit
		value float64
	}
	all := make([]ranked, len(pool))
	similarity := 0.0
	for i := len(pool) - 1; i >= 0; i-- {
		similarity = max(similarity, pool[i].Score)
		all[i] = ranked{pool[i], similarity * q.flows.weight(&pool[i].Memory, periods)}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.value, a.value) })
	hits := make([]backends.Hit, 0, q.request.TopK)
	for i := range all[:min(len(all), q.request.TopK)] {
		hits = append(hits, all[i].Hit)
	}
	more, err := q.ofTheTime(ctx, hits, periods)
	if err != nil {
		return nil, err
	}
	hits = append(hits, more...)
	stage.Gave(len(hits))
	return hits, nil
}

// ofTheTime returns memories of the periods that are not among the hits, for the
// places that are left.
func (q *retrieval) ofTheTime(ctx context.Context, hits []backends.Hit, periods []Period) ([]backends.Hit, error) {
	r, places := &q.request, q.request.TopK-len(hits)
	if places <= 0 || len(periods) == 0 || r.Threshold > 0 || !r.AsOf.IsZero() {
		return nil, nil
	}
	match := func(*backends.Memory) bool { return true }
	if q.filter != nil {
		var err error
		if match, err = q.filter.Compile(); err != nil {
			return nil, fmt.Errorf("personal: %w", err)
		}
	}
	all, err := q.flows.config.Keeper.All(ctx, q.place.partition)
	if err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	seen := map[string]bool{}
	for i := range hits {
		seen[hits[i].ID] = true
	}
	var found []*backends.Memory
	for _, m := range all {
		holds := (m.Active() || r.IncludeSuperseded) && (r.IncludeExpired || !m.Expired(q.flows.config.Clock()))
		if m.Kind == backends.KindPersonal && holds && !seen[m.ID] && q.flows.inTime(m, periods) && match(m) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *backends.Memory) int { return b.Observed.Compare(a.Observed) })
	var out []backends.Hit
	for _, m := range found[:min(places, len(found))] {
		out = append(out, backends.Hit{Memory: m.Clone()})
	}
	return out, nil
}

// weight is what the similarity of a memory is multiplied by for its place.
func (f *Flows) weight(m *backends.Memory, periods []Period) float64 {
	weight := 1.0
	for _, key := range []string{metaType, "memory_type"} {
		name, _ := m.Metadata[key].(string)
		if w, ok := f.config.TypeWeights[name]; ok {
			weight = w
			break
		}
	}
	if f.inTime(m, periods) {
		weight *= f.config.TimeWeight
	}
	return weight
}

// inTime reports whether a memory was said in one of the periods, or is about one.
func (f *Flows) inTime(m *backends.Memory, periods []Period) bool {
	event, timed := f.event(m)
	for _, p := range periods {
		if p.Contains(m.Observed) || timed && p.overlaps(event) {
			return true
		}
	}
	return false
}

// event returns the time that a memory is about, where it says one.
func (f *Flows) event(m *backends.Memory) (Period, bool) {
	for _, key := range []string{metaEvent, metaTimeInfo} {
		text, _ := m.Metadata[key].(string)
		if p, ok := ParsePeriod(text, f.config.Location); ok {
			return p, true
		}
		if found := FindPeriods(text, m.Observed.In(f.config.Location)); len(found) > 0 { // in ReMe's own libraries it is free text
			return found[0], true
		}
	}
	if m.Valid.IsZero() {
		return Period{}, false
	}
	since := m.Valid.In(f.config.Location)
	return Period{From: since, Until: since.Add(time.Nanosecond)}, true
}
