// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
)

// The stages of a call's report.
const (
	StageLearn = "learn" // messages in, operations out
	StageStore = "store" // statements in; dropped: known already, merged: superseding
)

// Verb is the kind of an operation.
type Verb string

// The verbs.
const (
	Add       Verb = "add"
	Supersede Verb = "supersede"
	Retract   Verb = "retract"
	Forget    Verb = "forget"
	Nothing   Verb = "none"
)

// verbs are the words that models use for them.
var verbs = map[string]Verb{
	"": Add, "add": Add, "create": Add, "new": Add, "insert": Add,
	"supersede": Supersede, "update": Supersede, "replace": Supersede, "modify": Supersede,
	"retract": Retract, "delete": Retract, "remove": Retract,
	"forget": Forget, "erase": Forget,
	"none": Nothing, "nothing": Nothing, "noop": Nothing, "no_op": Nothing, "no_change": Nothing, "unchanged": Nothing, "keep": Nothing, "skip": Nothing,
}

// VerbOf returns the verb that a model's word means; an empty word is Add.
func VerbOf(word string) (Verb, error) {
	v, ok := verbs[strings.ReplaceAll(strings.ToLower(word), "-", "_")]
	if !ok {
		return "", fmt.Errorf("unknown operation %.40q", word)
	}
	return v, nil
}

// maxStatement is the longest statement that a model may write, in bytes.
const maxStatement = 8000

// None is the Index of an operation without a target.
const None = -1

// Operation is one entry of a model's answer.
type Operation struct {
	Verb     Verb
	Text     string    // for Add and Supersede
	Index    int       // of a shown statement, for Supersede and Retract; None
	SaidBy   string    // user or assistant; empty if the answer leaves it out. It only decides between messages that are named
	Since    time.Time // from when it holds; zero if the answer leaves it out
	Messages []int     // the numbers of the messages that say it

	Entities []string // the names of its people and things

	Standing, Delicate bool     // see [backends.Memory]
	About              []string // words by which people would ask for it

	Keywords string // words to look for it, for Config.Complete
	When     string // its time, as the model wrote it, for Config.Complete
	Score    int    // its worth, for Config.Complete
	Field    string // the field of a profile that it fills, for Config.Complete
	Value    string // the value of Field, as the model wrote it

	from  []*Utterance // the messages that it names, else all of the question
	small bool         // it comes from a model that was asked in the small form
}

// Flag is a boolean of an answer. Any value that does not mean true is false.
type Flag bool

// Decode implements the decoding of package ask.
func (f *Flag) Decode(v any) {
	*f = Flag(slices.Contains([]string{"true", "yes", "1", "是"}, strings.ToLower(strings.TrimSpace(fmt.Sprint(v)))))
}

// Question is a question about the messages of a call.
type Question struct {
	System  string // rules and task
	Intro   string // goes before the material
	Tool    string // of the answer
	Purpose string // of the tool
	Small   bool   // a small model is asked in the small form, and only adds
	// Strict refuses statements from messages that state nothing by the rules of package speech.
	Strict bool
	// Ask puts the question, and refuses answers by check: see [Asked].
	Ask func(ctx context.Context, r *ask.Run, q *ask.Question, check func([]Operation) error) ([]Operation, []ask.Bad, error)
}

