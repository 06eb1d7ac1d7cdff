// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// counted counts the calls of a model.
type counted struct {
	model.ToolCallingChatModel
	calls *atomic.Int64 // shared with the models that WithTools returns
}

func newCounted(m model.ToolCallingChatModel) *counted { return &counted{m, &atomic.Int64{}} }

func (c *counted) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	c.calls.Add(1)
	return c.ToolCallingChatModel.Generate(ctx, in, opts...)
}

func (c *counted) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	c.calls.Add(1)
	return c.ToolCallingChatModel.Stream(ctx, in, opts...)
}

func (c *counted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m, err := c.ToolCallingChatModel.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &counted{m, c.calls}, nil
}
