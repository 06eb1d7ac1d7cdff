// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// ModelCall is one call of a model.
type ModelCall struct {
	Messages []*schema.Message
	Tools    []*schema.ToolInfo // bound by WithTools; an option may offer others
	Options  []model.Option

	ask func(context.Context, *ModelCall) (*ModelAnswer, error)
}

// ModelAnswer is the answer of a model, in one of two forms.
type ModelAnswer struct {
	Message *schema.Message
	Stream  *schema.StreamReader[*schema.Message] // of a call that streams
}

// Ask calls the model with the present fields of the call. It may be called again.
func (c *ModelCall) Ask(ctx context.Context) (*ModelAnswer, error) { return c.ask(ctx, c) }

// Offered returns the tools that the call offers.
func (c *ModelCall) Offered() []*schema.ToolInfo {
	return model.GetCommonOptions(&model.Options{Tools: c.Tools}, c.Options...).Tools
}

// BeforeModel returns m with before called in front of each call of it: before may replace the
// messages and options. An error of before is returned instead of calling m. name is the type of a
// model that lacks one.
func BeforeModel(m model.ToolCallingChatModel, name string, before func(context.Context, *ModelCall) error) model.ToolCallingChatModel {
	return AroundModel(m, nil, &Around{Name: name, Call: func(ctx context.Context, c *ModelCall) (*ModelAnswer, error) {
		if err := before(ctx, c); err != nil {
			return nil, err
		}
		return c.Ask(ctx)
	}})
}

// Around is the wrapping of a model's calls.
type Around struct {
	Name string // the type of a model that lacks one
	// Call makes a call, by its Ask, and returns what the caller gets.
	Call func(context.Context, *ModelCall) (*ModelAnswer, error)
	// Replaces reports whether callers of a model with these tools get other answers than the model
	// gave. Then the handlers of the run see the new answers, and global handlers see both: an
	// agent of older releases shows people the output of its run's handlers. nil: never.
	Replaces func(tools []*schema.ToolInfo) bool
}

// AroundModel returns m, to which tools are bound, with a around each call of it. The result
// takes other tools if m does.
func AroundModel(m model.BaseChatModel, tools []*schema.ToolInfo, a *Around) model.ToolCallingChatModel {
	return &wrapped{inner: m, around: a, tools: tools, replaces: a.Replaces != nil && a.Replaces(tools)}
}

// wrapped implements model.ToolCallingChatModel.
type wrapped struct {
	inner    model.BaseChatModel
	around   *Around
	tools    []*schema.ToolInfo
	replaces bool
}

func (w *wrapped) call(ctx context.Context, in []*schema.Message, opts []model.Option, ask func(context.Context, *ModelCall) (*ModelAnswer, error)) (*ModelAnswer, error) {
	return w.around.Call(ctx, &ModelCall{Messages: in, Tools: w.tools, Options: slices.Clip(opts), ask: func(ctx context.Context, c *ModelCall) (*ModelAnswer, error) {
		if w.replaces {
			ctx = callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Type: w.GetType(), Component: components.ComponentOfChatModel})
		}
		return ask(ctx, c)
	}})
}

// Generate implements model.BaseChatModel.
func (w *wrapped) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	a, err := w.call(ctx, in, opts, func(ctx context.Context, c *ModelCall) (*ModelAnswer, error) {
		m, err := w.inner.Generate(ctx, c.Messages, c.Options...)
		return &ModelAnswer{Message: m}, err
	})
	if err != nil {
		return nil, err
	}
	return a.Message, nil
}

// Stream implements model.BaseChatModel.
func (w *wrapped) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	a, err := w.call(ctx, in, opts, func(ctx context.Context, c *ModelCall) (*ModelAnswer, error) {
		s, err := w.inner.Stream(ctx, c.Messages, c.Options...)
		return &ModelAnswer{Stream: s}, err
	})
	if err != nil {
		return nil, err
	}
	return a.Stream, nil
}

// WithTools implements model.ToolCallingChatModel.
func (w *wrapped) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	calling, ok := w.inner.(model.ToolCallingChatModel)
	if !ok {
		return nil, fmt.Errorf("%T takes no tools: %w", w.inner, backends.ErrInvalid)
	}
	inner, err := calling.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return AroundModel(inner, slices.Clone(tools), w.around), nil
}

// GetType implements components.Typer: the type of the model inside.
func (w *wrapped) GetType() string {
	if t, ok := components.GetType(w.inner); ok {
		return t
	}
	return w.around.Name
}

// IsCallbacksEnabled implements components.Checker.
func (w *wrapped) IsCallbacksEnabled() bool {
	return !w.replaces && components.IsCallbacksEnabled(w.inner)
}
