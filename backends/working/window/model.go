// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Model returns m with fit applied to every context that it is given: for agents and
// graphs that have no other place for it. An error of fit is returned, and m is not asked.
// The caller's messages stay as they are, so that each call compacts anew; summaries are
// made once, because the compactor keeps them.
func Model(m model.ToolCallingChatModel, fit func(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error)) model.ToolCallingChatModel {
	return &fitted{inner: m, fit: fit}
}

type fitted struct {
	inner model.ToolCallingChatModel
	fit   func(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error)
}

// Generate implements model.BaseChatModel.
func (f *fitted) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	in, err := f.fit(ctx, in)
	if err != nil {
		return nil, err
	}
	return f.inner.Generate(ctx, in, opts...)
}

// Stream implements model.BaseChatModel.
func (f *fitted) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	in, err := f.fit(ctx, in)
	if err != nil {
		return nil, err
	}
	return f.inner.Stream(ctx, in, opts...)
}

// WithTools implements model.ToolCallingChatModel.
func (f *fitted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := f.inner.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &fitted{inner: inner, fit: f.fit}, nil
}

// GetType implements components.Typer: the name of what is inside.
func (f *fitted) GetType() string {
	if t, ok := components.GetType(f.inner); ok {
		return t
	}
	return "Fitted"
}

// IsCallbacksEnabled implements components.Checker.
func (f *fitted) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(f.inner) }
