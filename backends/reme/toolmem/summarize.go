// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// SummaryRequest asks for guidelines to be written.
type SummaryRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	// Tools are names as they are, ToolNames names with commas between them. Optional.
	// Default to all tools of the workspace with calls.
	Tools     []string
	ToolNames string

	Force       bool // write even where few calls, or none, are new
	KeepPartial bool // store what succeeded although something else failed
}

// Outcome says what became of a tool's guideline.
type Outcome string

// The outcomes.
const (
	OutcomeWritten   Outcome = "written"
	OutcomeUnchanged Outcome = "unchanged" // no call is new since it was written
	OutcomeNotDue    Outcome = "not_due"   // fewer than RefreshAfter calls are new
	OutcomeFailed    Outcome = "failed"    // Err says why
	OutcomeUnknown   Outcome = "unknown"   // no call of the tool is kept
)

// ToolSummary tells what became of one tool.
type ToolSummary struct {
	Tool       string
	Outcome    Outcome
	New        int64  // calls since the last guideline
	Guideline  string // as written now
	Statistics Statistics
	Memory     *backends.Memory // as stored; with OutcomeUnchanged the one that stood
	Err        error
}

// SummaryResponse tells what became of a [SummaryRequest].
type SummaryResponse struct {
	Tools  []ToolSummary // in the order asked for
	Report flow.Report
}

// Draft is what a summary would store: see [Memory.Draft].
type Draft struct {
	p       backends.Partition
	run     *flow.Run
	partial bool
	tools   []drafted
}

// drafted is one tool of a draft.
type drafted struct {
	ToolSummary
	log      *history
	version  int64 // of the record that the guideline goes on from; 0: none
	by       string
	language flow.Language
}

// Summarize writes guidelines: [Memory.Draft] and [Memory.Store] in one.
//
// A tool is left out if none of its calls are new, or fewer than Config.RefreshAfter,
// unless the request forces it. One failure is an error, and nothing is stored, unless
// KeepPartial is set; the response is returned beside it. No tool of which calls are
// kept is ErrNotFound.
func (m *Memory) Summarize(ctx context.Context, r *SummaryRequest) (*SummaryResponse, error) {
	d, err := m.Draft(ctx, r)
	if err != nil {
		return nil, err
	}
	return m.Store(ctx, d)
}

