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

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/internal/text"
)

const (
	maxQuestions = 32    // of one Add, with 12,000 tokens or 50 messages each: a batch of the log has time for them
	knownTokens  = 1_500 // of known facts that a model sees

	authorVerbatim = "verbatim" // of messages stored as they were said
	authorProgram  = "program"  // of Remember's facts
)

// add learns from a request.
func (b *Backend) add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	of := b.partition
	if r.Kind == backends.KindDocument {
		of = b.reach
	}
	scope, p, err := of(ctx, r.Scope)
	if err == nil && len(r.Documents) > 0 && r.Kind != backends.KindDocument {
		err = fmt.Errorf("mem0: %w: Documents are of Kind %s", backends.ErrInvalid, backends.KindDocument)
	}
	if err != nil {
		return nil, err
	}
	call, err := b.engine.Begin(ctx, reconcile.Request{AddRequest: r, Scope: scope, Partition: p})
	if err != nil {
		return nil, err
	}
	if r.Kind == backends.KindDocument {
		return b.addDocuments(ctx, call)
	}
	if r.Verbatim || b.config.Model == nil { // only the store is needed
		if err := verbatim(call); err != nil {
			return nil, err
		}
		return call.Store(ctx)
	}
	return call.Learn(ctx, func(ctx context.Context) error { return b.decide(ctx, call) })
}

