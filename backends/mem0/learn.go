// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/reconcile"
	"github.com/einomem/einomem/internal/text"
)

const (
	maxQuestions  = 32   // that one Add takes, of 12,000 tokens or 50 messages each: what a batch of the log has time for
	memoriesShown = 10   // to a model
	stepRunes     = 6000 // of each message that is shown for a procedure, at most

	authorVerbatim = "verbatim" // of memories that no model wrote
	authorProgram  = "program"  // of what Remember adds
)

// add learns from a request.
func (b *Backend) add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	scope, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	call, err := b.engine.Begin(ctx, reconcile.Request{AddRequest: r, Scope: scope, Partition: p})
	if err != nil {
		return nil, err
	}
	if r.Verbatim || b.config.Mode == Verbatim { // it waits for no model
		if err := b.verbatim(ctx, call); err != nil {
			return nil, err
		}
		return call.Store(ctx)
	}
	return call.Learn(ctx, func(ctx context.Context) error { return b.decide(ctx, call) })
}

// verbatim decides to store what was said as it was said, one memory a message. It is an
// episode unless the request asks for facts or names an author: what is written down on
// purpose is a statement, and not something that was said.
func (b *Backend) verbatim(ctx context.Context, c *reconcile.Call) error {
	kind := c.Kind
	switch kind {
	case "":
		kind = backends.KindEpisode
		if c.Author != "" {
			kind = backends.KindFact
		}
	case backends.KindEpisode, backends.KindFact:
	case backends.KindProcedure:
		return b.procedure(ctx, c, true)
	default:
		return fmt.Errorf("mem0: kind %q: %w: verbatim messages are of kind episode, fact or procedure", kind, backends.ErrInvalid)
	}
	for _, u := range c.Said() {
		m := c.Verbatim(kind, u, authorVerbatim)
		if c.Author != "" && kind == backends.KindFact && u.Role == string(schema.User) { // who writes it down is not the user
			m.Origin.Role = ""
		}
		c.Add(m)
	}
	return nil
}

// decide asks the model what to store, and keeps the messages beside it.
func (b *Backend) decide(ctx context.Context, c *reconcile.Call) error {
	switch {
	case c.Kind == backends.KindProcedure:
		return b.procedure(ctx, c, false)
	case c.Kind != "" && c.Kind != backends.KindFact:
		return fmt.Errorf("mem0: kind %q: %w: a model writes facts and procedures; with Verbatim episodes may be stored", c.Kind, backends.ErrInvalid)
	case len(c.Said()) == 0:
		return nil
	}
	if err := b.ask(ctx, c); err != nil {
		return err
	}
	c.KeepNotes()
	if b.config.FactsOnly || c.Author != "" { // what an author writes down was not said
		return nil
	}
	for _, u := range c.Said() {
		c.Add(c.Verbatim(backends.KindEpisode, u, authorVerbatim))
	}
	return nil
}

func (b *Backend) ask(ctx context.Context, c *reconcile.Call) error {
	switch b.config.Mode {
	case Additive:
		q := b.factsQuestion(c)
		q.AddOnly = true
		return c.Reconcile(ctx, q)
	case TwoStep:
		return b.twoStep(ctx, c)
	}
	return c.Reconcile(ctx, &reconcile.Question{
		System: b.system(c, prompts(c.Language).reconcile, b.config.Prompt), Tool: "remember", Purpose: "Carry out operations on the memory.",
		Ask: reconcile.Asked[operations],
	})
}

// factsQuestion asks for facts, whatever is known.
func (b *Backend) factsQuestion(c *reconcile.Call) *reconcile.Question {
	return &reconcile.Question{
		System: b.system(c, prompts(c.Language).additive, b.config.Prompt), Tool: "remember_facts", Purpose: "Add facts to the memory.",
		Ask: reconcile.Asked[operations],
	}
}

// system puts the fixed part of a question together. custom replaces rules and task.
func (b *Backend) system(c *reconcile.Call, task, custom string) string {
	p := prompts(c.Language)
	parts := []string{cmp.Or(custom, p.rules+"\n\n"+task)}
	if c.Partition.Kind == backends.PartitionAgent {
		parts = append(parts, p.agent)
	}
	if c.Author == backends.AuthorAgent {
		parts = append(parts, p.notes)
	}
	if instructions := cmp.Or(strings.TrimSpace(c.Instructions), strings.TrimSpace(b.config.Instructions)); instructions != "" {
		parts = append(parts, p.instruct+"\n"+instructions)
	}
	return strings.Join(parts, "\n\n")
}

// operations are the answer of a model. Where only facts are asked for they have no Op.
type operations struct {
	Operations []operation `json:"operations" alias:"decisions,facts,memory,memories,results" jsonschema_description:"empty if nothing is worth keeping"`
}

