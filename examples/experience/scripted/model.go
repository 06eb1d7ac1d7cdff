// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripted has the two chat models of the example, which follow fixed rules and
// keep nothing between calls. All that they know stands in the messages that they are
// given: neither knows anything of a cellar's rules, and both take a text for what it
// says, right or wrong.
//
//   - [Player] goes where it has not been until it knows where things are, and then the
//     shortest way. Memories and the instruction change where it goes and how it calls tools.
//   - [Teacher] answers what reme asks of a model: it extracts lessons from attempts,
//     judges them, finds duplicates, and writes guidelines for tools.
package scripted

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Model is a scripted chat model: get one from [Player] or [Teacher]. It is safe for
// concurrent use.
type Model struct {
	name   string
	answer func(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error)
	tools  []*schema.ToolInfo
	calls  *atomic.Int64 // shared with the models that WithTools returns
}

var _ model.ToolCallingChatModel = (*Model)(nil)

// Calls returns how often the model, or one with tools made from it, was asked.
func (m *Model) Calls() int { return int(m.calls.Load()) }

// Generate implements model.BaseChatModel. Messages that the model cannot answer are
// [backends.ErrInvalid].
func (m *Model) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m.calls.Add(1)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	out, err := m.answer(in, model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	return out, nil
}

// Stream implements model.BaseChatModel, in one piece.
func (m *Model) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{out}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (m *Model) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := *m
	with.tools = slices.Clone(tools)
	return &with, nil
}

// call is an answer that calls a tool.
func call(id, tool, arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: arguments},
	}})
}
