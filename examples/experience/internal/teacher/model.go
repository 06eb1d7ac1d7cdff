// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Model is the teacher. It answers by the tool that it is bound to. It is safe for
// concurrent use; its zero value is ready.
type Model struct{ tool string }

var _ model.ToolCallingChatModel = (*Model)(nil)

// answers are what the teacher can be asked, by the tool that the answer is given by.
var answers = map[string]func(prompt string) (any, error){
	"extract_experiences": experiences,
	"judge_experiences":   judgements,
	"task_duplicates":     decisions,
	"tool_guideline":      guidelines,
	"tool_judge":          callJudgements,
	"personal_statements": nothingPersonal,
}

// Generate implements model.BaseChatModel. A question that it has no answer to is
// ErrInvalid.
func (m *Model) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("teacher: %w", err)
	}
	answer := answers[m.tool]
	if answer == nil || len(in) == 0 {
		return nil, fmt.Errorf("teacher: %w: I cannot answer by tool %q", backends.ErrInvalid, m.tool)
	}
	v, err := answer(in[len(in)-1].Content)
	if err != nil {
		return nil, fmt.Errorf("teacher: %w: %s: %w", backends.ErrInvalid, m.tool, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("teacher: %w", err)
	}
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: "answer", Type: "function", Function: schema.FunctionCall{Name: m.tool, Arguments: string(text)},
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

// WithTools implements model.ToolCallingChatModel: the last tool is the one that the
// answer is given by.
func (m *Model) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	if len(tools) == 0 {
		return &Model{}, nil
	}
	return &Model{tool: tools[len(tools)-1].Name}, nil
}

// GetType implements components.Typer.
func (m *Model) GetType() string { return "Teacher" }
