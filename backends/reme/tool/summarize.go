// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// SummaryRequest asks for new guidelines.
type SummaryRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	Tools []string       // The names of tools. Optional. Defaults to all tools of the workspace.
	Force bool           // write even if few calls are new, or none
}

// SummaryResponse has the outcome of each guideline.
type SummaryResponse struct {
	Tools   []Tool   `json:"tools"`             // in the order asked for, each with an Outcome
	Unknown []string `json:"unknown,omitempty"` // names of tools without a stored call
	Report  backends.Report
}

// Summarize writes the guidelines of tools with RefreshAfter new calls, or of all requested tools
// if the request forces it. It stores each by itself, in one atomic write: the failure of one
// leaves the others. The error joins all failures, and the response comes with it. It is
// ErrNotFound if there are no stored calls.
func (m *Memory) Summarize(ctx context.Context, r *SummaryRequest) (_ *SummaryResponse, err error) {
	defer work.Recover("tool", &err)
	if r == nil {
		return nil, errNoRequest
	}
	ctx, s, p, err := m.keeper.Enter(ctx, r.Scope, backends.OpAdd)
	if err != nil {
		return nil, err
	}
	tools := namesOf(r.Tools)
	named := len(tools) > 0
	if !named {
		if tools, err = m.tools(ctx, p); err != nil {
			return nil, err
		}
	}
	run := m.model.Begin(m.limits)
	all := make([]*state, len(tools))
	errs := each(len(tools), func(i int) error {
		all[i] = &state{Tool: Tool{Name: tools[i]}}
		return m.summarize(ctx, run, p, all[i], r.Force)
	})
	resp, stage := &SummaryResponse{}, run.Stage(stageGuideline)
	stage.In(len(tools))
	for i := range all {
		switch t := &all[i].Tool; {
		case errs[i] != nil:
			errs[i] = fmt.Errorf("tool %q: %w", t.Name, errs[i])
			stage.Fail(errs[i])
			t.Outcome, t.Memory, t.Err = backends.OutcomeFailed, nil, errs[i]
		case t.Outcome == "" && named:
			resp.Unknown = append(resp.Unknown, t.Name)
			fallthrough
		case t.Outcome == "" || t.Outcome == backends.OutcomeUnchanged:
			stage.Drop(1)
		default:
			stage.Out(1)
		}
		if all[i].Outcome != "" {
			resp.Tools = append(resp.Tools, *m.shown(s, p, &all[i].Tool))
		}
	}
	resp.Report = run.Report()
	err = errors.Join(errs...)
	if len(resp.Tools) == 0 {
		err = fmt.Errorf("tool: tools of %s: %w: no call of them is kept; Record keeps calls", p, backends.ErrNotFound)
	}
	return resp, err
}

// shown returns the knowledge about a tool in the form for a caller.
func (m *Memory) shown(s backends.Scope, p backends.Partition, t *Tool) *Tool {
	if t.Memory != nil {
		memory := m.keeper.Shown(s, p, *t.Memory)
		t.Memory = &memory
	}
	for i := range t.Calls {
		if c := &t.Calls[i]; s.UserID+s.AgentID != "" && c.UserID != s.UserID {
			c.UserID = ""
		}
	}
	return t
}

// state is the knowledge about a tool at one time, with its sources.
type state struct {
	Tool
	guideline *guideline
	calls     []Call           // the newest, oldest first, redacted
	seen      map[string]int64 // stored calls, by month
	kept      int64            // stored and loaded calls
	language  backends.Language
	judged    map[string]judgement // of calls that are kept, by their ids
	unjudged  []int                // the indices of calls that the model is asked to judge
}

// read fills in the knowledge about a tool, with its last newest calls.
func (m *Memory) read(ctx context.Context, p backends.Partition, st *state, last int) error {
	g, err := m.guidelineOf(ctx, p, st.Name) // before the calls, so that it covers only calls that are read
	if err != nil {
		return err
	}
	st.guideline = g
	if err := m.readCalls(ctx, p, st, max(last, m.cfg.History)); err != nil {
		return err
	}
	st.judged = map[string]judgement{}
	for i := range st.calls {
		c := &st.calls[i]
		if j, ok := g.judged[c.ID]; ok && c.Judge == byRules {
			c.take(j)
			st.judged[c.ID] = j
		}
	}
	st.calls = st.calls[max(0, len(st.calls)-last):]
	for i := range st.calls {
		st.calls[i] = st.calls[i].with(m.redact) // it may be older than Keeper.Redact
	}
	st.language, st.New = m.languageOf(st.calls), g.uncovered(st.seen)
	st.measure()
	if g.holds(m.keeper.Now()) {
		st.Guideline, st.Memory = m.redact(g.text()), &g.record.Memory
	}
	st.Text = strings.TrimSpace(st.Guideline + "\n\n" + st.rendered())
	return nil
}

// measure takes the statistics of the calls.
func (st *state) measure() {
	st.Statistics = measure(st.Name, st.calls)
	st.Statistics.Total = st.kept
}

// rendered returns the statistics as a text.
func (st *state) rendered() string { return rendered(st.language, "statistics", st.Statistics) }

// languageOf returns the language of prompts and texts about calls.
func (m *Memory) languageOf(calls []Call) backends.Language {
	var texts []string
	for i := range calls {
		texts = append(texts, readable(calls[i].Input), text.TruncateBytes(calls[i].Output, 1<<10))
	}
	return m.language.For(texts...)
}

// begin returns the context for a guideline from the calls of several users: see [store.Begin].
func (m *Memory) begin(ctx context.Context, p backends.Partition, st *state) (_ context.Context, err error) {
	begun := map[string]bool{"": true}
	for i := range st.calls {
		user := st.calls[i].UserID
		if begun[user] || err != nil {
			continue
		}
		begun[user] = true
		ctx, err = store.Begin(ctx, m.keeper.Store(), backends.Partition{Namespace: p.Namespace, Kind: backends.PartitionUser, ID: user})
	}
	return ctx, err
}

// summarize writes one guideline. A tool without calls has no outcome.
func (m *Memory) summarize(ctx context.Context, run *ask.Run, p backends.Partition, st *state, force bool) error {
	if err := m.read(ctx, p, st, m.cfg.Window); err != nil || len(st.calls) == 0 {
		return err
	}
	ctx, err := m.begin(ctx, p, st)
	if err == nil {
		err = m.read(ctx, p, st, m.cfg.Window) // leaves out users who were forgotten meanwhile
	}
	if err != nil || len(st.calls) == 0 {
		return err
	}
	st.Outcome = backends.OutcomeUnchanged
	if !force && st.New < int64(m.cfg.RefreshAfter) {
		return nil
	}
	written, by, err := m.write(ctx, run, st)
	if err != nil {
		return err
	}
	put, outcome := store.Put(m.next(p, st, written, by)), backends.OutcomeAdded
	put.Actor, put.Expect = "tool", store.MustNotExist
	if former := st.guideline.record; former != nil {
		put.Expect, outcome = former.Version, backends.OutcomeUpdated
	}
	var usage backends.Usage
	applied, err := m.keeper.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{put}}, &usage)
	run.Embedded(usage.EmbeddedTexts)
	if errors.Is(err, backends.ErrConflict) { // another process wrote it meanwhile: the next calls make it due again
		return m.read(ctx, p, st, m.cfg.Window)
	}
	if err != nil {
		return err
	}
	stored := put.Record.Clone()
	stored.Version = applied.Version
	st.Guideline, st.Text, st.Memory, st.Outcome = written, stored.Text, &stored, outcome
	return nil
}
