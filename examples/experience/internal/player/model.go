// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package player

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Model is the player. It is safe for concurrent use; its zero value is ready.
type Model struct{ tools []*schema.ToolInfo }

var _ model.ToolCallingChatModel = (*Model)(nil)

// Generate implements model.BaseChatModel: the next call, or, when the attempt is
// over, a last word. Messages without a task are ErrInvalid.
func (m *Model) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("player: %w", err)
	}
	s := read(in)
	for _, t := range model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools {
		s.lessons.learn(t.Desc)
	}
	switch {
	case s.task == "":
		return nil, fmt.Errorf("player: %w: no message says how large the cellar is", backends.ErrInvalid)
	case s.out:
		return schema.AssistantMessage("I am out.", nil), nil
	case s.over:
		return schema.AssistantMessage("I did not get out.", nil), nil
	}
	do := s.next()
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: id(s.task, len(in)), Type: "function", Function: schema.FunctionCall{Name: do.tool, Arguments: do.json()},
	}}), nil
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
	return &Model{tools: slices.Clone(tools)}, nil
}

// GetType implements components.Typer.
func (m *Model) GetType() string { return "Player" }

// id names a call: no other of the same attempt has the name.
func id(task string, n int) string {
	h := fnv.New32a()
	h.Write([]byte(task))
	return fmt.Sprintf("call-%08x-%d", h.Sum32(), n)
}
