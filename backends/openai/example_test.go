// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/openai"
)

// A forced tool call is the safest way to a structured answer.
func ExampleChatModel() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // in place of OpenAI's
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"1","type":"function",
			"function":{"name":"remember","arguments":"{\"fact\":\"likes tea\"}"}}]},"finish_reason":"tool_calls"}]}`)
	}))
	defer srv.Close()
	ctx := context.Background()

	m, err := openai.NewChatModel(ctx, &openai.Config{APIKey: "sk-…", BaseURL: srv.URL + "/v1", Model: "gpt-4o-mini"})
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
	fmt.Println(out.ToolCalls[0].Function.Arguments)
	// Output: {"fact":"likes tea"}
}
