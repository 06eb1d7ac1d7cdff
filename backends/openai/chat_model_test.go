// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

func ask(s string) []*schema.Message { return []*schema.Message{schema.UserMessage(s)} }

func TestGenerateReturnsTheWholeAnswer(t *testing.T) {
	api := serve(t, message(`{"role":"assistant","content":"Paris","reasoning_content":"capital…","tool_calls":[
		{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"q\":1}"}}]}`, "tool_calls"))
	out, err := api.chatModel(t).Generate(t.Context(), ask("Capital of France?"))
	require.NoError(t, err)
	assert.Equal(t, schema.Assistant, out.Role)
	assert.Equal(t, "Paris", out.Content)
	assert.Equal(t, "capital…", out.ReasoningContent)
	assert.Equal(t, []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: `{"q":1}`}}}, out.ToolCalls)
	assert.Equal(t, "tool_calls", out.ResponseMeta.FinishReason)
	want := &schema.TokenUsage{PromptTokens: 11, CompletionTokens: 7, TotalTokens: 18}
	want.PromptTokenDetails.CachedTokens = 3
	want.CompletionTokensDetails.ReasoningTokens = 2
	assert.Equal(t, want, out.ResponseMeta.Usage)
	assert.Equal(t, "Bearer "+secret, api.headers[0].Get("Authorization"))
}

func TestARefusalIsTheContent(t *testing.T) {
	api := serve(t, message(`{"role":"assistant","content":null,"refusal":"I must not"}`, "stop"))
	out, err := api.chatModel(t).Generate(t.Context(), ask("?"))
	require.NoError(t, err)
	assert.Equal(t, "I must not", out.Content)
}

func TestGenerateSendsTheOptions(t *testing.T) {
	warm, zero := float32(0.5), float32(0)
	schemaJSON := json.RawMessage(`{"type":"object"}`)
	tests := []struct {
		name   string
		config func(*openai.ChatModelConfig)
		opts   []model.Option
		want   string // the request without messages
	}{
		{"nothing set", nil, nil, `{"model":"gpt-test"}`},
		{"from the config", func(c *openai.ChatModelConfig) {
			c.Temperature, c.TopP, c.MaxTokens, c.Stop = &warm, &warm, 9, []string{"END"}
		}, nil, `{"model":"gpt-test","temperature":0.5,"top_p":0.5,"max_tokens":9,"stop":["END"]}`},
		{"from the call", func(c *openai.ChatModelConfig) { c.Temperature = &warm },
			[]model.Option{model.WithTemperature(0.25), model.WithMaxTokens(3), model.WithTopP(0.75), model.WithStop([]string{"x"}), model.WithModel("other")},
			`{"model":"other","temperature":0.25,"top_p":0.75,"max_tokens":3,"stop":["x"]}`},
		{"temperature zero is sent", func(c *openai.ChatModelConfig) { c.Temperature = &zero }, nil, `{"model":"gpt-test","temperature":1e-45}`},
		{"a reasoning model gets no temperature", func(c *openai.ChatModelConfig) {
			c.Model, c.Temperature, c.MaxTokens = "gpt-5-mini", &zero, 100
		}, nil, `{"model":"gpt-5-mini","max_completion_tokens":100}`},
		{"json schema", nil, []model.Option{openai.WithJSONSchema(openai.JSONSchema{Name: "facts", Description: "d", Schema: schemaJSON, Strict: true})},
			`{"model":"gpt-test","response_format":{"type":"json_schema","json_schema":{"name":"facts","description":"d","schema":{"type":"object"},"strict":true}}}`},
		{"json object", nil, []model.Option{openai.WithJSONObject()}, `{"model":"gpt-test","response_format":{"type":"json_object"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, text("ok"))
			change := tt.config
			if change == nil {
				change = func(*openai.ChatModelConfig) {}
			}
			_, err := api.chatModel(t, change).Generate(t.Context(), ask("hi"), tt.opts...)
			require.NoError(t, err)
			got := api.requests()[0]
			delete(got, "messages")
			raw, err := json.Marshal(got)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(raw))
		})
	}
}

func TestConfigIsCopied(t *testing.T) {
	api := serve(t, text("ok"))
	temperature := float32(0.5)
	var config *openai.ChatModelConfig
	m := api.chatModel(t, func(c *openai.ChatModelConfig) { c.Temperature, config = &temperature, c })
	before := *config
	temperature, config.Model = 1, "changed"
	_, err := m.Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	assert.EqualValues(t, 0.5, api.requests()[0]["temperature"])
	assert.Equal(t, "gpt-test", api.requests()[0]["model"])
	assert.Zero(t, before.Timeout, "defaults are not written into the caller's config")
}

func TestNewChatModelRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]*openai.ChatModelConfig{
		"nil": nil, "no model": {APIKey: "k"}, "no scheme": {Model: "m", BaseURL: "localhost:1"}, "no host": {Model: "m", BaseURL: "http://"},
		"control character": {Model: "m", BaseURL: "http://a\x00b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openai.NewChatModel(t.Context(), c)
			assert.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
}

func TestNothingPrintsTheKey(t *testing.T) {
	api := serve(t, text("ok"))
	config := openai.ChatModelConfig{APIKey: secret, BaseURL: "http://u:" + secret + "@host/v1", Model: "m"}
	embedder := openai.EmbedderConfig{APIKey: secret, Model: "m"}
	for _, v := range []any{config, &config, embedder, &embedder, api.chatModel(t), api.embedder(t), *api.chatModel(t)} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			assert.NotContains(t, fmt.Sprintf(format, v), secret, "%T with %s", v, format)
		}
	}
}

// seen records what a callback handler gets.
type seen struct {
	in     *model.CallbackInput
	out    *model.CallbackOutput
	err    error
	pieces int
}

func (s *seen) context(ctx context.Context) context.Context {
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			s.in = model.ConvCallbackInput(in)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			s.out = model.ConvCallbackOutput(out)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			s.err = err
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			defer out.Close()
			for {
				o, err := out.Recv()
				if err != nil {
					return ctx
				}
				s.pieces++
				if c := model.ConvCallbackOutput(o); c.TokenUsage != nil {
					s.out = c
				}
			}
		}).Build()
	return callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: "test", Component: components.ComponentOfChatModel}, h)
}

func TestGenerateReportsToCallbacks(t *testing.T) {
	api := serve(t, text("ok"), apiError(400, "bad", "no"))
	m, s := api.chatModel(t), &seen{}
	_, err := m.Generate(s.context(t.Context()), ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, "hi", s.in.Messages[0].Content)
	assert.Equal(t, "gpt-test", s.in.Config.Model)
	assert.Equal(t, "ok", s.out.Message.Content)
	assert.Equal(t, 18, s.out.TokenUsage.TotalTokens)
	require.NoError(t, s.err)

	_, err = m.Generate(s.context(t.Context()), ask("hi"))
	require.Error(t, err)
	assert.Equal(t, err, s.err)
}

func TestOneModelServesManyGoroutines(t *testing.T) {
	api := serve(t, text("ok"))
	m := api.chatModel(t)
	errs := make(chan error)
	for i := range 8 {
		go func() {
			with, err := m.WithTools([]*schema.ToolInfo{{Name: fmt.Sprintf("t%d", i)}})
			if err == nil {
				_, err = with.Generate(t.Context(), ask("hi"))
			}
			errs <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
}