type operation struct {
	Op       string `json:"op,omitempty" alias:"event,operation,action" jsonschema:"enum=add,enum=supersede,enum=retract,enum=none"`
	Index    *int   `json:"index,omitempty" alias:"id,memory_id,existing,target,replaces" jsonschema_description:"of the existing memory, for all but add"`
	Text     string `json:"text,omitempty" alias:"fact,memory,content,new_memory" jsonschema_description:"the fact, in the language it was said in"`
	SaidBy   string `json:"said_by,omitempty" alias:"attributed_to,role,speaker" jsonschema:"enum=user,enum=assistant"`
	Since    string `json:"since,omitempty" alias:"valid_from,valid,date" jsonschema_description:"YYYY-MM-DD, if it matters from when it holds"`
	Messages []int  `json:"messages" jsonschema_description:"n of the new messages that say it"`

	Rest map[string]any `json:"-"`
}

// Check implements the check of entries of package ask.
func (o *operation) Check() error {
	if o.Op == "" && o.Text == "" {
		return errors.New("neither op nor text")
	}
	_, err := reconcile.VerbOf(o.Op)
	return errors.Join(err, reconcile.Echo(o.Rest))
}

// Decoded returns the operations, nil if the answer has no list.
func (o *operations) Decoded() []reconcile.Operation {
	if o.Operations == nil {
		return nil
	}
	out := make([]reconcile.Operation, len(o.Operations))
	for i, e := range o.Operations {
		verb, _ := reconcile.VerbOf(e.Op)
		out[i] = reconcile.Operation{
			Verb: verb, Index: indexOf(e.Index), Text: e.Text, SaidBy: reconcile.RoleOf(e.SaidBy), Since: text.Time(e.Since, time.UTC), Messages: e.Messages,
		}
	}
	return out
}

func indexOf(n *int) int {
	if n == nil {
		return reconcile.None
	}
	return *n
}

// procedure decides to write down what the agent did as one memory, in the words of the model
// or verbatim. Unlike a fact it needs the tool calls and their results; the model is shown
// them, and they are stored only as far as it writes them down.
func (b *Backend) procedure(ctx context.Context, c *reconcile.Call, verbatim bool) error {
	lines, err := b.trajectory(c)
	if err != nil || len(lines) == 0 {
		return err
	}
	written, author := "", b.engine.Author
	if verbatim {
		author = authorVerbatim
		for _, l := range lines {
			written += l.Role + ": " + l.Text + "\n"
		}
	} else {
		p := prompts(c.Language)
		system := p.procedure
		if instructions := strings.TrimSpace(c.Instructions); instructions != "" {
			system += "\n\n" + p.instruct + "\n" + instructions
		}
		q := &ask.Question{System: system, User: ask.Section("messages", lines), Language: c.Language}
		if written, err = ask.Text(ctx, c.Run, q, nil); err != nil {
			return err
		}
	}
	m := c.Memory(backends.KindProcedure, b.keep.Redact(strings.TrimSpace(written)))
	m.Origin.Role, m.Origin.Author = string(schema.Assistant), cmp.Or(c.Author, author)
	for _, u := range c.Said() {
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
	}
	c.Add(m)
	return nil
}

// trajectory renders everything that was said and done, without system messages
// and notes.
func (b *Backend) trajectory(c *reconcile.Call) ([]reconcile.Line, error) {
	if c.Scope.AgentID == "" {
		return nil, fmt.Errorf("mem0: a procedure: %w: needs Scope.AgentID, the agent that did it", backends.ErrInvalid)
	}
	var lines []reconcile.Line
	for _, m := range c.Messages {
		if m.Message == nil || m.Role == schema.System || einox.IsNote(m.Message) {
			continue
		}
		said := einox.Text(m.Message)
		for _, call := range m.ToolCalls {
			said += "\n" + call.Function.Name + "(" + call.Function.Arguments + ")"
		}
		if !utf8.ValidString(said) {
			return nil, fmt.Errorf("mem0: message %q: %w: not UTF-8", m.ID, backends.ErrInvalid)
		}
		if said = strings.TrimSpace(b.keep.Redact(said)); said != "" {
			step := text.Middle(said, min(stepRunes, max(200, 10*stepRunes/len(c.Messages))))
			if step != said {
				u := &reconcile.Utterance{ID: m.ID, Turn: m.Turn, Role: string(m.Role), Time: m.Time}
				c.Skip(u, said, errors.New("a procedure is written down without the middle of its long messages"))
			}
			lines = append(lines, reconcile.Line{Role: string(m.Role), Name: m.ToolName, Text: step})
		}
	}
	return lines, nil
}
