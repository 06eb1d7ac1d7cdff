// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// statementShown is the JSON of a statement.
type statementShown struct {
	N      int    `json:"n"`
	Status string `json:"status"` // known or new
	Said   string `json:"said,omitempty"`
	When   string `json:"when,omitempty"`
	Text   string `json:"text"`
}

// reconcile asks how the statements relate to what is known and to each other. What
// is known word for word is not asked about, and where there is nothing to compare, no
// model is asked. An error is one of the store; those of the model are in the report,
// and their statements are not stored.
func (f *Flows) reconcile(ctx context.Context, d *Draft) error {
	if len(d.statements) == 0 {
		return nil
	}
	snap, err := f.snapshot(ctx, d)
	if err != nil {
		return err
	}
	d.seen = make(map[string]bool, len(snap.active))
	for _, m := range snap.active {
		d.seen[m.ID] = true
	}
	stage := d.run.Stage(StageReconcile)
	var open []*statement
	for _, s := range d.statements {
		if s.err != nil {
			continue
		}
		if s.within, s.against, s.extends = nil, nil, nil; snap.same(s) == nil {
			open = append(open, s)
		}
	}
	stage.Took(len(open))
	for at := 0; at < len(open); {
		n := f.fitting(open[at:])
		if err := f.compare(ctx, d, snap, open[:at], open[at:at+n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// fitting returns how many of the statements one question has room for.
func (f *Flows) fitting(open []*statement) int {
	room := max(f.config.Models.Limits().Prompt, 4*least) / 2
	for i, s := range open {
		room -= f.config.Models.Counter().Text(s.memory.Text) + 16
		if room < 0 || i == maxNumbered {
			return max(i, 1)
		}
	}
	return len(open)
}

// compare asks about one stretch of new statements, beside which stand those of the
// stretches before and what is known.
func (f *Flows) compare(ctx context.Context, d *Draft, snap *snapshot, before, fresh []*statement) error {
	stage := d.run.Stage(StageReconcile)
	before = before[max(0, len(before)-f.config.MaxKnown/2):]
	known, err := f.candidates(ctx, d, snap, fresh, f.config.MaxKnown-len(before))
	if err != nil {
		return err
	}
	parties := f.shownBeside(before, known)
	count := len(parties)
	for _, s := range fresh {
		parties = append(parties, party{other: s})
	}
	if len(parties) < 2 {
		stage.Gave(len(fresh))
		return nil
	}
	var relations []relation
	err = d.run.Ask(ctx, f.comparison(d, parties, count), func(m *schema.Message) (err error) {
		relations, err = readRelations(m, count, len(parties))
		return err
	})
	if ctx.Err() != nil {
		return fmt.Errorf("personal: %w", context.Cause(ctx))
	}
	if err != nil {
		for _, s := range fresh {
			s.err = fmt.Errorf("personal: %w", err)
			stage.Fail(err)
			d.failed = append(d.failed, backends.Item{Outcome: backends.OutcomeFailed, Memory: s.copy(), Err: s.err})
		}
		return nil
	}
	stage.Gave(len(fresh))
	for _, r := range relations {
		relate(parties[r.n].other, r.what, parties[r.other])
	}
	return nil
}

// shownBeside returns what new statements are compared with, in the order in which it
// was said, as much as half of a prompt has room for.
func (f *Flows) shownBeside(before []*statement, known []*backends.Memory) []party {
	var out []party
	room := max(f.config.Models.Limits().Prompt, 4*least) / 2
	add := func(p party) {
		if size := f.config.Models.Counter().Text(f.clip(p.memory().Text, f.clipped(), "")) + 16; size <= room {
			room -= size
			out = append(out, p)
		}
	}
	for _, s := range before {
		add(party{other: s})
	}
	for _, m := range known {
		add(party{known: shownMemory(m)})
	}
	slices.SortStableFunc(out, func(a, b party) int { return a.memory().Observed.Compare(b.memory().Observed) })
	return out
}

// clipped is how many tokens of a known memory are shown.
func (f *Flows) clipped() int { return f.config.Models.Limits().Prompt / 8 }

// comparison is the question about parties, the first of which are known.
func (f *Flows) comparison(d *Draft, parties []party, known int) *flow.Question {
	lines := make([]statementShown, len(parties))
	for i, p := range parties {
		m := p.memory()
		lines[i] = statementShown{N: i, Status: "new", Text: m.Text}
		if i < known {
			lines[i].Status, lines[i].Text = "known", f.clip(f.config.Keeper.Redact(m.Text), f.clipped(), phrasesOf(d.lang).leftOut)
		}
		if !m.Observed.IsZero() {
			lines[i].Said = m.Observed.In(f.config.Location).Format(time.DateOnly)
		}
		if event, ok := f.event(m); ok {
			lines[i].When = event.day()
		}
	}
	q := f.question(d.lang, f.prompts(d.lang).Reconcile, toolRelations, d.request.Instructions)
	q.User = section("statements", lines)
	return q
}

// relate notes a relation. Which side of a contradiction holds is not the model's to
// say: see batch.
func relate(s *statement, what string, other party) {
	switch {
	case what == relationContradicts:
		s.against = append(s.against, other)
	case what == relationContained && other.other != nil && other.other.within != nil && other.other.within.other == s:
		// each within the other: the first stays
	case what == relationContained:
		s.within = &other
	case other.other != nil: // it extends another new one
		if s.within == nil || s.within.other != other.other {
			other.other.within = &party{other: s}
		}
	case !s.memory.Observed.Before(other.known.Observed):
		s.extends = append(s.extends, other)
	}
}
