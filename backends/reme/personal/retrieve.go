// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// The stages of a [Flows.Retrieve].
const (
	StageTime   = "time"   // which time the query asks about
	StageRecall = "recall" // what is like the query
	StageRank   = "rank"   // type and time
)

// RetrieveRequest asks what is known about a person.
type RetrieveRequest struct {
	Scope backends.Scope // Required. Names the person, or the workspace; zero: the context's.
	Query string         // Required. Natural language; blank finds nothing.

	TopK      int              // Optional. Defaults to 5; at most 1000.
	Threshold float64          // Optional. Hits with a lower Score are left out. Defaults to 0: none.
	Filter    *backends.Filter // Optional. Further conditions.
	// Target is the name of whom it is about. Optional. Defaults to [DefaultTarget]
	// in a workspace, and to everybody elsewhere.
	Target string
	// Now is when the query is asked: what "yesterday" is counted from. Optional.
	// Defaults to the clock.
	Now time.Time
	// UseModel asks the model for the time where the rules of [FindPeriods] find none
	// in the query. Optional. Defaults to rules alone.
	UseModel bool

	AsOf              time.Time // Optional. What held at that time, instead of what holds now.
	IncludeSuperseded bool      // Optional. Also what holds no more.
	IncludeExpired    bool      // Optional. Also what expired and was not swept yet.
	WithSources       bool      // Optional. Fill Hit.Sources.
}

// RetrieveResponse is the answer to a [RetrieveRequest].
type RetrieveResponse struct {
	// Answer has a line for each hit: its text with the day on which it was said, the
	// time that it is about, and its id.
	Answer string
	// Hits are the memories, best first. Score is how like the query they are, and
	// nothing else: type and time decide the order alone.
	Hits    []backends.Hit
	Periods []Period // the time that the query asks about; none for any
	// Degraded names what failed while the search still answered: the embedder, the
	// reranker, or the model that was asked for the time. Nil when nothing failed.
	Degraded error
	Report   flow.Report
}

// Retrieve finds what is known about a person, best first. The order is that of
//
//	similarity × type weight × time weight
//
// where similarity is the highest Score of a hit or of those that recall placed
// behind it (so that without weights the order is recall's), and the time weight is
// Config.TimeWeight for memories that were said in, or are about, a time that the
// query names. Where fewer than TopK memories are like the query, those of the time
// that it names fill the places, newest first, with a Score of 0: "what did I do
// yesterday" need not share a word with what was done. With a Threshold, or AsOf, they
// do not.
//
// Errors: ErrNoScope, ErrInvalid for a request that is not legal, flow.ErrNoModel for
// UseModel without one, ErrUnavailable when the store does not answer. A failing
// model is no error: see Degraded.
func (f *Flows) Retrieve(ctx context.Context, r *RetrieveRequest) (*RetrieveResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("personal: %w: no request", backends.ErrInvalid)
	}
	if r.UseModel && !f.config.Models.HasModel() {
		return nil, fmt.Errorf("personal: UseModel: %w; without it, times are found by rules", flow.ErrNoModel)
	}
	at, err := f.place(ctx, r.Scope, r.Target)
	if err != nil {
		return nil, err
	}
	q := &retrieval{flows: f, request: *r, place: at, run: f.config.Models.Begin()}
	if err := q.complete(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Query) == "" {
		return &RetrieveResponse{Report: q.run.Report()}, nil
	}
	resp := &RetrieveResponse{}
	resp.Periods, resp.Degraded = q.periods(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	found, err := q.recall(ctx)
	if err != nil {
		return nil, err
	}
	resp.Degraded = errors.Join(resp.Degraded, found.Degraded)
	if resp.Hits, err = q.rank(ctx, found.Hits, resp.Periods); err != nil {
		return nil, err
	}
	resp.Answer = f.answer(f.config.Language.For(r.Query), resp.Hits)
	resp.Report = q.run.Report()
	return resp, nil
}

// retrieval is one call of Retrieve.
type retrieval struct {
	flows   *Flows
	request RetrieveRequest
	place   place
	run     *flow.Run
	filter  *backends.Filter
}

// complete fills in the defaults and puts the filter together.
func (q *retrieval) complete() error {
	r := &q.request
	switch {
	case r.TopK < 0 || r.TopK > maxTopK:
		return fmt.Errorf("personal: %w: TopK %d is not from 0 to %d", backends.ErrInvalid, r.TopK, maxTopK)
	case !utf8.ValidString(r.Query):
		return fmt.Errorf("personal: %w: the query is not UTF-8", backends.ErrInvalid)
	case r.TopK == 0:
		r.TopK = defaultTopK
	}
	if r.Now.IsZero() {
		r.Now = q.flows.config.Clock()
	}
	r.Now = r.Now.In(q.flows.config.Location)
	if q.place.target == "" && q.flows.config.InWorkspace {
		q.place.target = DefaultTarget
	}
	if q.filter = r.Filter; q.place.target != "" {
		both := backends.Eq("metadata."+metaTarget, q.place.target)
		if r.Filter != nil {
			both = backends.And(both, *r.Filter)
		}
		q.filter = &both
	}
	return nil
}

const (
	defaultTopK = 5
	maxTopK     = 1000
)

// recall searches the pool that is ranked: more than was asked for.
func (q *retrieval) recall(ctx context.Context) (*backends.SearchResponse, error) {
	r := &q.request
	stage := q.run.Stage(StageRecall)
	stage.Took(1)
	resp, err := q.flows.config.Keeper.Search(ctx, q.place.partition, &backends.SearchRequest{
		Scope: q.place.scope, Query: r.Query, TopK: min(maxTopK, max(50, 5*r.TopK)), Threshold: r.Threshold,
		Kinds: []backends.Kind{backends.KindPersonal}, Filter: q.filter,
		AsOf: r.AsOf, IncludeSuperseded: r.IncludeSuperseded, IncludeExpired: r.IncludeExpired, WithSources: r.WithSources,
	})
	if err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	stage.Gave(len(resp.Hits))
	return resp, nil
}
