// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Reply computes the model's next answer from the whole input of a call.
type Reply func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error)

// Chat is a scripted chat model. It is safe for concurrent use.
type Chat struct {
	script []Reply
	tools  []*schema.ToolInfo
	log    *callLog // shared with the models that WithTools returns
}

type callLog struct {
	mu      sync.Mutex
	calls   [][]*schema.Message
	sent    [][]*schema.Message
	offered [][]*schema.ToolInfo // in each call
	next    int
}

var _ model.ToolCallingChatModel = (*Chat)(nil)

// New returns a model that gives the replies in order and the last one for ever.
func New(script ...Reply) *Chat {
	if len(script) == 0 {
		script = []Reply{Text("ok")}
	}
	return &Chat{script: script, log: &callLog{}}
}

// Text answers with a text.
func Text(s string) Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return schema.AssistantMessage(s, nil), nil
	}
}

// Call answers with a tool call.
func Call(id, tool, arguments string) Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: arguments}}}), nil
	}
}

// Fail answers with an error.
func Fail(err error) Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { return nil, err }
}

// copied returns copies of messages, which stay as they are.
func copied(messages []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, len(messages))
	for i, m := range messages {
		clone := *m
		out[i] = &clone
	}
	return out
}

// Sent returns the inputs of all calls so far as a provider gets them: notes stand inside
// the user's messages.
func (c *Chat) Sent() [][]*schema.Message {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return slices.Clone(c.log.sent)
}

// Calls returns the inputs of all calls so far, as they were at the time, with the notes as
// messages of their own. Replies get the same.
func (c *Chat) Calls() [][]*schema.Message {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return slices.Clone(c.log.calls)
}

// Offered returns the tools that the model was offered in its last call.
func (c *Chat) Offered() []*schema.ToolInfo {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if len(c.log.offered) == 0 {
		return nil
	}
	return slices.Clone(c.log.offered[len(c.log.offered)-1])
}

// Asked returns in how many calls the model was offered a tool.
func (c *Chat) Asked(tool string) (calls int) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	for _, offered := range c.log.offered {
		if slices.ContainsFunc(offered, func(info *schema.ToolInfo) bool { return info.Name == tool }) {
			calls++
		}
	}
	return calls
}

// answer reports the call, and its failure. The caller reports the answer, with the
// returned context.
func (c *Chat) answer(ctx context.Context, in []*schema.Message, opts []model.Option) (context.Context, *schema.Message, error) {
	ctx = callbacks.EnsureRunInfo(ctx, c.GetType(), components.ComponentOfChatModel)
	ctx = callbacks.OnStart(ctx, in)
	options := model.GetCommonOptions(&model.Options{Tools: c.tools}, opts...)
	c.log.mu.Lock()
	c.log.sent = append(c.log.sent, copied(in))
	in = einox.Encode(einox.Unfold(in))
	c.log.calls, c.log.offered = append(c.log.calls, copied(in)), append(c.log.offered, options.Tools)
	reply := c.script[min(c.log.next, len(c.script)-1)]
	c.log.next++
	c.log.mu.Unlock()
	out, err := reply(ctx, in, options)
	if err != nil {
		err = fmt.Errorf("scripted model: %w", err)
		callbacks.OnError(ctx, err)
	}
	return ctx, out, err
}

// Generate implements model.BaseChatModel.
func (c *Chat) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	ctx, out, err := c.answer(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	callbacks.OnEnd(ctx, out)
	return out, nil
}

// Stream implements model.BaseChatModel: a text comes rune by rune, tool calls in
// one piece.
func (c *Chat) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	ctx, out, err := c.answer(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	chunks := []*schema.Message{out}
	if len(out.ToolCalls) == 0 && out.Content != "" {
		chunks = nil
		for _, r := range out.Content {
			chunks = append(chunks, schema.AssistantMessage(string(r), nil))
		}
	}
	_, stream := callbacks.OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray(chunks))
	return stream, nil
}

// WithTools implements model.ToolCallingChatModel.
func (c *Chat) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &Chat{script: c.script, tools: tools, log: c.log}, nil
}

// GetType implements components.Typer.
func (c *Chat) GetType() string { return "Scripted" }

// IsCallbacksEnabled implements components.Checker: the model reports itself.
func (c *Chat) IsCallbacksEnabled() bool { return true }
