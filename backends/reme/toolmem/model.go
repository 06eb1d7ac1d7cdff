// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// GuideTools returns inner with experience in the descriptions of the tools that each
// call offers, whether they were bound by WithTools or come as an option, as
// [Memory.Describe] does. scope is asked in each call, so that a bound model that is
// shared shows nobody another workspace's experience. What cannot be looked up leaves
// the call as it was.
func (m *Memory) GuideTools(inner model.ToolCallingChatModel, scope func(context.Context) (backends.Scope, error)) model.ToolCallingChatModel {
	return &guided{inner: inner, memory: m, scope: scope}
}

// guided is a model whose tools are described anew in each call.
type guided struct {
	inner  model.ToolCallingChatModel
	memory *Memory
	scope  func(context.Context) (backends.Scope, error)
	bound  []*schema.ToolInfo
}

// Generate implements model.BaseChatModel.
func (g *guided) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	return g.inner.Generate(ctx, in, g.options(ctx, opts)...)
}

// Stream implements model.BaseChatModel.
func (g *guided) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return g.inner.Stream(ctx, in, g.options(ctx, opts)...)
}

// options returns the options of a call with the tools described.
func (g *guided) options(ctx context.Context, opts []model.Option) []model.Option {
	tools := model.GetCommonOptions(&model.Options{Tools: g.bound}, opts...).Tools
	described, changed := g.memory.describe(ctx, g.scope, tools)
	if !changed {
		return opts
	}
	return append(slices.Clip(opts), model.WithTools(described))
}

// WithTools implements model.ToolCallingChatModel.
func (g *guided) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := g.inner.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &guided{inner: inner, memory: g.memory, scope: g.scope, bound: slices.Clone(tools)}, nil
}

// GetType implements components.Typer: the name of what is inside.
func (g *guided) GetType() string {
	if t, ok := components.GetType(g.inner); ok {
		return t
	}
	return "Guided"
}

// IsCallbacksEnabled implements components.Checker.
func (g *guided) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(g.inner) }
