// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"errors"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/reconcile"
)

// decisions are the answer of a model in the second step.
type decisions struct {
	Decisions []decision `json:"decisions" alias:"memory,memories,operations,results" jsonschema_description:"one entry a fact"`
}

type decision struct {
	Fact  *int   `json:"fact" jsonschema_description:"its number"`
	Event string `json:"event" alias:"op,operation,action" jsonschema:"enum=ADD,enum=UPDATE,enum=DELETE,enum=NONE"`
	Index *int   `json:"index,omitempty" alias:"id,memory_id,existing,target" jsonschema_description:"of the existing memory, for UPDATE, DELETE and NONE"`
	Text  string `json:"text,omitempty" alias:"memory,content,new_memory" jsonschema_description:"for UPDATE: the memory as it reads from now on"`
}

// Check implements the check of entries of package ask.
func (d *decision) Check() error {
	if d.Fact == nil {
		return errors.New("it names no fact")
	}
	_, err := reconcile.VerbOf(d.Event)
	return err
}

// factLine is a fact as the model is shown it.
type factLine struct {
	Fact int    `json:"fact"`
	Text string `json:"text"`
}

// twoStep asks for the facts first, and then for what each does to the memories
// that are near it. Where the paper overwrites and deletes, this supersedes: a
// fact that contradicts a memory takes its place in the same write, and a fact
// that no decision names is added. So a contradiction never leaves less than was
// said (mem0 issue 4536), and a fact said again never removes itself (1674).
func (b *Backend) twoStep(ctx context.Context, c *reconcile.Call) error {
	c.SkipWishes()
	facts, err := c.Extract(ctx, b.factsQuestion(c))
	if err != nil {
		return err
	}
	facts = slices.DeleteFunc(facts, func(f reconcile.Operation) bool { return f.Verb != reconcile.Add })
	texts := make([]string, len(facts))
	for i := range facts {
		texts[i] = facts[i].Text
	}
	known, err := c.Candidates(ctx, texts)
	if err != nil {
		return err
	}
	var decided []decision
	if len(known) > 0 && len(facts) > 0 && !b.engine.Model.Small() {
		decided, err = b.decideFacts(ctx, c, facts, known)
		if errors.Is(err, ask.ErrUnusable) { // the facts are added
			c.Fail(c.Said()[0], err)
		} else if err != nil {
			return err
		}
	}
	named := map[int]bool{}
	for _, d := range decided {
		named[*d.Fact] = true
		carryOut(c, d, facts[*d.Fact], known)
	}
	for i := range facts {
		if !named[i] {
			c.Decide(&facts[i], nil)
		}
	}
	return nil
}

// decideFacts asks what the facts do to what is known.
func (b *Backend) decideFacts(ctx context.Context, c *reconcile.Call, facts []reconcile.Operation, known []*backends.Memory) ([]decision, error) {
	lines := make([]factLine, len(facts))
	for i := range facts {
		lines[i] = factLine{Fact: i, Text: facts[i].Text}
	}
	answer, err := ask.For(ctx, c.Run, &ask.Question{
		System: b.system(c, prompts(c.Language).rules, prompts(c.Language).decide), User: c.Existing(known) + ask.Section("new_facts", lines),
		Tool: "decide_facts", Purpose: "Decide what each new fact does to the memory.", Language: c.Language,
	}, func(a *decisions) error {
		if a.Decisions == nil {
			return errors.New("the JSON holds no list of entries")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(answer.Value.Decisions, func(d decision) bool { return *d.Fact < 0 || *d.Fact >= len(facts) }), nil
}

// carryOut carries out a decision about a fact. A deletion on account of a fact is a
// replacement by that fact.
func carryOut(c *reconcile.Call, d decision, fact reconcile.Operation, known []*backends.Memory) {
	fact.Verb, _ = reconcile.VerbOf(d.Event)
	if fact.Verb == reconcile.Supersede && d.Text != "" {
		fact.Text = d.Text
	}
	if fact.Verb == reconcile.Retract {
		fact.Verb = reconcile.Supersede
	}
	var target *backends.Memory
	if n := indexOf(d.Index); n >= 0 && n < len(known) {
		target = known[n]
	}
	c.Decide(&fact, target)
}
