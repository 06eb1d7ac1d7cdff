// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package ask asks a chat model for an answer that is a Go value: by a tool that the
// model is forced to call, whose schema follows from the type, or by JSON where the
// model calls no tools. Answers are repaired and decoded leniently. One that cannot be
// used is explained to the model once; a second one is backends.ErrModel. That the
// model could not be asked is backends.ErrUnavailable, so that "the model failed" is
// never taken for "there is nothing to remember".
//
//	m, err := ask.New(&ask.Config{Name: "mem0", Model: chatModel})
//	run := m.Begin(ask.Limits{})
//	facts, err := ask.For(ctx, run, &ask.Question{System: rules, User: material, Tool: "remember"}, (*Facts).check)
//	usage := run.Usage()
package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/semaphore"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// DefaultTimeout is how long one call may take by default.
const DefaultTimeout = 60 * time.Second

// Config configures a [Model].
type Config struct {
	Name        string              // Required. Who asks: errors begin with it.
	Model       model.BaseChatModel // Required.
	Timeout     time.Duration       // Optional. Of one call. Defaults to DefaultTimeout.
	Concurrency int                 // Optional. Calls at the same time. Defaults to any number.
}

// Model is a chat model that is asked questions. It is safe for concurrent use as the
// chat model is.
type Model struct {
	name    string
	plain   model.BaseChatModel
	calling model.ToolCallingChatModel // nil where the model calls no tools
	typ     string
	timeout time.Duration
	slots   *semaphore.Weighted
}

// New returns a model to ask. A missing one is backends.ErrInvalid.
func New(c *Config) (*Model, error) {
	if c.Model == nil {
		return nil, fmt.Errorf("%s: %w: a model is required", c.Name, backends.ErrInvalid)
	}
	m := &Model{
		name: c.Name, plain: c.Model, timeout: c.Timeout, typ: "ChatModel",
		slots: semaphore.NewWeighted(int64(cmp.Or(c.Concurrency, math.MaxInt))),
	}
	if m.timeout <= 0 {
		m.timeout = DefaultTimeout
	}
	m.calling, _ = c.Model.(model.ToolCallingChatModel)
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
}

// For asks for a T, a struct of fields that JSON can hold. The schema of the tool
// follows from its tags (json, jsonschema, jsonschema_description); `alias:"a,b"` names
// other keys that models use for a field. A text that stands where an object should is taken
// for its field Text, if it has one, and a field Rest of type map[string]any gets what is
// under other keys. A list that the answer has is not nil, even if it is empty. check
// may refuse the answer, with an error that tells the model what was wrong; nil accepts any.
//
// Of a list, the entries that cannot be decoded are left out, and reported by
// [Answer.Bad]; an answer of which nothing can be used is asked for again.
func For[T any](ctx context.Context, r *Run, q *Question, check func(*T) error) (*Answer[T], error) {
	info, err := utils.GoStruct2ToolInfo[T](q.Tool, q.Purpose)
	if err != nil {
		return nil, fmt.Errorf("schema of the answer by %s: %w", q.Tool, err)
	}
	var answer *Answer[T]
	p := phrases[q.Language.For()]
	form := fmt.Sprintf(p.byTool, q.Tool)
	if r.model.calling == nil {
		form = p.byJSON + " " + example(reflect.TypeFor[T](), "")
	}
	err = r.ask(ctx, q, form, info, func(out *schema.Message) error {
		answer, err = decodeAnswer[T](out)
		if err == nil && check != nil {
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
	err := r.ask(ctx, q, "", nil, func(out *schema.Message) error {
		if answer = unwrap(einox.Text(out)); answer == "" {
			return ErrEmpty
		}
		if check != nil {
			return check(answer)
		}
		return nil
	})
	return answer, err
}

// ask puts the question, and hands the answer to read: once more with the reason if
// read refuses it.
func (r *Run) ask(ctx context.Context, q *Question, form string, tool *schema.ToolInfo, read func(*schema.Message) error) error {
	system, user := q.System, q.User
	if form != "" {
		system += "\n\n" + form
	}
	for try := 1; ; try++ {
		out, err := r.call(ctx, []*schema.Message{schema.SystemMessage(system), schema.UserMessage(user)}, tool)
		if err != nil {
			return fmt.Errorf("%s: asking the model: %w", r.model.name, err)
		}
		if cutOff(out) {
			err = ErrTruncated
		} else if err = read(out); err == nil {
			return nil
		}
		if try == 2 {
			return fmt.Errorf("%s: %w twice: %w", r.model.name, backends.ErrModel, err)
		}
		user = q.User + "\n\n" + phrases[q.Language.For()].refused + " " + err.Error()
	}
}

// call makes one call of the model, within the limits of the run.
func (r *Run) call(ctx context.Context, in []*schema.Message, tool *schema.ToolInfo) (*schema.Message, error) {
	if err := r.model.slots.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer r.model.slots.Release(1)
	size, err := r.reserve(in)
	if err != nil {
		return nil, err
	}
	out, err := r.model.generate(ctx, in, tool)
	r.spent(size, out)
	return out, err
}

func (m *Model) generate(ctx context.Context, in []*schema.Message, tool *schema.ToolInfo) (out *schema.Message, err error) {
	asked, opts := m.plain, []model.Option(nil)
	if tool != nil && m.calling != nil {
		bound, err := m.calling.WithTools([]*schema.ToolInfo{tool})
		if err != nil {
			return nil, fmt.Errorf("giving the model the tool %s: %w", tool.Name, err)
		}
		asked, opts = bound, append(opts, model.WithToolChoice(schema.ToolChoiceForced))
	}
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	err = work.Catch("the model", func() error {
		out, err = asked.Generate(einox.Detach(limited, m.typ, components.ComponentOfChatModel), in, opts...)
		if err == nil && out == nil {
			err = errors.New("the model answered nothing")
		}
		return err
	})
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, backends.ErrUnavailable):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
}

// phrases are what a model is told about the form of its answer.
var phrases = map[backends.Language]struct{ byTool, byJSON, refused string }{
	backends.English: {
		byTool:  "Answer with one call of the tool %s.",
		byJSON:  "Answer with JSON alone, in this form:",
		refused: "Your answer before could not be used. Answer the same task again, correctly and completely. What was wrong:",
	},
	backends.Chinese: {
		byTool:  "请调用一次工具 %s 来回答。",
		byJSON:  "只回答 JSON，格式如下：",
		refused: "你上一次的回答无法使用。请把同一个任务正确、完整地重新回答一遍。问题在于：",
	},
}

// example shows the JSON of a type, such as {"op":"add|retract","n":[0]}, with the values
// that the tag of a text lists.
func example(t reflect.Type, tag reflect.StructTag) string {
	var parts []string
	switch t.Kind() {
	case reflect.Pointer:
		return example(t.Elem(), tag)
	case reflect.Slice:
		return "[" + example(t.Elem(), "") + "]"
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); jsonName(f) != "" {
				parts = append(parts, `"`+jsonName(f)+`":`+example(f.Type, f.Tag))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case reflect.String:
		for part := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
			if v, ok := strings.CutPrefix(part, "enum="); ok {
				parts = append(parts, v)
			}
		}
		return `"` + cmp.Or(strings.Join(parts, "|"), "…") + `"`
	case reflect.Bool:
		return "true"
	case reflect.Float64:
		return "0.0"
	}
	return "0"
}
