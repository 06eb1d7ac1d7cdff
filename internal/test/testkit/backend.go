// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/einomem/einomem/backends"
)

// Backend is a backend that keeps the requests. It is safe for concurrent use. Its zero
// value finds nothing, and stores the first message as it is.
type Backend struct {
	Found    []backends.Hit // by every search
	Standing []backends.Hit // with every answer to one
	OnSearch func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)
	OnAdd    func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error)

	searches list[backends.SearchRequest]
	adds     list[backends.AddRequest]
	closed   atomic.Int64
}

// list is a list that several goroutines append to.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
}

func (l *list[T]) get() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

var _ backends.Backend = (*Backend)(nil)

// Knowing returns a backend that finds memories of these texts.
func Knowing(texts ...string) *Backend { return &Backend{Found: Hits(texts...)} }

// Hits returns memories of these texts, with ids such as "id-text".
func Hits(texts ...string) []backends.Hit {
	out := make([]backends.Hit, len(texts))
	for i, s := range texts {
		out[i] = backends.Hit{Memory: backends.Memory{ID: "id-" + s, Text: s}, Score: 1}
	}
	return out
}

// IDs returns the ids of hits.
func IDs(hits []backends.Hit) []string {
	return each(hits, func(h backends.Hit) string { return h.ID })
}

// Texts returns the texts of hits.
func Texts(hits []backends.Hit) []string {
	return each(hits, func(h backends.Hit) string { return h.Text })
}

func each(hits []backends.Hit, of func(backends.Hit) string) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = of(h)
	}
	return out
}

// Search implements backends.Backend.
func (b *Backend) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	b.searches.add(*r)
	if b.OnSearch != nil {
		return b.OnSearch(ctx, r)
	}
	return &backends.SearchResponse{Hits: slices.Clone(b.Found), Standing: slices.Clone(b.Standing)}, nil
}

// Add implements backends.Backend.
func (b *Backend) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	b.adds.add(*r)
	if b.OnAdd != nil {
		return b.OnAdd(ctx, r)
	}
	return Added(r.Messages[0].Content), nil
}

// Added returns the answer that memories of these texts were stored.
func Added(texts ...string) *backends.AddResponse {
	out := &backends.AddResponse{}
	for _, s := range texts {
		out.Items = append(out.Items, backends.Item{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "id-" + s, Text: s}})
	}
	return out
}

// Close implements backends.Backend.
func (b *Backend) Close(context.Context) error {
	b.closed.Add(1)
	return nil
}

// Searches returns the searches so far.
func (b *Backend) Searches() []backends.SearchRequest { return b.searches.get() }

// Queries returns the queries so far.
func (b *Backend) Queries() []string {
	var out []string
	for _, r := range b.Searches() {
		out = append(out, r.Query)
	}
	return out
}

// Adds returns the requests to learn so far.
func (b *Backend) Adds() []backends.AddRequest { return b.adds.get() }

// Closed returns how often it was closed.
func (b *Backend) Closed() int { return int(b.closed.Load()) }

// Failures collects the calls of an OnError. Its zero value is ready, and it is safe for
// concurrent use.
type Failures struct{ all list[failure] }

type failure struct {
	stage string
	err   error
}

// Add is an OnError.
func (f *Failures) Add(_ context.Context, stage string, err error) { f.all.add(failure{stage, err}) }

// Stages returns the stages so far, in order.
func (f *Failures) Stages() (stages []string) {
	for _, one := range f.all.get() {
		stages = append(stages, one.stage)
	}
	return stages
}

// Err returns all errors so far, joined, or nil.
func (f *Failures) Err() error {
	var errs []error
	for _, one := range f.all.get() {
		errs = append(errs, one.err)
	}
	return errors.Join(errs...)
}

// At returns the errors of a stage.
func (f *Failures) At(stage string) (errs []error) {
	for _, one := range f.all.get() {
		if one.stage == stage {
			errs = append(errs, one.err)
		}
	}
	return errs
}

// Failed returns all failures of a report, each under its stage, or nil.
func Failed(r backends.Report) error {
	var all []error
	for _, s := range r.Stages {
		if s.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.Name, s.Err))
		}
	}
	return errors.Join(all...)
}

// Stage returns the report of a stage. The report of a skipped stage has only its name.
func Stage(r backends.Report, name string) backends.StageReport {
	if i := slices.IndexFunc(r.Stages, func(s backends.StageReport) bool { return s.Name == name }); i >= 0 {
		return r.Stages[i]
	}
	return backends.StageReport{Name: name}
}
