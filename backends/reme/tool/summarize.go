// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/text"
)

// SummaryRequest asks for guidelines to be written.
type SummaryRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	// Tools are names as they are, ToolNames names with commas between them. Optional.
	// Default to all tools of the workspace.
	Tools     []string
	ToolNames string

	Force bool // write even where few calls, or none, are new
}

// SummaryResponse says what became of each guideline.
type SummaryResponse struct {
	Tools   []ToolSummary `json:"tools"`             // in the order asked for
	Unknown []string      `json:"unknown,omitempty"` // tools of which no call is kept
	Report  backends.Report
}

// ToolSummary says what became of the guideline of one tool.
type ToolSummary struct {
	Tool string `json:"tool"`
	// Outcome is OutcomeAdded for a first guideline; OutcomeUpdated; OutcomeUnchanged if
	// fewer than RefreshAfter calls are new, or another process covered them meanwhile; or
	// OutcomeFailed: Err says why.
	Outcome    backends.Outcome `json:"outcome"`
	New        int64            `json:"new"`                 // calls that the former guideline did not cover
	Guideline  string           `json:"guideline,omitempty"` // as written now
	Statistics Statistics       `json:"statistics"`
	Memory     *backends.Memory `json:"memory,omitempty"` // as stored; nil if there is none
	Err        error            `json:"-"`
}

// Summarize writes the guidelines of tools with RefreshAfter new calls, or of all that are
// asked for if the request forces it. Each is stored by itself, in one atomic write: the
// failure of one leaves the others. The error joins all failures; the response is returned
// with it. It is ErrNotFound if no call of any tool is kept.
func (m *Memory) Summarize(ctx context.Context, r *SummaryRequest) (*SummaryResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	_, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	tools := namesOf(r.Tools, r.ToolNames)
	named := len(tools) > 0
	if !named {
		if tools, err = m.tools(ctx, p); err != nil {
			return nil, err
		}
	}
	run := m.cfg.Model.Begin(m.cfg.Limits)
	all := make([]ToolSummary, len(tools))
	errs := each(len(tools), func(i int) error {
		all[i].Tool = tools[i]
		return m.summarize(ctx, run, p, &all[i], r.Force)
	})
	resp, stage := &SummaryResponse{}, run.Stage(stageGuideline)
	stage.In(len(tools))
	for i := range all {
		switch t := &all[i]; {
		case errs[i] != nil:
			errs[i] = fmt.Errorf("tool %q: %w", t.Tool, errs[i])
			stage.Fail(errs[i])
			t.Outcome, t.Memory, t.Err = backends.OutcomeFailed, nil, errs[i]
		case t.Outcome == "" && named:
			resp.Unknown = append(resp.Unknown, t.Tool)
			fallthrough
		case t.Outcome == "" || t.Outcome == backends.OutcomeUnchanged:
			stage.Drop(1)
		default:
			stage.Out(1)
		}
		if all[i].Outcome != "" {
			resp.Tools = append(resp.Tools, all[i])
		}
	}
	resp.Report = run.Report()
	err = errors.Join(errs...)
	if len(resp.Tools) == 0 {
		err = fmt.Errorf("tool: tools of %s: %w: no call of them is kept; Record keeps calls", p, backends.ErrNotFound)
	}
	return resp, err
}

// state is what is known about a tool at one time.
type state struct {
	tool       string
	guideline  *guideline
	calls      []Call           // the newest, oldest first, without secrets
	seen       map[string]int64 // calls that are kept, by month
	statistics Statistics       // of the calls
	language   backends.Language
}

// stateOf reads what is known about a tool, with its last newest calls.
func (m *Memory) stateOf(ctx context.Context, p backends.Partition, tool string, last int) (*state, error) {
	g, err := m.guidelineOf(ctx, p, tool) // before the calls, so that it covers none that are not read
	if err != nil {
		return nil, err
	}
	h, err := m.readCalls(ctx, p, tool, max(last, m.cfg.History))
	if err != nil {
		return nil, err
	}
	m.addLoaded(h, g)
	calls := h.calls[max(0, len(h.calls)-last):]
	for i := range calls {
		calls[i] = calls[i].with(m.redact) // it may be older than Keeper.Redact
	}
	st := &state{tool: tool, guideline: g, calls: calls, seen: h.seen, statistics: measure(tool, calls), language: m.languageOf(calls)}
	st.statistics.Total = h.total
	return st, nil
}

// languageOf returns the language of prompts and texts about calls.
func (m *Memory) languageOf(calls []Call) backends.Language {
	var texts []string
	for i := range calls {
		texts = append(texts, readable(calls[i].Input), text.TruncateBytes(calls[i].Output, 1<<10))
	}
	return m.cfg.Language.For(texts...)
}

// summarize writes one guideline. A tool without calls has no outcome.
func (m *Memory) summarize(ctx context.Context, run *ask.Run, p backends.Partition, t *ToolSummary, force bool) error {
	st, err := m.stateOf(ctx, p, t.Tool, m.cfg.Window)
	if err != nil || len(st.calls) == 0 {
		return err
	}
	t.New, t.Statistics, t.Outcome = st.guideline.uncovered(st.seen), st.statistics, backends.OutcomeUnchanged
	if st.guideline.holds(m.keeper.Now()) {
		t.Memory = &st.guideline.record.Memory
	}
	if !force && t.New < int64(m.cfg.RefreshAfter) {
		return nil
	}
	written, by, err := m.write(ctx, run, st)
	if err != nil {
		return err
	}
	put := store.Put(m.next(p, st, written, by))
	put.Actor, put.Expect = "tool", store.MustNotExist
	if st.guideline.record != nil {
		put.Expect = st.guideline.record.Version
	}
	var usage backends.Usage
	applied, err := m.keeper.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{put}}, &usage)
	run.Embedded(usage.EmbeddedTexts)
	if errors.Is(err, backends.ErrConflict) { // another process wrote it meanwhile: the next calls make it due again
		now, err := m.guidelineOf(ctx, p, t.Tool)
		if err == nil && now.holds(m.keeper.Now()) {
			t.Memory = &now.record.Memory
		}
		return err
	}
	if err != nil {
		return err
	}
	stored := put.Record.Memory.Clone()
	stored.Version = applied.Version
	t.Guideline, t.Memory, t.Outcome = written, &stored, backends.OutcomeAdded
	if st.guideline.record != nil {
		t.Outcome = backends.OutcomeUpdated
	}
	return nil
}
