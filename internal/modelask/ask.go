// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelask asks a chat model for an answer of a given shape: by a tool that
// it is made to call, or by JSON that the prompt asks for. An answer that cannot be
// used is explained to the model once; a second one is backends.ErrModel. That the
// model could not be asked is backends.ErrUnavailable, so that "the model failed" is
// never taken for "there is nothing to say".
package modelask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// DefaultTimeout is how long one call may take by default.
const DefaultTimeout = 60 * time.Second

// Config configures an [Asker].
type Config struct {
	Name    string              // Required. Who asks: errors begin with it.
	Model   model.BaseChatModel // Required.
	Timeout time.Duration       // Optional. Of one call. Defaults to DefaultTimeout.

	// Tools are those that questions name. A model that is a ToolCallingChatModel is
	// made to call them; every other is asked for JSON by the prompt. Optional.
	Tools []*schema.ToolInfo
}

// Asker asks one chat model. It is safe for concurrent use as the model is.
type Asker struct {
	name    string
	plain   model.BaseChatModel
	bound   map[string]model.BaseChatModel // by the name of the tool; nil when the model calls none
	typ     string
	timeout time.Duration
}

// New returns an asker. A model that refuses a tool is an error here, not later.
func New(c *Config) (*Asker, error) {
	if c.Model == nil {
		return nil, fmt.Errorf("%s: %w: a model is required", c.Name, backends.ErrInvalid)
	}
	a := &Asker{name: c.Name, plain: c.Model, timeout: c.Timeout, typ: "ChatModel"}
	if a.timeout <= 0 {
		a.timeout = DefaultTimeout
	}
	if typ, ok := components.GetType(c.Model); ok {
		a.typ = typ
	}
	calling, ok := c.Model.(model.ToolCallingChatModel)
	if !ok {
		return a, nil
	}
	a.bound = make(map[string]model.BaseChatModel, len(c.Tools))
	for _, tool := range c.Tools {
		m, err := calling.WithTools([]*schema.ToolInfo{tool})
		if err != nil {
			return nil, fmt.Errorf("%s: giving the model the tool %s: %w", c.Name, tool.Name, err)
		}
		a.bound[tool.Name] = m
	}
	return a, nil
}

// ByTool reports whether answers come as tool calls.
func (a *Asker) ByTool() bool { return a.bound != nil }

// Question is what the model is asked. Without a tool the answer is free text.
type Question struct {
	System, User string
	Tool         string // the name of one of Config.Tools. Optional.
	// Complaint is put under the question when it is asked again: what was wrong with
	// the answer. Required.
	Complaint func(error) string
	// Again is called before the question is asked again, and may forbid it by an
	// error. Optional.
	Again func() error
}

// Ask puts the question and hands the answer to read. If read cannot use it, the
// model is told why and asked once more; a second failure is ErrModel. What it cost
// is added to usage, also when it fails. A tool that is not one of Config.Tools is
// ErrInvalid.
func (a *Asker) Ask(ctx context.Context, q *Question, usage *backends.Usage, read func(*schema.Message) error) error {
	if a.bound != nil && q.Tool != "" && a.bound[q.Tool] == nil {
		return fmt.Errorf("%s: %w: the model was not given the tool %s by which it is to answer", a.name, backends.ErrInvalid, q.Tool)
	}
	user := q.User
	for try := 1; ; try++ {
		out, err := a.generate(ctx, q.Tool, []*schema.Message{schema.SystemMessage(q.System), schema.UserMessage(user)}, usage)
		if err != nil {
			return err
		}
		if err = read(out); err == nil {
			return nil
		}
		if try == 2 {
			return fmt.Errorf("%s: %w twice: %w", a.name, backends.ErrModel, err)
		}
		if q.Again != nil {
			if refused := q.Again(); refused != nil {
				return fmt.Errorf("%s: not asked again after %w: %w", a.name, err, refused)
			}
		}
		user = q.User + "\n\n" + q.Complaint(err)
	}
}

func (a *Asker) generate(ctx context.Context, tool string, in []*schema.Message, usage *backends.Usage) (*schema.Message, error) {
	m, opts := a.plain, []model.Option(nil)
	if bound := a.bound[tool]; bound != nil {
		m, opts = bound, append(opts, model.WithToolChoice(schema.ToolChoiceForced))
	}
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	usage.ModelCalls++
	out, err := call(einox.Detach(limited, a.typ, components.ComponentOfChatModel), m, in, opts)
	if out != nil && out.ResponseMeta != nil && out.ResponseMeta.Usage != nil {
		usage.PromptTokens += out.ResponseMeta.Usage.PromptTokens
		usage.CompletionTokens += out.ResponseMeta.Usage.CompletionTokens
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: asking the model: %w", a.name, ctx.Err())
	case errors.Is(err, backends.ErrUnavailable):
		return nil, fmt.Errorf("%s: asking the model: %w", a.name, err)
	}
	return nil, fmt.Errorf("%s: asking the model: %w: %w", a.name, backends.ErrUnavailable, err)
}

// call makes an error of a panic, and of an answer that is none: memory is not worth
// the agent's run.
func call(ctx context.Context, m model.BaseChatModel, in []*schema.Message, opts []model.Option) (out *schema.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("the model panicked: %v", p)
		}
	}()
	if out, err = m.Generate(ctx, in, opts...); err == nil && out == nil {
		err = errors.New("the model answered nothing")
	}
	return out, err
}
