// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package demomodel is the chat model of the examples when there is no key for a
// real one. It needs no network and it understands nothing: it repeats the
// sentence, among those in the messages that it is given, which shares most with
// the question; where none does it calls search_memory, if it has that tool, or
// says that it does not know. What it answers therefore shows what memory brought
// into the conversation, and nothing else.
//
// It reads English and Chinese. It is no model to build on.
package demomodel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Notice is the line that a program prints once on standard error when it uses
// this model.
const Notice = "OPENAI_API_KEY is not set: a built-in demo model answers. It only repeats what memory gives it."

// Config configures [New].
type Config struct {
	// Notes has the model call add_memory for a statement, when it is offered that
	// tool: what a real model does by itself under agent_control. Optional. Without
	// it the model leaves it to the program to record what was said.
	Notes bool
	// Reads names a tool that returns a document for {"number": n}, which says in
	// its text "n of all". The model then has documents to read: it reads them one
	// after the other when it is told to, and answers a question by what it finds
	// with grep_working_memory and read_working_memory, word for word. Optional.
	Reads string
}

// Model is the demo model. It is safe for concurrent use.
type Model struct {
	config Config
	tools  []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*Model)(nil)

// New returns the demo model; c may be nil.
func New(c *Config) *Model {
	m := &Model{}
	if c != nil {
		m.config = *c
	}
	return m
}

// Generate implements model.BaseChatModel. It fails only with the context or with
// backends.ErrInvalid when nobody said anything.
func (m *Model) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	ctx = m.start(ctx, in)
	out, err := m.answer(ctx, in, opts)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: out})
	return out, nil
}

// Stream implements model.BaseChatModel: a text comes word by word, a tool call in
// one piece.
func (m *Model) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	ctx = m.start(ctx, in)
	out, err := m.answer(ctx, in, opts)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	events := schema.StreamReaderWithConvert(schema.StreamReaderFromArray(pieces(out)), func(m *schema.Message) (callbacks.CallbackOutput, error) {
		return &model.CallbackOutput{Message: m}, nil
	})
	_, events = callbacks.OnEndWithStreamOutput(ctx, events)
	return schema.StreamReaderWithConvert(events, func(o callbacks.CallbackOutput) (*schema.Message, error) {
		return o.(*model.CallbackOutput).Message, nil
	}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (m *Model) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &Model{config: m.config, tools: slices.Clone(tools)}, nil
}

// GetType implements components.Typer.
func (m *Model) GetType() string { return "Demo" }

// IsCallbacksEnabled implements components.Checker: the model reports itself.
func (m *Model) IsCallbacksEnabled() bool { return true }

func (m *Model) start(ctx context.Context, in []*schema.Message) context.Context {
	ctx = callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel)
	return callbacks.OnStart(ctx, &model.CallbackInput{Messages: in, Tools: m.tools})
}

func (m *Model) answer(ctx context.Context, in []*schema.Message, opts []model.Option) (*schema.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("demo model: %w", err)
	}
	if r := reading(m.config.Reads, in); r != nil && m.config.Reads != "" {
		return r.next(), nil
	}
	c := read(in)
	if c.said == "" {
		return nil, fmt.Errorf("demo model: %w: no user message with a text", backends.ErrInvalid)
	}
	offered := model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools
	if call := c.toolCall(offered, m.config.Notes); call != nil {
		return schema.AssistantMessage("", []schema.ToolCall{*call}), nil
	}
	return schema.AssistantMessage(c.reply(), nil), nil
}

func pieces(m *schema.Message) []*schema.Message {
	if len(m.ToolCalls) > 0 || m.Content == "" {
		return []*schema.Message{m}
	}
	var out []*schema.Message
	for _, word := range strings.SplitAfter(m.Content, " ") {
		out = append(out, schema.AssistantMessage(word, nil))
	}
	return out
}
