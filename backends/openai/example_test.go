// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/openai"
)

// A local server stands in for OpenAI's.
func pretendOpenAI() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/embeddings" {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[0.6,0.8,0]}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"1","type":"function",
			"function":{"name":"remember","arguments":"{\"fact\":\"likes tea\"}"}}]},"finish_reason":"tool_calls"}]}`)
	}))
}

// A forced tool call is the safest way to a structured answer.
func ExampleChatModel() {
	srv := pretendOpenAI()
	defer srv.Close()
	ctx := context.Background()

	m, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		APIKey: "sk-…", BaseURL: srv.URL + "/v1", Model: "gpt-4o-mini", HTTPClient: srv.Client(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	remember := &schema.ToolInfo{Name: "remember", Desc: "Keeps one fact.", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"fact": {Type: schema.String, Required: true}})}
	out, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("I like tea.")},
		model.WithTools([]*schema.ToolInfo{remember}), model.WithToolChoice(schema.ToolChoiceForced))
	if err != nil {
		fmt.Println(err)
		return
	}
	var call struct{ Fact string }
	_ = json.Unmarshal([]byte(out.ToolCalls[0].Function.Arguments), &call)
	fmt.Println(call.Fact)
	// Output: likes tea
}

func ExampleEmbedder() {
	srv := pretendOpenAI()
	defer srv.Close()
	ctx := context.Background()

	e, err := openai.NewEmbedder(ctx, &openai.EmbedderConfig{
		APIKey: "sk-…", BaseURL: srv.URL + "/v1", Model: "text-embedding-3-small", HTTPClient: srv.Client(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := e.EmbedStrings(ctx, []string{"likes tea"})
	dimension, _ := e.Dimension(ctx)
	fmt.Println(vectors, dimension, err)
	// Output: [[0.6000000238418579 0.800000011920929 0]] 3 <nil>
}
