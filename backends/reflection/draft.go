// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/work"
)

// draft is a plan in the making.
type draft struct {
	*Reflector
	keep      *keeper.Keeper
	scope     backends.Scope
	partition backends.Partition
	request   *Request
	now       time.Time
	analysis  *recall.Words

	plan  *Plan
	run   *ask.Run
	byID  map[string]*backends.Memory
	said  map[string]bool // current or planned texts, by their words
	taken map[string]bool // memories that an operation changes, or keeps
	block *Operation      // the new content of the core block; nil if there is none
	limit int             // runes of it
}

// Draft returns a plan for the memories that the request names, and writes nothing. With a model it
// asks once for each 50 memories, and once more after a bad answer. Equal memories and answers give
// equal operations.
//
// Errors: ErrNoScope, ErrInvalid for an unknown rule, ErrUnavailable, ErrModel. Beside an error of
// the model the plan holds the findings of the rules so far.
func (r *Reflector) Draft(ctx context.Context, q *Request) (_ *Plan, err error) {
	defer work.Recover("reflect", &err)
	if q == nil {
		return nil, fmt.Errorf("reflection: %w: no request", backends.ErrInvalid)
	}
	keep, scope, p, err := r.home(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	if err := check(q.Rules); err != nil {
		return nil, err
	}
	d := &draft{
		Reflector: r, keep: keep, scope: scope, partition: p, request: q, now: keep.Now(), analysis: keep.Ranker().Words(),
		plan: &Plan{ID: backends.NewID(), Partition: p, Created: keep.Now()}, run: r.model.Begin(ask.Limits{Calls: q.Calls, Tokens: q.Tokens}),
		byID: map[string]*backends.Memory{}, said: map[string]bool{}, taken: map[string]bool{},
	}
	err = d.make(ctx)
	if d.plan.Usage = d.run.Usage(); err != nil {
		err = fmt.Errorf("reflection: %w", err)
	}
	return d.plan, err
}

// wants reports whether the request asks for a rule.
func (d *draft) wants(rule Rule) bool {
	rules := d.request.Rules
	if len(rules) == 0 {
		rules = d.Rules
	}
	return slices.Contains(rules, rule)
}

// changed reports whether a memory changed since the request's time.
func (d *draft) changed(m *backends.Memory) bool {
	return !m.Created.Before(d.request.Since) || !m.Updated.Before(d.request.Since)
}

// add puts an operation into the plan, unless another one has its memories.
func (d *draft) add(o *Operation) bool {
	about := slices.Clone(o.Changes)
	if o.Stays != nil {
		about = append(about, *o.Stays)
	}
	if slices.ContainsFunc(about, func(s Seen) bool { return d.taken[s.ID] }) || !d.isNews(o) {
		return false
	}
	for _, s := range about {
		d.taken[s.ID] = true
	}
	d.plan.Operations = append(d.plan.Operations, *o)
	return true
}

// isNews reports whether one of the memories that an operation names has changed since the
// request's time.
func (d *draft) isNews(o *Operation) bool {
	return len(o.seen()) == 0 || slices.ContainsFunc(o.seen(), func(s Seen) bool { return d.byID[s.ID] == nil || d.changed(d.byID[s.ID]) })
}

// statements are the kinds of knowledge about people; lessons are compared among themselves.
var statements = []backends.Kind{backends.KindFact, backends.KindPersonal, backends.KindInsight}

func (d *draft) make(ctx context.Context) error {
	all, err := d.keep.All(ctx, d.partition)
	if err != nil {
		return err
	}
	var said, lessons []*backends.Memory
	for _, m := range all {
		if d.byID[m.ID] = m; m.Active() {
			d.said[keeper.TextKey(backends.KindInsight, "", m.Text)] = true
		}
	}
	held := func(id string) *backends.Memory { return d.byID[id] }
	for _, m := range all {
		switch {
		case !m.Stands(d.now, held):
		case m.Kind == backends.KindTask:
			lessons = append(lessons, m)
		case slices.Contains(statements, m.Kind):
			said = append(said, m)
		}
	}
	if d.wants(Insights) {
		d.fallen(all)
	}
	d.plan.Memories = len(said) + len(lessons)
	if err := d.readBlock(ctx); err != nil {
		return err
	}
	var errs []error
	for _, memories := range [][]*backends.Memory{said, lessons} {
		if len(memories) > 0 {
			errs = append(errs, d.compare(ctx, memories))
		}
	}
	if d.block != nil && d.block.Text != d.block.Changes[0].Text {
		d.plan.Operations = append(d.plan.Operations, *d.block)
	}
	d.dropUnsupported()
	return errors.Join(errs...)
}

// readBlock reads the core block to write anew, if the scope has it.
func (d *draft) readBlock(ctx context.Context) error {
	if d.model == nil || d.Blocks == nil || d.Block == "" || !d.wants(Block) {
		return nil
	}
	r, limit, err := d.Blocks.Record(ctx, d.scope, d.Block)
	if errors.Is(err, backends.ErrNoScope) || err == nil && r.Scope.UserID != d.partition.Scope().UserID {
		return nil
	}
	if err == nil {
		d.limit, d.block = limit, &Operation{Op: EditBlock, Rule: Block, Reason: promptsIn[d.Language.For(r.Text)].followed, Changes: seeAll(&r.Memory), Into: d.Block, Text: r.Text}
	}
	return err
}

// dropUnsupported drops insights whose evidence the plan itself ends.
func (d *draft) dropUnsupported() {
	ends := map[string]bool{}
	for _, o := range d.plan.Operations {
		for _, s := range o.Changes {
			ends[s.ID] = o.Op != Merge && o.Op != Field && o.Op != Promote
		}
	}
	d.plan.Operations = slices.DeleteFunc(d.plan.Operations, func(o Operation) bool {
		return o.Op == Insight && slices.ContainsFunc(o.Evidence, func(s Seen) bool { return ends[s.ID] })
	})
}

// compare finds operations about memories of one sort: by rules, then by the model.
func (d *draft) compare(ctx context.Context, memories []*backends.Memory) error {
	p, err := newPool(ctx, d.keep, d.partition, memories)
	if err != nil {
		return err
	}
	c := &comparison{d, p}
	if d.wants(Duplicates) {
		c.duplicates()
	}
	if d.wants(Contradictions) {
		c.contradictions()
	}
	if d.wants(Stale) {
		if err := c.stale(ctx); err != nil {
			return err
		}
	}
	if d.wants(Lessons) {
		c.lessons()
	}
	if d.wants(Promotion) {
		if err := c.promotions(ctx); err != nil {
			return err
		}
	}
	return c.ask(ctx)
}

// promoter is implemented by backends that share facts with a workspace, as mem0 does.
type promoter interface {
	Promote(ctx context.Context, s backends.Scope, id string) (*backends.Memory, error)
}

// copies returns a workspace's copies of the facts of a partition, by their ids there.
func copies(ctx context.Context, k *keeper.Keeper, of, team backends.Partition) (map[string]*backends.Memory, error) {
	all, err := k.All(ctx, team)
	out := map[string]*backends.Memory{}
	for _, m := range all {
		if id, ok := m.Metadata[backends.MetaPromotedFrom].(string); ok && m.Scope.UserID == of.Scope().UserID {
			out[id] = m
		}
	}
	return out, err
}

// mergeInto returns the operation by which memories give way to one of them.
func (d *draft) mergeInto(same []*backends.Memory, stays *backends.Memory, reason string, rule Rule) *Operation {
	o := &Operation{Op: Merge, Rule: rule, Reason: reason, Stays: ref(stays)}
	for _, m := range same {
		if m.ID != stays.ID {
			o.Changes = append(o.Changes, see(m))
		}
	}
	if stays.Kind == backends.KindTask { // each that agrees is a vote
		o.Votes = len(o.Changes)
	}
	return o
}
