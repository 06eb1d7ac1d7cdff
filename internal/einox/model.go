// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// ModelCall is what a model is called with.
type ModelCall struct {
	Messages []*schema.Message
	Tools    []*schema.ToolInfo // bound by WithTools; an option may offer others
	Options  []model.Option
}

// BeforeModel returns m with before called in front of each call of it: before may put other
// messages and options in the place of those given. An error of before is returned, and m is
// not called. name is the type of a model that has none of its own.
func BeforeModel(m model.ToolCallingChatModel, name string, before func(context.Context, *ModelCall) error) model.ToolCallingChatModel {
	return &wrapped{inner: m, name: name, before: before}
}

// wrapped implements model.ToolCallingChatModel.
type wrapped struct {
	inner  model.ToolCallingChatModel
	name   string
	before func(context.Context, *ModelCall) error
	tools  []*schema.ToolInfo
}

func (w *wrapped) call(ctx context.Context, in []*schema.Message, opts []model.Option) (*ModelCall, error) {
	c := &ModelCall{Messages: in, Tools: w.tools, Options: slices.Clip(opts)}
	return c, w.before(ctx, c)
}

// Generate implements model.BaseChatModel.
func (w *wrapped) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	c, err := w.call(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	return w.inner.Generate(ctx, c.Messages, c.Options...)
}

// Stream implements model.BaseChatModel.
func (w *wrapped) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	c, err := w.call(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	return w.inner.Stream(ctx, c.Messages, c.Options...)
}

// WithTools implements model.ToolCallingChatModel.
func (w *wrapped) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := w.inner.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &wrapped{inner: inner, name: w.name, before: w.before, tools: slices.Clone(tools)}, nil
}

// GetType implements components.Typer: the type of the model inside.
func (w *wrapped) GetType() string {
	if t, ok := components.GetType(w.inner); ok {
		return t
	}
	return w.name
}

// IsCallbacksEnabled implements components.Checker.
func (w *wrapped) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(w.inner) }
