// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// modelCaller asks the chat model, and asks once more when the answer cannot be
// used.
type modelCaller struct {
	plain   model.BaseChatModel
	bound   map[string]model.BaseChatModel // by tool name; nil when the model calls no tools
	typ     string
	timeout time.Duration
}

func newModelCaller(c *Config) (*modelCaller, error) {
	mc := &modelCaller{plain: c.Model, timeout: c.ModelTimeout, typ: "ChatModel"}
	if typ, ok := components.GetType(c.Model); ok {
		mc.typ = typ
	}
	calling, ok := c.Model.(model.ToolCallingChatModel)
	if !ok {
		return mc, nil
	}
	mc.bound = map[string]model.BaseChatModel{}
	for _, tool := range answerTools() {
		m, err := calling.WithTools([]*schema.ToolInfo{tool})
		if err != nil {
			return nil, fmt.Errorf("mem0: giving the model the tool %s: %w", tool.Name, err)
		}
		mc.bound[tool.Name] = m
	}
	return mc, nil
}

// byTool reports whether answers come as tool calls.
func (mc *modelCaller) byTool() bool { return mc.bound != nil }

// question is what the model is asked. Without a tool the answer is free text.
type question struct {
	system, user string
	tool         string
	lang         Language
}

// ask puts the question and hands the answer to read. If read cannot use it, the
// model is told why and asked once more; a second failure is ErrModel.
func (mc *modelCaller) ask(ctx context.Context, q *question, usage *backends.Usage, read func(*schema.Message) error) error {
	user := q.user
	for try := 1; ; try++ {
		out, err := mc.generate(ctx, q.tool, []*schema.Message{schema.SystemMessage(q.system), schema.UserMessage(user)}, usage)
		if err != nil {
			return err
		}
		if err = read(out); err == nil {
			return nil
		}
		if try == 2 {
			return fmt.Errorf("mem0: %w twice: %w", backends.ErrModel, err)
		}
		user = q.user + "\n\n" + prompts(q.lang).complaint(err)
	}
}

func (mc *modelCaller) generate(ctx context.Context, tool string, in []*schema.Message, usage *backends.Usage) (*schema.Message, error) {
	m, opts := mc.plain, []model.Option(nil)
	if bound := mc.bound[tool]; bound != nil {
		m, opts = bound, append(opts, model.WithToolChoice(schema.ToolChoiceForced))
	}
	limited, cancel := context.WithTimeout(ctx, mc.timeout)
	defer cancel()
	out, err := m.Generate(einox.Detach(limited, mc.typ, components.ComponentOfChatModel), in, opts...)
	usage.ModelCalls++
	if out != nil && out.ResponseMeta != nil && out.ResponseMeta.Usage != nil {
		usage.PromptTokens += out.ResponseMeta.Usage.PromptTokens
		usage.CompletionTokens += out.ResponseMeta.Usage.CompletionTokens
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("mem0: asking the model: %w", ctx.Err())
	case errors.Is(err, backends.ErrUnavailable):
		return nil, fmt.Errorf("mem0: asking the model: %w", err)
	}
	return nil, fmt.Errorf("mem0: asking the model: %w: %w", backends.ErrUnavailable, err)
}
