// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

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

// asker asks the chat model for summaries, and asks once more when the answer
// cannot be used. It is safe for concurrent use as the model is.
type asker struct {
	model   model.BaseChatModel
	bound   bool // the model answers by calling the tool
	typ     string
	timeout time.Duration
}

func newAsker(m model.BaseChatModel, timeout time.Duration) (*asker, error) {
	if m == nil {
		return nil, fmt.Errorf("compaction: %w: a summary needs a Model", backends.ErrInvalid)
	}
	a := &asker{model: m, timeout: timeout, typ: "ChatModel"}
	if a.timeout <= 0 {
		a.timeout = DefaultTimeout
	}
	if typ, ok := components.GetType(m); ok {
		a.typ = typ
	}
	calling, ok := m.(model.ToolCallingChatModel)
	if !ok {
		return a, nil
	}
	bound, err := calling.WithTools([]*schema.ToolInfo{answerTool()})
	if err != nil {
		return nil, fmt.Errorf("compaction: giving the model the tool %s: %w", toolName, err)
	}
	a.model, a.bound = bound, true
	return a, nil
}

// question is what the model is asked.
type question struct{ system, user, complaint string }

// ask puts the question and hands the answer to read. If read cannot use it, the
// model is told why and asked once more; a second failure is ErrModel.
func (a *asker) ask(ctx context.Context, q *question, usage *backends.Usage, read func(*schema.Message) error) error {
	user := q.user
	for try := 1; ; try++ {
		out, err := a.generate(ctx, []*schema.Message{schema.SystemMessage(q.system), schema.UserMessage(user)}, usage)
		if err != nil {
			return err
		}
		if err = read(out); err == nil {
			return nil
		}
		if try == 2 {
			return fmt.Errorf("compaction: %w twice: %w", backends.ErrModel, err)
		}
		user = q.user + "\n\n" + q.complaint + " " + err.Error()
	}
}

func (a *asker) generate(ctx context.Context, in []*schema.Message, usage *backends.Usage) (*schema.Message, error) {
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	usage.ModelCalls++
	out, err := a.call(einox.Detach(limited, a.typ, components.ComponentOfChatModel), in)
	if out != nil && out.ResponseMeta != nil && out.ResponseMeta.Usage != nil {
		usage.PromptTokens += out.ResponseMeta.Usage.PromptTokens
		usage.CompletionTokens += out.ResponseMeta.Usage.CompletionTokens
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("compaction: asking for a summary: %w", ctx.Err())
	case errors.Is(err, backends.ErrUnavailable):
		return nil, fmt.Errorf("compaction: asking for a summary: %w", err)
	}
	return nil, fmt.Errorf("compaction: asking for a summary: %w: %w", backends.ErrUnavailable, err)
}

// call makes an error of a panic: a summary is not worth the agent's run.
func (a *asker) call(ctx context.Context, in []*schema.Message) (out *schema.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("the model panicked: %v", p)
		}
	}()
	var opts []model.Option
	if a.bound {
		opts = append(opts, model.WithToolChoice(schema.ToolChoiceForced))
	}
	return a.model.Generate(ctx, in, opts...)
}