// verbatim decides to store messages as they were said, one memory each. They are episodes unless
// the request asks for facts or names an author: deliberate notes are statements rather than
// speech.
func verbatim(c *reconcile.Call) error {
	kind := c.Kind
	switch kind {
	case "":
		kind = backends.KindEpisode
		if c.Author != "" {
			kind = backends.KindFact
		}
	case backends.KindEpisode, backends.KindFact:
	default:
		return fmt.Errorf("mem0: kind %q: %w: verbatim messages are of kind episode or fact", kind, backends.ErrInvalid)
	}
	if kind == backends.KindEpisode {
		c.SkipWishes()
		c.KeepSaid(authorVerbatim)
		return nil
	}
	for _, u := range c.Said() {
		m := c.Verbatim(kind, u, authorVerbatim)
		if c.Author != "" && u.Role == string(schema.User) { // the author is not the user
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
		return b.procedure(ctx, c)
	case c.Kind != "" && c.Kind != backends.KindFact:
		return fmt.Errorf("mem0: kind %q: %w: a model writes facts and procedures; with Verbatim episodes may be stored", c.Kind, backends.ErrInvalid)
	case len(c.Said()) == 0:
		return nil
	}
	idle, err := b.idle(ctx, c)
	if err == nil && !idle {
		err = b.ask(ctx, c)
	}
	if err != nil {
		return err
	}
	c.KeepNotes()
	quiet := b.config.FactsOnly || c.Author != "" // an author's notes are not speech
	if c.Author == backends.AuthorAgent || quiet && len(c.Unlearnt(authorVerbatim)) == 0 {
		return nil
	}
	c.KeepSaid(authorVerbatim)
	return nil
}

// idle reports whether there is nothing to ask the model. A program with instructions of its own
// may look for questions, too. An assistant's words count where they leave no episode, and in an
// agent's own memory.
func (b *Backend) idle(ctx context.Context, c *reconcile.Call) (bool, error) {
	if b.config.Prompt+b.config.Instructions+c.Instructions != "" {
		return false, nil
	}
	return c.Idle(ctx, b.config.FactsOnly || c.Partition.Kind == backends.PartitionAgent)
}

func (b *Backend) ask(ctx context.Context, c *reconcile.Call) error {
	strict := b.config.Prompt+b.config.Instructions+c.Instructions == ""
	return c.Reconcile(ctx, &reconcile.Question{
		Strict: strict, Small: strict && c.Partition.Kind == backends.PartitionUser, System: b.system(c),
		Tool: "remember", Purpose: "Carry out operations on the memory.", Ask: b.asked(),
	})
}

// asked returns the form of a question for facts, with the details that the configuration asks for.
func (b *Backend) asked() func(context.Context, *ask.Run, *ask.Question, func([]reconcile.Operation) error) ([]reconcile.Operation, []ask.Bad, error) {
	if b.config.Profile != nil || b.config.Importance {
		return reconcile.Asked[operations[detailedOperation]]
	}
	return reconcile.Asked[operations[operation]]
}

// complete adds details of the answer to a fact: its beginning, its importance, and the field of
// the profile that it fills.
func (b *Backend) complete(m *backends.Memory, op *reconcile.Operation) error {
	m.Valid = op.Since
	if day := op.Since.Format(time.DateOnly); !op.Since.IsZero() && op.Since.Equal(text.Time(day, time.UTC)) { // a day begins in its zone
		m.Valid = text.Time(day, b.config.Location).UTC()
	}
	if b.config.Importance && op.Score > 0 {
		quality := float64(min(op.Score, mostImportant)) / mostImportant
		m.Quality = &quality
	}
	if b.config.Profile == nil || op.Field == "" {
		return nil
	}
	value, err := fields.Of(b.config.Profile).Read(op.Field, fields.Value(op.Value))
	if err == nil {
		fields.Fill(m, op.Field, b.keep.RedactJSON(value))
	}
	return err
}

// mostImportant is the highest importance: Generative Agents (Park et al., UIST 2023) rate from 1
// to 10.
const mostImportant = 10

// system puts the fixed part of a question together. A program's own Prompt replaces rules and task.
func (b *Backend) system(c *reconcile.Call) string {
	p := promptsIn[c.Language.For()]
	parts := []string{cmp.Or(b.config.Prompt, p.rules+"\n\n"+p.task), p.entry}
	if c.Partition.Kind == backends.PartitionAgent {
		parts = append(parts, p.agent)
	}
	if c.Author == backends.AuthorAgent {
		parts = append(parts, p.notes)
	}
	if b.config.Importance {
		parts = append(parts, p.importance)
	}
	if b.config.Profile != nil && c.Partition.Kind == backends.PartitionUser {
		parts = append(parts, p.profile+"\n"+fields.Of(b.config.Profile).Prompt())
	}
	if instructions := cmp.Or(strings.TrimSpace(c.Instructions), strings.TrimSpace(b.config.Instructions)); instructions != "" {
		parts = append(parts, p.instruct+"\n"+instructions)
	}
	return strings.Join(parts, "\n\n")
}

// operations are the answer of a model.
type operations[E operation | detailedOperation] struct {
	Operations []E `json:"operations" alias:"decisions,facts,memory,memories,results"`
}

type operation struct {
	Op       string         `json:"op" alias:"event,operation,action" jsonschema:"enum=add,enum=supersede,enum=retract,enum=forget,enum=none"`
	Index    *int           `json:"index,omitempty" alias:"id,memory_id,existing,target,replaces"`
	Text     string         `json:"text" alias:"fact,memory,content,new_memory"`
	SaidBy   string         `json:"said_by,omitempty" alias:"attributed_to,role,speaker" jsonschema:"enum=user,enum=assistant"`
	Since    string         `json:"since,omitempty" alias:"valid_from,valid,date"`
	Messages []int          `json:"messages,omitempty" alias:"n"`
	Entities names          `json:"entities,omitempty" alias:"entity"`
	Standing reconcile.Flag `json:"standing,omitempty" alias:"always"`
	Delicate reconcile.Flag `json:"delicate,omitempty" alias:"sensitive"`
	About    names          `json:"about,omitempty" alias:"keywords,when_to_use"`

	Rest map[string]any `json:"-"`
}

// names are the entities of a fact. They are optional: malformed ones are dropped, and the fact
// stays.
type names []string

// Decode implements the decoding of package ask: of names, and of objects with a name.
func (n *names) Decode(v any) {
	switch x := v.(type) {
	case string:
		*n = append(*n, text.Clean(x))
	case []any:
		for _, e := range x {
			n.Decode(e)
		}
	case map[string]any:
		n.Decode(x["name"])
	}
}

// Check implements the check of entries of package ask.
func (o *operation) Check() error {
	if o.Op == "" && o.Text == "" {
		return errors.New("neither op nor text")
	}
	_, err := reconcile.VerbOf(o.Op)
	return errors.Join(err, reconcile.Echo(o.Rest))
}

// detailedOperation is an operation with further details for the program.
type detailedOperation struct {
	operation
	Importance int          `json:"importance,omitempty" jsonschema_description:"1 to 10"`
	Field      string       `json:"field,omitempty" jsonschema_description:"of the profile, if the fact states one"`
	Value      fields.Value `json:"value,omitempty" jsonschema_description:"of the field: a text, or JSON"`
}

// decoded returns an entry in the form for the engine.
func (o *operation) decoded() reconcile.Operation {
	verb, _ := reconcile.VerbOf(o.Op)
	return reconcile.Operation{
		Verb: verb, Index: indexOf(o.Index), Text: o.Text, SaidBy: reconcile.RoleOf(o.SaidBy), Since: text.Time(o.Since, time.UTC), Messages: o.Messages, Entities: o.Entities,
		Standing: bool(o.Standing), Delicate: bool(o.Delicate), About: o.About,
	}
}

func (o *detailedOperation) decoded() reconcile.Operation {
	out := o.operation.decoded()
	out.Score, out.Field, out.Value = o.Importance, o.Field, string(o.Value)
	return out
}

// Decoded returns the operations, or nil if the answer lacks a list.
func (o *operations[E]) Decoded() (out []reconcile.Operation) {
	if o.Operations != nil {
		out = make([]reconcile.Operation, len(o.Operations))
	}
	for i := range o.Operations {
		out[i] = any(&o.Operations[i]).(interface{ decoded() reconcile.Operation }).decoded()
	}
	return out
}

func indexOf(n *int) int {
	if n == nil {
		return reconcile.None
	}
	return *n
}
