// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/modelask"
)

// reconcile asks once: what is known and what was said go in, operations come
// out.
func (b *Backend) reconcile(ctx context.Context, in *intake, usage *backends.Usage) (*plan, error) {
	lang := b.language(in)
	known, ops, bad, err := b.extract(ctx, in, lang, &modelask.Question{
		System: b.system(in, lang, prompts(lang).reconcile, toolReconcile, prompts(lang).reconcileAs),
		Tool:   toolReconcile, Complaint: prompts(lang).complaint,
	}, usage)
	if err != nil {
		return nil, err
	}
	pl := b.newPlan(known, bad, in)
	for i := range ops {
		op := &ops[i]
		var target *backends.Memory
		if op.index >= 0 {
			target = known[op.index]
		}
		pl.decisions = append(pl.decisions, b.carryOut(in, op, target))
	}
	return pl, nil
}

// additive asks once for facts to add.
func (b *Backend) additive(ctx context.Context, in *intake, usage *backends.Usage) (*plan, error) {
	lang := b.language(in)
	known, ops, bad, err := b.extract(ctx, in, lang, &modelask.Question{
		System: b.system(in, lang, prompts(lang).additive, toolAdditive, prompts(lang).additiveAs),
		Tool:   toolAdditive, Complaint: prompts(lang).complaint,
	}, usage)
	if err != nil {
		return nil, err
	}
	pl := b.newPlan(known, bad, in)
	for i := range ops {
		op := &ops[i]
		if op.verb == verbRetract || op.verb == verbNone {
			continue
		}
		op.verb, op.index = verbAdd, -1
		pl.decisions = append(pl.decisions, b.carryOut(in, op, nil))
	}
	return pl, nil
}

// extract shows the model what is known and what was said, and reads its answer.
func (b *Backend) extract(ctx context.Context, in *intake, lang Language, q *modelask.Question, usage *backends.Usage) (known []*backends.Memory, ops []operation, bad []rejected, err error) {
	if n := len(in.said); n > maxMessages {
		return nil, nil, nil, fmt.Errorf("mem0: %d messages: %w: at most %d a call; split them", n, backends.ErrInvalid, maxMessages)
	}
	if known, err = b.candidates(ctx, in, in.texts(), memoriesShown, usage); err != nil {
		return nil, nil, nil, err
	}
	q.User = existing(known, lang) + in.conversation(lang)
	err = b.model.Ask(ctx, q, usage, func(m *schema.Message) error {
		ops, bad, err = readOperations(m, limits{existing: len(known), messages: len(in.said)})
		return err
	})
	return known, ops, bad, err
}

func (in *intake) texts() []string {
	texts := make([]string, len(in.said))
	for i := range in.said {
		texts[i] = in.said[i].text
	}
	return texts
}

// newPlan starts a plan with what the model was shown and what it got wrong.
func (b *Backend) newPlan(known []*backends.Memory, bad []rejected, in *intake) *plan {
	pl := &plan{shown: map[string]bool{}, author: in.author(b.author)}
	for _, m := range known {
		pl.shown[m.ID] = true
	}
	for _, r := range bad {
		pl.decisions = append(pl.decisions, decision{
			outcome: backends.OutcomeFailed, memory: in.memory(backends.KindFact, b.config.Redact(r.text)),
			err: fmt.Errorf("mem0: %w: %w", backends.ErrModel, r.err),
		})
	}
	return pl
}

// carryOut turns an operation into a decision.
func (b *Backend) carryOut(in *intake, op *operation, target *backends.Memory) decision {
	switch op.verb {
	case verbRetract:
		said := b.fact(in, op) // when it was said, it held no more
		return decision{outcome: backends.OutcomeRetracted, target: target, at: since(&said), memory: *target}
	case verbSupersede:
		return decision{outcome: backends.OutcomeSuperseded, target: target, memory: b.fact(in, op)}
	case verbNone:
		d := decision{outcome: backends.OutcomeUnchanged, memory: b.fact(in, op)}
		if target != nil {
			d.memory = target.Clone()
		}
		return d
	}
	return decision{outcome: backends.OutcomeAdded, memory: b.fact(in, op)}
}

// fact is what an operation says, with where it comes from: the messages that
// the model named, else all of those that its speaker said.
func (b *Backend) fact(in *intake, op *operation) backends.Memory {
	m := in.memory(backends.KindFact, b.config.Redact(op.text))
	m.Valid = op.since
	m.Origin.Author = in.author(b.author)
	m.Origin.Role = op.saidBy
	from := op.messages
	if len(from) == 0 {
		for i := range in.said {
			if op.saidBy == "" || in.said[i].role == op.saidBy {
				from = append(from, i)
			}
		}
	}
	if len(from) == 0 { // said by nobody in this batch
		for i := range in.said {
			from = append(from, i)
		}
	}
	if m.Origin.Role == "" {
		m.Origin.Role = in.said[from[0]].role
	}
	for k, i := range from {
		u := &in.said[i]
		if k == 0 {
			m.Observed, m.Origin.Turn = u.time, u.turn
		}
		if u.time.After(m.Observed) {
			m.Observed = u.time
		}
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.id)
		if u.speaker != "" && u.role == m.Origin.Role && m.Origin.Speaker == "" {
			m.Origin.Speaker = u.speaker
		}
	}
	return m
}
