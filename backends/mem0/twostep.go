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

// perFact is how many existing memories are looked up for each fact (the mem0
// paper takes 10, its code 5).
const perFact = 5

// twoStep asks for the facts first, and then for what each does to the memories
// that are near it. Where the paper overwrites and deletes, this supersedes: a
// fact that contradicts a memory takes its place in the same write, and a fact
// that no decision names is added. So a contradiction never leaves less than was
// said (mem0 issue 4536), and a fact said again never removes itself (1674).
func (b *Backend) twoStep(ctx context.Context, in *intake, usage *backends.Usage) (*plan, error) {
	lang := b.language(in)
	if n := len(in.said); n > maxMessages {
		return nil, fmt.Errorf("mem0: %d messages: %w: at most %d a call; split them", n, backends.ErrInvalid, maxMessages)
	}
	var facts []operation
	var bad []rejected
	q := &modelask.Question{
		System: b.system(in, lang, prompts(lang).additive, toolAdditive, prompts(lang).additiveAs),
		User:   in.conversation(lang), Tool: toolAdditive, Complaint: prompts(lang).complaint,
	}
	err := b.model.Ask(ctx, q, usage, func(m *schema.Message) (err error) {
		facts, bad, err = readOperations(m, limits{messages: len(in.said)})
		return err
	})
	if err != nil {
		return nil, err
	}
	known, err := b.near(ctx, in, facts, usage)
	if err != nil {
		return nil, err
	}
	pl := b.newPlan(known, bad, in)
	if len(known) == 0 {
		for i := range facts {
			pl.decisions = append(pl.decisions, b.carryOut(in, &facts[i], nil))
		}
		return pl, nil
	}
	decided, err := b.decideFacts(ctx, in, lang, facts, known, usage)
	if err != nil {
		return nil, err
	}
	pl.decisions = append(pl.decisions, b.settle(in, facts, known, decided)...)
	return pl, nil
}

// near returns the memories near the facts, each once.
func (b *Backend) near(ctx context.Context, in *intake, facts []operation, usage *backends.Usage) ([]*backends.Memory, error) {
	var known []*backends.Memory
	seen := map[string]bool{}
	for i := range facts {
		facts[i].verb, facts[i].index = verbAdd, -1
		found, err := b.candidates(ctx, in, []string{facts[i].text}, perFact, usage)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if !seen[m.ID] {
				seen[m.ID] = true
				known = append(known, m)
			}
		}
	}
	return known, nil
}

func (b *Backend) decideFacts(ctx context.Context, in *intake, lang Language, facts []operation, known []*backends.Memory, usage *backends.Usage) ([]operation, error) {
	lines := make([]factLine, len(facts))
	for i := range facts {
		lines[i] = factLine{Fact: i, Text: facts[i].text}
	}
	q := &modelask.Question{
		System: b.system(in, lang, prompts(lang).decide, toolDecide, prompts(lang).decideAs),
		User:   existing(known, lang) + section("new_facts", lines), Tool: toolDecide, Complaint: prompts(lang).complaint,
	}
	var decided []operation
	err := b.model.Ask(ctx, q, usage, func(m *schema.Message) (err error) {
		decided, _, err = readOperations(m, limits{existing: len(known), facts: len(facts)})
		return err
	})
	return decided, err
}

// settle joins the facts with what was decided about them.
func (b *Backend) settle(in *intake, facts []operation, known []*backends.Memory, decided []operation) []decision {
	mentioned := make([]bool, len(facts))
	for i := range decided {
		d := &decided[i]
		if d.fact < 0 {
			d.fact = factOf(d, facts)
		}
		if d.fact >= 0 {
			mentioned[d.fact] = true
		}
	}
	var out []decision
	for i := range decided {
		d := &decided[i]
		if d.fact < 0 && d.verb == verbAdd {
			continue // a fact in other words: it is among those that no decision names
		}
		if d.fact < 0 && d.verb != verbNone {
			if d.fact = soleUnmentioned(mentioned); d.fact >= 0 {
				mentioned[d.fact] = true
			}
		}
		out = append(out, b.settleOne(in, d, facts, known))
	}
	for i := range facts {
		if !mentioned[i] {
			out = append(out, b.carryOut(in, &facts[i], nil))
		}
	}
	return out
}

// settleOne turns one decision of the model into one of ours. A deletion on
// account of a fact is a replacement by that fact.
func (b *Backend) settleOne(in *intake, d *operation, facts []operation, known []*backends.Memory) decision {
	op := *d
	if d.fact >= 0 {
		op = facts[d.fact]
		op.verb, op.index = d.verb, d.index
		if d.verb == verbSupersede && d.text != "" {
			op.text = d.text
		}
		if d.verb == verbRetract {
			op.verb = verbSupersede
		}
	}
	if op.index < 0 {
		if op.verb == verbSupersede {
			op.verb = verbAdd
		}
		return b.carryOut(in, &op, nil)
	}
	return b.carryOut(in, &op, known[op.index])
}

// factOf finds the fact that a decision is about by its text, for models that
// repeat the text instead of the number.
func factOf(d *operation, facts []operation) int {
	for i := range facts {
		if d.text != "" && normalize(d.text) == normalize(facts[i].text) {
			return i
		}
	}
	return -1
}

// soleUnmentioned returns the only fact that no decision names, or -1.
func soleUnmentioned(mentioned []bool) int {
	sole := -1
	for i, m := range mentioned {
		switch {
		case m:
		case sole >= 0:
			return -1
		default:
			sole = i
		}
	}
	return sole
}
