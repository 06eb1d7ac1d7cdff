// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

const (
	neighbours = 5 // memories that a lesson is held against
	maxPairs   = 3 // of those near to it, how many the model is shown
	maxChain   = 64
)

// try is one look at a draft against the workspace as it is now.
type try struct {
	m       *Memory
	draft   *Draft
	lessons []*lesson
}

func (m *Memory) try(d *Draft) *try {
	t := &try{m: m, draft: d}
	for i := range d.Candidates {
		if l := t.lesson(&d.Candidates[i]); l.memory.WhenToUse != "" && l.memory.Text != "" { // else all of it was redacted
			t.lessons = append(t.lessons, l)
		}
	}
	return t
}

// fail notes in the report what went wrong, once.
func (t *try) fail(stage string, err error) { t.draft.run.Stage(stage).Fail(err) }

// plan decides what is to become of each lesson.
func (t *try) plan(ctx context.Context) error {
	for _, step := range []func(context.Context) error{t.exact, t.resemble, t.decide} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.settle()
	t.joinTwins()
	return t.knownJoined(ctx)
}

// open returns the lessons that nothing was decided about.
func (t *try) open() []*lesson {
	return slices.DeleteFunc(slices.Clone(t.lessons), func(l *lesson) bool { return l.fate != fateAdd })
}

// exact finds the lessons whose words are known: in a memory that holds, in one whose
// successor does, or earlier in the request.
func (t *try) exact(ctx context.Context) error {
	first := map[string]*lesson{}
	var keys []string
	for _, l := range t.lessons {
		if l.twin = first[l.key]; l.twin != nil {
			l.fate = fateKnown
			continue
		}
		first[l.key] = l
		keys = append(keys, l.key)
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := t.m.keeper.Lookup(ctx, t.draft.workspace, keys...)
	if err != nil {
		return fmt.Errorf("task: looking for what is known: %w", err)
	}
	for _, m := range found {
		l := first[keyOf(m)]
		if l == nil || l.known != nil {
			continue
		}
		head, err := t.m.head(ctx, t.draft.workspace, m)
		if err != nil {
			return err
		}
		if head != nil {
			l.fate, l.known = fateKnown, head
		}
	}
	return nil
}

// head returns the memory that holds in the place of m, nil for none.
func (m *Memory) head(ctx context.Context, p backends.Partition, mem *backends.Memory) (*backends.Memory, error) {
	for range maxChain {
		switch {
		case mem.Kind != backends.KindTask || mem.Expired(m.keeper.Now()):
			return nil, nil
		case mem.Active():
			return mem, nil
		case mem.SupersededBy == "":
			return nil, nil
		}
		next, err := m.keeper.Held(ctx, p, mem.SupersededBy)
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		if mem = next[mem.SupersededBy]; mem == nil {
			return nil, nil
		}
	}
	return nil, nil
}

// resemble finds for each open lesson what it is near to.
func (t *try) resemble(ctx context.Context) error {
	open := t.open()
	hits := make([][]backends.Hit, len(open))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(t.m.models.Limits().Concurrency)
	for i, l := range open {
		g.Go(func() error {
			return work.Catch("task", func() (err error) {
				hits[i], err = t.search(gctx, l)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var measured []string
	for i, l := range open {
		if t.counted(l, hits[i]) {
			continue
		}
		measured = append(measured, textOfBoth(&l.memory))
		for j := range hits[i] {
			measured = append(measured, textOfBoth(&hits[i][j].Memory))
		}
	}
	if err := t.measure(ctx, measured); err != nil {
		return err
	}
	return t.compare(ctx, open, hits)
}

// compare pairs each lesson with what it is near to. Many lessons take time, and others
// wait for the workspace: it ends with the context.
func (t *try) compare(ctx context.Context, open []*lesson, hits [][]backends.Hit) error {
	for i, l := range open {
		if ctx.Err() != nil {
			return fmt.Errorf("task: comparing with what is known: %w", context.Cause(ctx))
		}
		if l.fate == fateAdd {
			t.pair(l, open[:i], hits[i])
		}
	}
	return nil
}

// search returns memories that the lesson may repeat.
func (t *try) search(ctx context.Context, l *lesson) ([]backends.Hit, error) {
	resp, err := t.m.keeper.Search(ctx, t.draft.workspace, &backends.SearchRequest{
		Scope: t.draft.scope, Query: textOfBoth(&l.memory), TopK: neighbours, Kinds: kinds,
	})
	if err == nil {
		err = resp.Degraded // a search by words alone would miss what the embedder finds
	}
	if err != nil {
		return nil, fmt.Errorf("task: looking for what is known: %w", err)
	}
	if t.m.config.Embeds {
		t.draft.run.Embedded(1)
	}
	return resp.Hits, nil
}

// counted settles a lesson that a memory is known to say in other words, or says in the
// same: one that somebody stored since [try.exact] looked.
func (t *try) counted(l *lesson, hits []backends.Hit) bool {
	for i := range hits {
		if m := &hits[i].Memory; keyOf(m) == l.key || bears(m, l.key) {
			known := hits[i].Memory.Clone()
			l.fate, l.known = fateKnown, &known
			return true
		}
	}
	return false
}

// pair notes what a lesson is near to: memories of the workspace, and lessons before
// it.
func (t *try) pair(l *lesson, before []*lesson, hits []backends.Hit) {
	near, _ := t.m.near()
	text := textOfBoth(&l.memory)
	offer := func(p *pair) {
		if p.likeness = t.likeness(text, textOfBoth(p.other())); p.likeness >= near {
			l.pairs = append(l.pairs, p)
		}
	}
	for i := range hits {
		offer(&pair{lesson: l, known: &hits[i].Memory})
	}
	for _, e := range before {
		if e.fate == fateAdd {
			offer(&pair{lesson: l, twin: e})
		}
	}
	slices.SortStableFunc(l.pairs, func(a, b *pair) int { return cmp.Compare(b.likeness, a.likeness) })
	l.pairs = l.pairs[:min(maxPairs, len(l.pairs))]
}
