// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// scripted is a chat model that follows fixed rules and keeps nothing between calls: all
// that it knows stands in the messages that it is given. It is safe for concurrent use.
type scripted struct {
	answer func(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error)
	tools  []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*scripted)(nil)

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

type object = map[string]any

// call is an answer that calls a tool.
func call(id, tool string, arguments object) (*schema.Message, error) {
	text, err := json.Marshal(arguments)
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: string(text)},
	}}), err
}

// viewOf reads what a tool answered; nil for what is none.
func viewOf(text string) *view {
	v := &view{}
	if json.Unmarshal([]byte(text), v) != nil {
		return nil
	}
	return v
}

// sorts returns the words that say what ground is like; there are none for what is no
// ground.
func sorts(sight string) []string {
	words, ok := strings.CutSuffix(sight, " ground")
	if !ok {
		return nil
	}
	return strings.Fields(strings.TrimPrefix(words, "the key, on "))
}