// Draft does all the work of a summary, tools concurrently, and writes nothing. What
// failed is in the draft: Store tells of it.
func (m *Memory) Draft(ctx context.Context, r *SummaryRequest) (*Draft, error) {
	if r == nil {
		return nil, fmt.Errorf("toolmem: %w: no request", backends.ErrInvalid)
	}
	_, p, err := m.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	tools, err := names(r.Tools, r.ToolNames)
	if err == nil && len(tools) == 0 {
		tools, err = m.tools(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	cards, err := m.cards(ctx, p, tools)
	if err != nil {
		return nil, err
	}
	d := &Draft{p: p, run: m.cfg.Models.Begin(), partial: r.KeepPartial, tools: make([]drafted, len(tools))}
	var all errgroup.Group
	all.SetLimit(m.cfg.Models.Limits().Concurrency)
	for i, tool := range tools {
		all.Go(func() error {
			t := &d.tools[i]
			t.Tool = tool
			if err := guarded(func() error { m.draft(ctx, d, t, cards[tool], r.Force); return nil }); err != nil {
				t.fail(d.run.Stage(StageGuideline), err)
			}
			return nil
		})
	}
	return d, all.Wait()
}

// draft fills in one tool.
func (m *Memory) draft(ctx context.Context, d *Draft, t *drafted, old *card, force bool) {
	read := d.run.Stage(StageRead)
	read.Took(1)
	var err error
	if t.log, err = m.read(ctx, d.p, t.Tool, m.cfg.History, time.Time{}); err != nil {
		t.fail(read, err)
		return
	}
	m.addLoaded(t.log, old, time.Time{})
	if old.record != nil {
		t.version = old.record.Version
	}
	t.New = old.unseen(t.log)
	calls := m.redacted(t.log.newest(m.cfg.Window))
	t.Statistics = m.statistics(t.Tool, calls, t.log, old)
	switch {
	case t.log.total == 0 || len(calls) == 0:
		t.Outcome = OutcomeUnknown
	case !force && t.New == 0 && old.usable(m.cfg.Clock()):
		t.Outcome, t.Memory = OutcomeUnchanged, &old.record.Memory
	case !force && t.New < int64(m.cfg.RefreshAfter):
		t.Outcome = OutcomeNotDue
	}
	if t.Outcome != "" {
		read.Drop(1)
		return
	}
	read.Gave(1)
	write := d.run.Stage(StageGuideline)
	write.Took(1)
	t.language = m.language(materialOf(calls)...)
	if t.Guideline, t.by, err = m.guideline(ctx, d.run, t, calls, old); err != nil {
		t.fail(write, err)
		return
	}
	t.Outcome = OutcomeWritten
	write.Gave(1)
}

func (t *drafted) fail(stage *flow.Stage, err error) {
	t.Outcome, t.Err = OutcomeFailed, err
	stage.Fail(fmt.Errorf("tool %q: %w", t.Tool, err))
}

// statistics measures calls of a tool, of which the log may hold more.
func (m *Memory) statistics(tool string, calls []Call, h *history, c *card) Statistics {
	s := Measure(calls)
	gone, ahead := c.gone(h)
	for _, n := range ahead {
		gone += n
	}
	s.Tool, s.Total = tool, h.total+gone
	return s
}

// materialOf returns what tells the language of calls.
func materialOf(calls []Call) []string {
	var out []string
	for i := range calls {
		out = append(out, readable(calls[i].Input), clip(calls[i].Output, 1<<10))
	}
	return out
}

// guideline writes a guideline, by the model if there is one.
func (m *Memory) guideline(ctx context.Context, run *flow.Run, t *drafted, calls []Call, old *card) (text, by string, err error) {
	if !run.Models().HasModel() {
		return m.redact(guidelineByRules(t.language, t.Statistics, calls)), JudgeRules, nil
	}
	q := m.question(t.language, toolGuideline, m.material(t, calls, old))
	err = run.Ask(ctx, q, func(out *schema.Message) (err error) {
		text, err = readGuideline(out)
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("toolmem: %w", err)
	}
	if text = strings.TrimSpace(m.redact(text)); text == "" {
		return "", "", fmt.Errorf("toolmem: %w: nothing is left of the guideline without its secrets", backends.ErrModel)
	}
	return text, JudgeModel, nil
}

// tools returns the names of the tools of which calls are kept, also of those whose
// calls came with a library, in order.
func (m *Memory) tools(ctx context.Context, p backends.Partition) ([]string, error) {
	all, err := m.list(ctx, p)
	if err != nil {
		return nil, err
	}
	memories, err := m.keeper.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, memory := range memories {
		calls, _ := memory.Metadata[metaLoaded].([]any)
		if name := cardName(p, memory); name != "" && len(calls) > 0 && memory.Active() {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		err = fmt.Errorf("toolmem: tools of %s: %w: no call is kept; Record keeps them", p, backends.ErrNotFound)
	}
	return all, err
}

// unknown returns an error if nothing is known of any tool.
func (d *Draft) unknown() error {
	for i := range d.tools {
		if d.tools[i].Outcome != OutcomeUnknown {
			return nil
		}
	}
	return fmt.Errorf("toolmem: tools of %s: %w: no call of them is kept; Record keeps them", d.p, backends.ErrNotFound)
}

// errs returns what failed, of all tools.
func (d *Draft) errs() error {
	var all []error
	for i := range d.tools {
		if err := d.tools[i].Err; err != nil {
			all = append(all, fmt.Errorf("tool %q: %w", d.tools[i].Tool, err))
		}
	}
	return errors.Join(all...)
}
