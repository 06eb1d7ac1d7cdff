// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// ChatModel is a chat model as an Eino component. It reports to callbacks itself.
// Use [NewChatModel]. It is safe for concurrent use.
type ChatModel struct {
	client   *client
	defaults model.Options
	tools    []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel returns a chat model; it makes no request yet. It returns
// backends.ErrInvalid for a config without Model or with a BaseURL that is none.
func NewChatModel(_ context.Context, c *ChatModelConfig) (*ChatModel, error) {
	if c == nil {
		return nil, fmt.Errorf("openai: chat model: %w: a config is required", backends.ErrInvalid)
	}
	if err := checkModel(c.Model); err != nil {
		return nil, err
	}
	conn, err := newClient(connection{
		key: c.APIKey, base: c.BaseURL, http: c.HTTPClient, timeout: c.Timeout, backoff: c.Backoff, retries: c.MaxRetries, clock: c.Clock,
	})
	if err != nil {
		return nil, err
	}
	m := &ChatModel{client: conn, defaults: model.Options{
		Model: copied(&c.Model), Temperature: copied(c.Temperature), TopP: copied(c.TopP), Stop: slices.Clone(c.Stop),
	}}
	if c.MaxTokens > 0 {
		m.defaults.MaxTokens = copied(&c.MaxTokens)
	}
	return m, nil
}

// Generate implements model.BaseChatModel. The options temperature, top p, max
// tokens, stop, model, tools and tool choice are honoured, and those of this
// package. Without an error the answer is complete; why the model stopped stands
// in ResponseMeta.FinishReason.
func (m *ChatModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (out *schema.Message, err error) {
	call, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	ctx = m.start(ctx, in, call)
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	resp, err := m.client.api.CreateChatCompletion(ctx, call.request)
	if err != nil {
		return nil, m.client.failure(call.doing(), err)
	}
	if len(resp.Choices) == 0 {
		return nil, &Error{doing: call.doing(), Message: "the answer has no choices", wraps: []error{backends.ErrModel}}
	}
	out = fromAnswer(&resp)
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: out, Config: call.config(), TokenUsage: callbackUsage(out)})
	return out, nil
}

// WithTools implements model.ToolCallingChatModel: the returned model offers the
// tools, m itself is left as it is. An option model.WithTools replaces them for
// one call.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	if slices.Contains(tools, nil) {
		return nil, fmt.Errorf("openai: tools: %w: one of them is nil", backends.ErrInvalid)
	}
	with := *m
	with.tools = slices.Clone(tools)
	return &with, nil
}

// GetType implements components.Typer.
func (m *ChatModel) GetType() string { return "OpenAI" }

// IsCallbacksEnabled implements components.Checker: the model reports itself.
func (m *ChatModel) IsCallbacksEnabled() bool { return true }

// String names the model, without the API key.
func (m *ChatModel) String() string { return fmt.Sprintf("openai chat model %q", *m.defaults.Model) }

// GoString is String.
func (m *ChatModel) GoString() string { return m.String() }

func (m *ChatModel) start(ctx context.Context, in []*schema.Message, call *chatCall) context.Context {
	ctx = callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel)
	return callbacks.OnStart(ctx, &model.CallbackInput{
		Messages: in, Tools: call.options.Tools, ToolChoice: call.options.ToolChoice, Config: call.config(),
	})
}

func copied[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

func callbackUsage(m *schema.Message) *model.TokenUsage {
	if m.ResponseMeta == nil || m.ResponseMeta.Usage == nil {
		return nil
	}
	u := m.ResponseMeta.Usage
	return &model.TokenUsage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
		PromptTokenDetails:      model.PromptTokenDetails{CachedTokens: u.PromptTokenDetails.CachedTokens},
		CompletionTokensDetails: model.CompletionTokensDetails{ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens},
	}
}
