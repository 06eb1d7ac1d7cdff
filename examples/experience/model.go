// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// scripted is a chat model that follows fixed rules and keeps nothing between calls: all
// that it knows stands in the messages that it is given. It is safe for concurrent use.
type scripted struct {
	answer func(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error)
	tools  []*schema.ToolInfo
}

// Generate implements model.BaseChatModel. Messages that the model cannot answer are
// [backends.ErrInvalid].
func (m *scripted) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.answer(in, model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools)
}

// Stream implements model.BaseChatModel, in one piece.
func (m *scripted) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{out}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (m *scripted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &scripted{m.answer, slices.Clone(tools)}, nil
}

// call is an answer that calls a tool, with its arguments as JSON.
func call(id, tool, arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: arguments},
	}})
}
