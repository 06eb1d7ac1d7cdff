// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package ask asks a chat model for an answer that is a Go value. It has three ways: a JSON
// schema that follows from the type, a tool that the model may or must call, and JSON in the
// prompt. If a model or a server refuses one form, the next is tried, and the process remembers
// it. Answers are repaired and decoded leniently. An unusable answer is explained to the model
// once; a second one is ErrUnusable, a backends.ErrModel. A model that is out of reach, or paused
// after failures, is backends.ErrUnavailable. A model that refuses the content is
// backends.ErrInvalid. So "the model failed" is never taken for "there is nothing to remember".
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
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Model].
type Config struct {
	Name        string              // Required. The asker: errors begin with it.
	Model       model.BaseChatModel // Required.
	Timeout     time.Duration       // Optional. Of one call. Defaults to 60 s.
	Limit       string              // Optional. The program's name for Timeout, for the error.
	Concurrency int                 // Optional. Calls at the same time. Defaults to any number.
	Small       bool                // Optional. Questions with a small form are put in it.
	// OnError is told once of each form of questions that the model refused. Optional; the log
	// has it in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Model is a chat model that is asked questions. After five failures in a row, timeouts by
// Config.Timeout included, it is paused for a growing while: see [fault.Breaker]. It is
// safe for concurrent use as the chat model is.
type Model struct {
	name     string
	plain    model.BaseChatModel
	calling  model.ToolCallingChatModel // nil for a model that calls no tools
	shaped   shaped                     // nil for a model without JSON schemas
	first    form                       // the form of its first question
	small    bool                       // it is known to be a small model
	sensible bool                       // it gave a sensible answer in a usual form; guarded by forms
	key      any                        // its key in forms
	typ      string
	timeout  time.Duration
	limit    string
	onError  func(ctx context.Context, stage string, err error)
	breaker  *fault.Breaker
	slots    *semaphore.Weighted
}

// New returns a model to ask. A nil Model is backends.ErrInvalid.
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

// Question is a question to a model.
type Question struct {
	System, User string
	Tool         string            // Required by [For]. The name of the tool by which the model answers.
	Purpose      string            // Optional. The purpose of the tool, for the model.
	Language     backends.Language // Optional. The language of the sentences about the form.
	Small        *Small            // Optional. The form of [For] for a small model.
}

// Small is a question for a model whose answers to longer ones make no sense. It has a few rules
// with an example, and the answer is a line of JSON for each entry of the type's only list. A
// bad line leaves the others intact, even where the answer is cut off. An entry without a text
// does not count.
type Small struct{ System, User string }

// parts returns the texts of a question in a form.
func (q *Question) parts(f form) (system, user string) {
	if f == small {
		return q.Small.System, q.Small.User
	}
	return q.System, q.User
}

// most returns the largest number of tokens of an answer: small models may never end.
func (s *Small) most() int { return 100 + 3*text.Tokens(s.User) }

// Section renders data for a model: a line of JSON for each entry between two tags. A
// text cannot end a line or close a tag.
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

// For asks for a T, a struct of fields that JSON can hold. The schema of the tool follows from
// its tags (json, jsonschema, jsonschema_description); `alias:"a,b"` names other keys that
// models use for a field. A text in place of an object becomes its field Text, if it has one.
// A field Rest of type map[string]any gets the values under other keys. A list in the answer
// is non-nil, even if it is empty. check may refuse the answer, with an error that tells the
// model its mistake; nil accepts any.
//
// Bad entries of a list are left out, and [Answer.Bad] reports them. An answer with bad
// entries alone is asked for again.
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

// Text asks for a text, and removes thoughts before it and a code fence around it. check may
// refuse it; nil accepts any text but a blank one.
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

// ask puts the question, and hands the answer to read. If read refuses it, ask puts the
// question once more with the reason. A model that was offered a tool and called none is
// then asked for JSON in the prompt. A model that makes no sense may be asked in the small
// form.
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
		if errors.As(err, &entry) { // the model may read its own words
			err = fmt.Errorf("entry %s: %w", entry.raw, err)
		}
		reason = "\n\n" + phrases[q.Language.For()].refused + " " + err.Error()
	}
}

// ErrUnusable is returned when both answers of a model were unusable. Asking once more costs as
// much again: a caller that has another way goes on without an answer.
var ErrUnusable = fmt.Errorf("no usable answer: %w", backends.ErrModel)

// call makes one call of the model, within the limits of the run. It includes requests
// whose form is refused on the way.
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
	r.spent(ctx, size, out)
	return out, by, err
}

// openAfter is how many failures in a row pause the model: more than the simultaneous
// calls of one request.
const openAfter = 5

// ErrLimit is returned when a request would cost more than its [Limits] allow. It is
// backends.ErrInvalid: repeating the request spends as much again.
var ErrLimit = fmt.Errorf("the limit of the request is reached: %w", backends.ErrInvalid)

// Limits bound the cost of one request. 0 is no limit.
type Limits struct {
	Calls  int // model calls, repeats included
	Tokens int // of prompts and answers together
}

// Run is one request to a backend: its questions, and their cost together. It is safe for
// concurrent use.
type Run struct {
	model  *Model
	limits Limits

	mu     sync.Mutex
	calls  int // made or under way
	tokens int // spent, and estimated for the prompts under way
	usage  backends.Usage
	stages []*Stage
}

// Begin returns a run before its first question.
func (m *Model) Begin(l Limits) *Run { return &Run{model: m, limits: l} }

// Usage returns the cost of the run so far.
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

// spent replaces the estimate of a call that was answered by the reported number of tokens, else by
// an estimate with the answer.
func (r *Run) spent(ctx context.Context, estimate int, out *schema.Message) {
	if out == nil {
		return
	}
	tokens := estimate + einox.Tokens(out, text.Tokens)
	r.mu.Lock()
	if out.ResponseMeta != nil && out.ResponseMeta.Usage != nil {
		u := out.ResponseMeta.Usage
		tokens = u.PromptTokens + u.CompletionTokens
		r.usage.PromptTokens += u.PromptTokens
		r.usage.CompletionTokens += u.CompletionTokens
	}
	r.tokens += tokens - estimate
	r.mu.Unlock()
	work.Charge(ctx, 1, tokens)
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

// In counts input.
func (s *Stage) In(n int) { s.count(&s.report.In, n) }

// Out counts output.
func (s *Stage) Out(n int) { s.count(&s.report.Out, n) }

// Drop counts what was left out.
func (s *Stage) Drop(n int) { s.count(&s.report.Dropped, n) }

// Merge counts merges with existing memories.
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

// Report returns the report of the run so far.
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

// cutOff reports whether the model says that it had to stop early.
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