// Asked puts a question whose answer is a T. Its method returns nil for an answer without
// a list.
func Asked[T any, P interface {
	*T
	Decoded() []Operation
}](ctx context.Context, r *ask.Run, q *ask.Question, check func([]Operation) error) (ops []Operation, bad []ask.Bad, err error) {
	answer, err := ask.For(ctx, r, q, func(v *T) error {
		if ops = P(v).Decoded(); ops == nil {
			return errors.New("the JSON holds no list of entries")
		}
		return check(ops)
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range ops {
		ops[i].small = answer.Small
	}
	return ops, answer.Bad, nil
}

// Reconcile asks how the new messages change the known statements, and decides so.
func (c *Call) Reconcile(ctx context.Context, q *Question) error {
	stretches := c.stretches()
	if most := c.engine.Limits.Calls; most > 0 && len(stretches) > most {
		return c.engine.errorf("%w: it takes %d model calls at least, of %d; raise Limits.Calls or send less at a time", ask.ErrLimit, len(stretches), most)
	}
	for i := range stretches {
		s := &stretches[i]
		var texts []string
		for _, p := range s.passages {
			texts = append(texts, p.text)
		}
		known, err := c.Candidates(ctx, texts)
		if err != nil {
			return err
		}
		targets, shown := c.targets(known)
		said, asked, err := c.saidBefore(ctx, len(targets))
		if err != nil {
			return err
		}
		targets = append(targets, said...)
		ops, err := c.question(ctx, q, s, targets, c.Existing(shown)+asked)
		if err != nil {
			return err
		}
		c.decideAll(ops, targets)
	}
	for _, u := range c.wishes {
		if slices.Contains(c.unlearnt, u) || q.Small && c.engine.Model.Small() {
			c.Skip(u, "", errNotForgotten)
		}
	}
	return nil
}

// question asks about a stretch. Unusable entries of the answer are decided as failed; an
// answer without a usable entry is asked for again. After a second one the words are kept as
// they are: see [Call.Unlearnt].
func (c *Call) question(ctx context.Context, q *Question, s *stretch, targets []*node, existing string) ([]Operation, error) {
	stage := c.Run.Stage(StageLearn)
	material, numbered := c.conversation(s)
	stage.In(len(numbered))
	var refused []ask.Bad
	check := func(ops []Operation) error {
		refused = nil
		for i := range ops {
			most := len(targets)
			if c.engine.ByTime { // an entry may supersede one before it in the answer
				most += i
			}
			if err := ops[i].check(most, numbered); err != nil {
				refused = append(refused, ask.Bad{Raw: ops[i].Text, Err: err})
				ops[i] = Operation{Verb: Nothing, Index: None} // it keeps its place, since others may refer to it
			}
		}
		if len(refused) > 0 && len(refused) == len(ops) {
			return refused[0].Err
		}
		return nil
	}
	question := &ask.Question{System: q.System, User: q.Intro + existing + material, Tool: q.Tool, Purpose: q.Purpose, Language: c.Language}
	var orders []order
	if q.Small && c.Author != backends.AuthorAgent {
		question.Small, orders = c.smallQuestion(s)
	}
	if q.Small && question.Small == nil && c.engine.Model.Small() {
		c.keepOrders(orders, nil)
		return nil, nil
	}
	ops, bad, err := q.Ask(ctx, c.Run, question, check)
	if err != nil {
		c.keepOrders(orders, nil)
		stage.Fail(err)
		return nil, c.giveUp(s, err)
	}
	for _, b := range append(bad, refused...) {
		raw := c.engine.Keeper.Redact(b.Raw)
		err := c.engine.errorf("%w: entry %s: %w", backends.ErrModel, raw, b.Err)
		stage.Fail(err)
		c.decisions = append(c.decisions, &node{wanted: backends.OutcomeFailed, memory: c.Memory(c.engine.Kind, raw), err: err})
	}
	for i := range ops {
		c.guard(q, &ops[i], question.Small)
	}
	c.keepOrders(orders, ops)
	return ops, nil
}

// check makes an operation safe to carry out. It drops numbers that nothing was shown under,
// and adds a statement that supersedes nothing. So the statement is kept, and other memories
// stay untouched.
func (op *Operation) check(targets int, numbered []*Utterance) error {
	if op.Index < 0 || op.Index >= targets {
		op.Index = None
	}
	if op.Verb == Supersede && op.Index < 0 {
		op.Verb = Add
	}
	op.Messages = slices.DeleteFunc(slices.Clone(op.Messages), func(n int) bool { return n < 0 || n >= len(numbered) })
	slices.Sort(op.Messages)
	for _, n := range op.Messages {
		op.from = append(op.from, numbered[n])
	}
	if len(op.from) == 0 {
		op.from = slices.Clone(numbered)
	}
	op.from = slices.Compact(op.from) // the parts of one message
	switch {
	case op.Verb == Nothing:
		return nil
	case op.Verb == Retract && op.Index < 0:
		return errors.New("no existing memory has that number")
	case op.Verb == Forget && op.Index < 0 && len(op.Messages) == 0:
		return errors.New("it names nothing to forget")
	case op.Verb == Retract, op.Verb == Forget:
		return nil
	case !strings.ContainsFunc(op.Text, unicode.IsLetter):
		return errors.New("no text that says anything")
	case strings.ContainsAny(op.Text[:1], "{[") && json.Valid([]byte(op.Text)):
		return errors.New("the text is JSON; write a statement")
	case len(op.Text) > maxStatement:
		return fmt.Errorf("text of %d bytes, at most %d", len(op.Text), maxStatement)
	}
	return nil
}

// Echo returns an error for an entry of an answer that is a line of the question. Such an
// entry has a key that only the question's lines have.
func Echo(rest map[string]any) error {
	if rest["time"] != nil {
		return errors.New("it repeats a message of the question")
	}
	return nil
}

// RoleOf returns the role that a model's word means; empty for another word.
func RoleOf(word string) string {
	switch strings.ToLower(word) {
	case "user", "human", "用户":
		return string(schema.User)
	case "assistant", "ai", "agent", "助手":
		return string(schema.Assistant)
	}
	return ""
}
