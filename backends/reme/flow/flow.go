// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package flow runs the steps of learning within limits and tells what became of
// each. A [Run] is one request: it counts model calls and tokens, stops at the
// limits, and keeps a [Report] with a line a stage. [Models] is what all requests
// share: the model, and how many calls may be under way at a time.
//
//	run := models.Begin()
//	stage := run.Stage("extract success")
//	stage.Took(1)
//	err := run.Ask(ctx, question, read)
//	stage.Gave(2)
//	report := run.Report()
package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/modelask"
)

// ErrLimit is returned when a request would need more model calls or tokens than its
// [Limits] allow. It is also backends.ErrInvalid: a repeat would cost as much and come
// no further.
var ErrLimit = ask.ErrLimit

// ErrNoModel is a flow that needs a model where none is configured.
var ErrNoModel = fmt.Errorf("%w: this needs Config.Model", backends.ErrInvalid)

// Limits bound what requests may cost. Zero fields have the defaults.
type Limits struct {
	Calls       int           // model calls of one request, repeats included. Defaults to 64.
	Tokens      int           // tokens of one request, in and out. Defaults to 400,000.
	Prompt      int           // tokens of the material of one prompt: more is divided or clipped with a word on it. Defaults to 12,000.
	Concurrency int           // model calls at the same time, of all requests together. Defaults to 4.
	Timeout     time.Duration // of one model call. Defaults to a minute.
}

func (l Limits) withDefaults() (Limits, error) {
	for _, n := range []struct {
		name     string
		value    *int
		fallback int
	}{{"Calls", &l.Calls, 64}, {"Tokens", &l.Tokens, 400_000}, {"Prompt", &l.Prompt, 12_000}, {"Concurrency", &l.Concurrency, 4}} {
		if *n.value < 0 {
			return l, fmt.Errorf("in Limits: %s %d: %w: above 0, or 0 for %d", n.name, *n.value, backends.ErrInvalid, n.fallback)
		}
		if *n.value == 0 {
			*n.value = n.fallback
		}
	}
	switch {
	case l.Timeout < 0:
		return l, fmt.Errorf("in Limits: Timeout %v: %w: above 0, or 0 for %v", l.Timeout, backends.ErrInvalid, modelask.DefaultTimeout)
	case l.Timeout == 0:
		l.Timeout = modelask.DefaultTimeout
	}
	return l, nil
}

// Question is what a model is asked: System and User are the prompts, Tool the name
// of the tool that it answers by, Complaint what it is told when its answer cannot be
// used.
type Question = modelask.Question

// Config configures [Models].
type Config struct {
	Name  string              // Required. Errors begin with it.
	Model model.BaseChatModel // Optional. Without one, questions are [ErrNoModel].
	Tools []*schema.ToolInfo  // Optional. The tools by which the model answers, of all questions.

	Limits  Limits             // Optional.
	Counter compaction.Counter // Optional. Counts tokens of prompts. Defaults to compaction.Estimate.
}

// Models is a chat model within limits. It is safe for concurrent use.
type Models struct {
	asker  *modelask.Asker // nil without a model
	limits Limits
	count  compaction.Counter
	slots  chan struct{}
}

// New returns the model within its limits. A configuration that cannot work is
// ErrInvalid.
func New(cfg *Config) (*Models, error) {
	if cfg == nil {
		return nil, fmt.Errorf("flow: %w: no Config", backends.ErrInvalid)
	}
	limits, err := cfg.Limits.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	m := &Models{limits: limits, count: cfg.Counter, slots: make(chan struct{}, limits.Concurrency)}
	if m.count == nil {
		m.count = compaction.Estimate
	}
	if cfg.Model != nil {
		m.asker, err = modelask.New(&modelask.Config{Name: cfg.Name, Model: cfg.Model, Tools: cfg.Tools, Timeout: limits.Timeout})
	}
	return m, err
}

// Limits returns the limits, with their defaults filled in.
func (m *Models) Limits() Limits { return m.limits }

// Counter returns what counts tokens.
func (m *Models) Counter() compaction.Counter { return m.count }

// HasModel reports whether there is a model to ask.
func (m *Models) HasModel() bool { return m.asker != nil }

// ByTool reports whether answers come as tool calls; else the prompt must ask for
// JSON.
func (m *Models) ByTool() bool { return m.asker != nil && m.asker.ByTool() }

// Begin begins a request.
func (m *Models) Begin() *Run { return &Run{models: m} }

// Ask puts a question within the limits of the request and waits for its turn. read
// is called with the answer, perhaps twice (see package modelask). Errors:
// ErrUnavailable when the model cannot be asked, ErrModel when it cannot be
// understood, [ErrLimit] when the request has spent what it may, [ErrNoModel], and
// the context's.
func (r *Run) Ask(ctx context.Context, q *Question, read func(*schema.Message) error) error {
	m := r.models
	switch {
	case q == nil || q.Complaint == nil || read == nil:
		return fmt.Errorf("asking the model: %w: it takes a Question with a Complaint, and read", backends.ErrInvalid)
	case m.asker == nil:
		return ErrNoModel
	case ctx.Err() != nil: // else a free slot might be taken all the same
		return fmt.Errorf("asking the model: %w", context.Cause(ctx))
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return fmt.Errorf("waiting to ask the model: %w", context.Cause(ctx))
	}
	size := m.count.Text(q.System) + m.count.Text(q.User)
	if err := r.reserve(size); err != nil {
		return err
	}
	var usage backends.Usage
	asked := *q
	asked.Again = func() error { return r.reserve(size) }
	err := m.asker.Ask(ctx, &asked, &usage, read)
	r.settle(size, &usage)
	return err
}
