// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// ChatModel is a chat model as an Eino component. It runs the callbacks itself.
// It is safe for concurrent use.
type ChatModel struct {
	client   *client
	defaults model.Options
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel returns a chat model; it makes no request yet. It returns
// backends.ErrInvalid without Model or with a malformed BaseURL.
func NewChatModel(_ context.Context, c *Config) (*ChatModel, error) {
	connection, err := newClient(c)
	if err != nil {
		return nil, err
	}
	config := *c
	m := &ChatModel{client: connection, defaults: model.Options{Model: &config.Model, MaxTokens: &config.MaxTokens}}
	if c.Temperature != nil {
		temperature := *c.Temperature
		m.defaults.Temperature = &temperature
	}
	return m, nil
}

// Generate implements model.BaseChatModel with the options model, temperature,
// top p, max tokens, stop, tools and tool choice. Why the model stopped is in
// ResponseMeta.FinishReason; a refusal is the content.
func (m *ChatModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	request, start, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	ctx = m.start(ctx, start)
	bounded, cancel := context.WithTimeoutCause(ctx, m.client.timeout, errTimeout)
	defer cancel()
	resp, err := m.client.CreateChatCompletion(bounded, request)
	if err == nil && len(resp.Choices) == 0 {
		err = fmt.Errorf("%w: the answer has no choices", backends.ErrModel)
	}
	if err != nil {
		err = m.client.failure(bounded, "asking "+request.Model, err)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	out := fromAnswer(&resp)
	callbacks.OnEnd(ctx, output(out, start.Config))
	return out, nil
}

// Stream implements model.BaseChatModel. A stream that ends before the model gave
// its reason to stop ends with an error that wraps backends.ErrUnavailable: what
// came until then is not the answer. Close the stream; the request ends with the
// next piece, the timeout or the context.
func (m *ChatModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	request, start, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	request.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	ctx = m.start(ctx, start)
	bounded, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(m.client.timeout, func() { cancel(errTimeout) })
	pieces, err := m.client.CreateChatCompletionStream(bounded, request)
	if err != nil {
		err = m.client.failure(bounded, "asking "+request.Model, err)
		timer.Stop()
		cancel(nil)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	reader, writer := schema.Pipe[callbacks.CallbackOutput](1)
	go func() {
		defer cancel(nil)
		defer func() { _ = pieces.Close() }()
		defer writer.Close()
		if err := m.pass(pieces, timer, writer, start.Config); err != nil {
			writer.Send(nil, m.client.failure(bounded, "asking "+request.Model, err))
		}
	}()
	_, reader = callbacks.OnEndWithStreamOutput(ctx, reader)
	return schema.StreamReaderWithConvert(reader, func(o callbacks.CallbackOutput) (*schema.Message, error) {
		return o.(*model.CallbackOutput).Message, nil
	}), nil
}

// pass passes the pieces of a stream on until the answer is complete or its
// reader has gone. The timer bounds each piece.
func (m *ChatModel) pass(from *api.ChatCompletionStream, timer *time.Timer, to *schema.StreamWriter[callbacks.CallbackOutput], c *model.Config) error {
	for finished := false; ; {
		timer.Reset(m.client.timeout)
		piece, err := from.Recv()
		timer.Stop() // the time that the reader takes does not count
		if err != nil && finished {
			return nil // after the reason to stop comes at most the usage
		}
		if err != nil {
			return err
		}
		out := fromPiece(&piece)
		finished = finished || out.ResponseMeta != nil && out.ResponseMeta.FinishReason != ""
		if to.Send(output(out, c), nil) {
			return nil
		}
	}
}

// WithTools implements model.ToolCallingChatModel: the returned model offers the
// tools; m is unchanged. The option model.WithTools replaces them for one call.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := *m
	with.defaults.Tools = slices.Clone(tools)
	return &with, nil
}

// GetType implements components.Typer.
func (m *ChatModel) GetType() string { return "OpenAI" }

// IsCallbacksEnabled implements components.Checker: the model runs the callbacks
// itself.
func (m *ChatModel) IsCallbacksEnabled() bool { return true }

func (m *ChatModel) start(ctx context.Context, in *model.CallbackInput) context.Context {
	return callbacks.OnStart(callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel), in)
}

func output(m *schema.Message, config *model.Config) *model.CallbackOutput {
	out := &model.CallbackOutput{Message: m, Config: config}
	if m.ResponseMeta != nil && m.ResponseMeta.Usage != nil {
		u := m.ResponseMeta.Usage
		out.TokenUsage = &model.TokenUsage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
			PromptTokenDetails:      model.PromptTokenDetails(u.PromptTokenDetails),
			CompletionTokensDetails: model.CompletionTokensDetails(u.CompletionTokensDetails),
		}
	}
	return out
}
