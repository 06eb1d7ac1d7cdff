// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// observe turns the passages that were kept into statements about the user.
func (f *Flows) observe(ctx context.Context, d *Draft, in *intake, kept map[*passage]bool) {
	if len(kept) == 0 {
		return
	}
	stage := d.run.Stage(StageObserve)
	stage.Took(len(kept))
	stretches := f.questions(in.lines, d.lang, func(p *passage) bool { return kept[p] })
	found, bad := make([][]observation, len(stretches)), make([][]rejected, len(stretches))
	errs := each(stretches, func(i int, stretch []lineShown) error {
		tries := 0
		q := d.conversation(f.prompts(d.lang).Observe, toolObservations, stretch)
		return d.run.Ask(ctx, q, func(m *schema.Message) (err error) {
			found[i], bad[i], err = readObservations(m, numbers(stretch))
			if tries++; err == nil && len(bad[i]) > 0 && (tries == 1 || len(found[i]) == 0) {
				err = bad[i][0].err
			}
			return err
		})
	})
	for i, stretch := range stretches {
		if errs[i] != nil {
			for _, n := range numbers(stretch) {
				stage.Fail(errs[i])
				d.fail(in.passages[n].utterance, in.passages[n].text, errs[i])
			}
			continue
		}
		for _, r := range bad[i] {
			err := fmt.Errorf("%w: %w", backends.ErrModel, r.err)
			stage.Fail(err)
			if !slices.Contains(numbers(stretch), r.n) {
				r.n = numbers(stretch)[0]
			}
			d.fail(in.passages[r.n].utterance, r.text, err)
		}
		for _, o := range found[i] {
			d.statements = append(d.statements, f.state(d, in.passages[o.n], &o))
			stage.Gave(1)
		}
	}
	d.inOrder()
}

// state returns an observation as a statement. The time that it is about becomes
// Valid where it is not ahead: a plan for May holds since it was made.
func (f *Flows) state(d *Draft, p *passage, o *observation) *statement {
	m := d.memory(p.utterance, f.config.Keeper.Redact(o.text))
	m.WhenToUse = f.config.Keeper.Redact(o.keywords)
	m.Origin.Author = cmp.Or(d.request.Author, f.config.Author)
	m.Metadata[metaType] = typePlain
	if p.score > 0 {
		m.Metadata[metaScore] = float64(p.score)
	}
	if m.WhenToUse != "" {
		m.Metadata[metaKeywords] = m.WhenToUse
	}
	if o.when != "" {
		m.Metadata[metaType], m.Metadata[metaTimeInfo] = typeTimed, shorten(o.when, 200)
		if event, ok := ParsePeriod(o.when, f.config.Location); ok {
			m.Metadata[metaEvent] = event.String()
			if !event.From.After(m.Observed) {
				m.Valid = event.From.UTC()
			}
		}
	}
	return &statement{memory: m}
}

// inOrder brings the statements into the order in which they were said.
func (d *Draft) inOrder() {
	slices.SortStableFunc(d.statements, func(a, b *statement) int { return a.memory.Observed.Compare(b.memory.Observed) })
	for i, s := range d.statements {
		s.order = i
	}
}
