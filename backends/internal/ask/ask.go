// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package ask asks a chat model for an answer that is a Go value: by a JSON schema that follows
// from the type, by a tool that the model is forced to call or that it is offered, or by JSON in
// the prompt. A model or a server that refuses one of these forms is asked by the next, and
// the process remembers it. Answers are repaired and decoded leniently. One that cannot be
// used is explained to the model once; a second one is ErrUnusable, a backends.ErrModel. That the
// model could not be asked, or is left alone because it failed, is
// backends.ErrUnavailable, or backends.ErrInvalid where it refuses the content, so that
// "the model failed" is never taken for "there is nothing to remember".
//
//	m, err := ask.New(&ask.Config{Name: "mem0", Model: chatModel})
//	run := m.Begin(ask.Limits{})
//	facts, err := ask.For(ctx, run, &ask.Question{System: rules, User: material, Tool: "remember"}, (*Facts).check)
//	usage := run.Usage()
package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/semaphore"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/jsontext"
	"github.com/einomem/einomem/internal/text"
)

// Config configures a [Model].
type Config struct {
	Name        string              // Required. Who asks: errors begin with it.
	Model       model.BaseChatModel // Required.
	Timeout     time.Duration       // Optional. Of one call. Defaults to 60 s.
	Limit       string              // Optional. What the program calls Timeout, for the error.
	Concurrency int                 // Optional. Calls at the same time. Defaults to any number.
	Small       bool                // Optional. Questions that may be are put in the small form.
	// OnError is told once of each form of questions that the model refused. Optional; the log
	// has it in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Model is a chat model that is asked questions. One that fails five times in a row, which
// includes no answer within Config.Timeout, is left alone for a growing while: see
// [fault.Breaker]. It is safe for concurrent use as the chat model is.
type Model struct {
	name     string
	plain    model.BaseChatModel
	calling  model.ToolCallingChatModel // nil where the model calls no tools
	shaped   shaped                     // nil where it cannot be held to a schema
	first    form                       // what it is asked by at first
	small    bool                       // whether it is known to be a small model
	sensible bool                       // whether it answered with sense in a usual form; guarded by forms
	key      any                        // by which forms knows it
	typ      string
	timeout  time.Duration
	limit    string
	onError  func(ctx context.Context, stage string, err error)
	breaker  *fault.Breaker
	slots    *semaphore.Weighted
}

// New returns a model to ask. A missing one is backends.ErrInvalid.
func New(c *Config) (*Model, error) {
	if c.Model == nil {
		return nil, fmt.Errorf("%s: %w: a model is required", c.Name, backends.ErrInvalid)
	}
	m := &Model{
		name: c.Name, plain: c.Model, timeout: c.Timeout, limit: c.Limit, onError: c.OnError, small: c.Small, typ: "ChatModel",
		slots:   semaphore.NewWeighted(int64(cmp.Or(c.Concurrency, math.MaxInt))),
		breaker: fault.NewBreaker("the model", openAfter, backends.SystemClock), // whatever the clock of the memories: pauses are real time
	}
	if m.timeout <= 0 {
		m.timeout = time.Minute
	}
	m.chooseForm()
	if typ, ok := components.GetType(c.Model); ok {
		m.typ = typ
	}
	return m, nil
}

// Question is what a model is asked.
type Question struct {
	System, User string
	Tool         string            // Required by [For]. The name of the tool by which the model answers.
	Purpose      string            // Optional. What the tool does, for the model.
	Language     backends.Language // Optional. Of what is said about the form of the answer.
	Small        *Small            // Optional. Of [For]: how a small model is asked.
}

// Small is a question for a model that answers longer ones without sense: a few rules with an
// example, and the answer is a line of JSON for each entry of the only list of the type. A line
// that cannot be used spoils no other, also where the answer is cut off. An entry without a text
// is none.
type Small struct{ System, User string }

// parts returns the texts of a question in a form.
func (q *Question) parts(f form) (system, user string) {
	if f == small {
		return q.Small.System, q.Small.User
	}
	return q.System, q.User
}

// most returns how many tokens an answer has at most: small models may not find an end.
func (s *Small) most() int { return 100 + 3*text.Tokens(s.User) }

// Section renders data for a model: a line of JSON for each entry between two tags.
// Nothing in a text can end a line or close a tag.
func Section[T any](name string, entries []T) string {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "<%s>\n", name)
	e := json.NewEncoder(&buf)
	for i := range entries {
		_ = e.Encode(entries[i]) // plain structs of texts and numbers; '<' comes out as \u003c
	}
	fmt.Fprintf(&buf, "</%s>\n", name)
	return buf.String()
}

// For asks for a T, a struct of fields that JSON can hold. The schema of the tool
// follows from its tags (json, jsonschema, jsonschema_description); `alias:"a,b"` names
// other keys that models use for a field. A text that stands where an object should is taken
// for its field Text, if it has one, and a field Rest of type map[string]any gets what is
// under other keys. A list that the answer has is not nil, even if it is empty. check
// may refuse the answer, with an error that says to the model what was wrong; nil accepts any.
//
// Of a list, the entries that cannot be decoded are left out, and reported by
// [Answer.Bad]; an answer of which nothing can be used is asked for again.
func For[T any](ctx context.Context, r *Run, q *Question, check func(*T) error) (*Answer[T], error) {
	info, err := utils.GoStruct2ToolInfo[T](q.Tool, q.Purpose)
	if err != nil {
		return nil, fmt.Errorf("schema of the answer by %s: %w", q.Tool, err)
	}
	var answer *Answer[T]
	err = r.ask(ctx, q, &answerForm{info, example(reflect.TypeFor[T](), "")}, func(out *schema.Message, by form) error {
		if answer, err = decodeAnswer[T](out, by); err == nil && check != nil {
			err = check(&answer.Value)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Text asks for a text; thoughts before it and a code fence around it are no part of it. check
// may refuse it; nil accepts any that is not blank.
func Text(ctx context.Context, r *Run, q *Question, check func(string) error) (string, error) {
	var answer string
	err := r.ask(ctx, q, nil, func(out *schema.Message, _ form) error {
		if answer = jsontext.Unwrap(einox.Written(out)); answer == "" {
			return jsontext.ErrEmpty
		}
		if check != nil {
			return check(answer)
		}
		return nil
	})
	return answer, err
}

// ask puts the question, and hands the answer to read: once more with the reason if
// read refuses it. A model that was offered a tool and called none is asked for JSON in the
// prompt then, and one that makes no sense may be asked in the small form.
func (r *Run) ask(ctx context.Context, q *Question, a *answerForm, read func(*schema.Message, form) error) error {
	reason, by := "", r.model.form(q)
	for try := 1; ; try++ {
		out, took, err := r.call(ctx, q, reason, a, by)
		if by = took; err != nil {
			return fmt.Errorf("%s: asking the model: %w", r.model.name, err)
		}
		if cutOff(out) && by != small {
			err = jsontext.ErrTruncated
		} else if err = read(out, by); err == nil {
			if a != nil {
				r.model.takes(ctx, by)
			}
			return nil
		}
		ignored := (by == forced || by == auto) && len(out.ToolCalls) == 0
		lost := q.Small != nil && by != small && r.model.strike(!ignored)
		switch {
		case try == 2:
			return fmt.Errorf("%s: %w: twice: %w", r.model.name, ErrUnusable, err)
		case lost:
			by = small
			continue
		case ignored:
			by = prompted
		}
		var entry *entryError
		if errors.As(err, &entry) { // the model may read what it wrote
			err = fmt.Errorf("entry %s: %w", entry.raw, err)
		}
		reason = "\n\n" + phrases[q.Language.For()].refused + " " + err.Error()
	}
}

// ErrUnusable is returned when a model answered twice, and not with anything that could be used.
// Asking once more costs as much again: who can do without the answer goes on without it.
var ErrUnusable = fmt.Errorf("no usable answer: %w", backends.ErrModel)

// call makes one call of the model, within the limits of the run. Requests whose form is
// refused on the way are a part of it.
func (r *Run) call(ctx context.Context, q *Question, reason string, a *answerForm, from form) (*schema.Message, form, error) {
	if err := r.model.slots.Acquire(ctx, 1); err != nil {
		return nil, from, context.Cause(ctx)
	}
	defer r.model.slots.Release(1)
	system, user := q.parts(from)
	size, err := r.reserve(system, user, reason)
	if err != nil {
		return nil, from, err
	}
	out, by, err := r.model.generate(ctx, q, reason, a, from)
	r.spent(size, out)
	return out, by, err
}

// openAfter is how many failures in a row it takes to leave the model alone: more than the
// calls that one request makes at the same time.
const openAfter = 5

// ErrLimit is returned when a request would cost more than its [Limits] allow. It is
// backends.ErrInvalid: repeating the request spends as much again.
var ErrLimit = fmt.Errorf("the limit of the request is reached: %w", backends.ErrInvalid)

// Limits bound what one request may cost. 0 is no limit.
type Limits struct {
	Calls  int // model calls, repeats included
	Tokens int // of prompts and answers together
}

// Run is one request to a backend: the questions that belong to it, and what they cost
// together. It is safe for concurrent use.
type Run struct {
	model  *Model
	limits Limits

	mu     sync.Mutex
	calls  int // made or under way
	tokens int // spent, and those of the prompts under way
	usage  backends.Usage
	stages []*Stage
}

// Begin returns a run without questions so far.
func (m *Model) Begin(l Limits) *Run { return &Run{model: m, limits: l} }

// Usage returns what the run has cost so far.
func (r *Run) Usage() backends.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

// Embedded counts texts that were embedded for the run.
func (r *Run) Embedded(texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.EmbeddedTexts += texts
}

// reserve takes one call and the tokens of its prompt, by estimate.
func (r *Run) reserve(in ...string) (tokens int, err error) {
	for _, s := range in {
		tokens += text.Tokens(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch l := r.limits; {
	case l.Calls > 0 && r.calls >= l.Calls:
		return 0, fmt.Errorf("%w: %d model calls; raise Limits.Calls or send less at a time", ErrLimit, l.Calls)
	case l.Tokens > 0 && r.tokens+tokens > l.Tokens:
		return 0, fmt.Errorf("%w: %d tokens; raise Limits.Tokens or send less at a time", ErrLimit, l.Tokens)
	}
	r.calls++
	r.tokens += tokens
	r.usage.ModelCalls++
	return tokens, nil
}

// spent replaces the estimate of a call by what the model reported.
func (r *Run) spent(estimate int, out *schema.Message) {
	if out == nil || out.ResponseMeta == nil || out.ResponseMeta.Usage == nil {
		return
	}
	u := out.ResponseMeta.Usage
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens += u.PromptTokens + u.CompletionTokens - estimate
	r.usage.PromptTokens += u.PromptTokens
	r.usage.CompletionTokens += u.CompletionTokens
}

// maxErrors bounds how many different errors a stage keeps.
const maxErrors = 8

// Stage counts what goes through one stage of a run, for its report. It is safe for
// concurrent use.
type Stage struct {
	run    *Run
	report backends.StageReport
	errs   []error
}

// Stage returns the stage of that name, which begins with the first call.
func (r *Run) Stage(name string) *Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages {
		if s.report.Name == name {
			return s
		}
	}
	s := &Stage{run: r, report: backends.StageReport{Name: name}}
	r.stages = append(r.stages, s)
	return s
}

// In counts what came in.
func (s *Stage) In(n int) { s.count(&s.report.In, n) }

// Out counts what went on.
func (s *Stage) Out(n int) { s.count(&s.report.Out, n) }

// Drop counts what did not go on.
func (s *Stage) Drop(n int) { s.count(&s.report.Dropped, n) }

// Merge counts what was merged with memories that exist.
func (s *Stage) Merge(n int) { s.count(&s.report.Merged, n) }

func (s *Stage) count(field *int, n int) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	*field += n
}

// Fail counts a failure. Each text of an error is kept once.
func (s *Stage) Fail(err error) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.report.Failed++
	for _, e := range s.errs {
		if e.Error() == err.Error() {
			return
		}
	}
	if len(s.errs) < maxErrors {
		s.errs = append(s.errs, err)
	}
}

// Report returns what became of the run so far.
func (r *Run) Report() backends.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := backends.Report{Stages: make([]backends.StageReport, len(r.stages)), Usage: r.usage}
	for i, s := range r.stages {
		line := s.report
		line.Err = errors.Join(s.errs...)
		for _, e := range s.errs {
			line.Errors = append(line.Errors, e.Error())
		}
		out.Stages[i] = line
	}
	return out
}

// cutOff reports whether the model says that it had to stop before the end.
func cutOff(m *schema.Message) bool {
	if m.ResponseMeta == nil {
		return false
	}
	switch m.ResponseMeta.FinishReason {
	case "length", "max_tokens", "MAX_TOKENS":
		return true
	}
	return false
}
