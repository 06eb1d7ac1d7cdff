// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func tools() (a, b *schema.ToolInfo) {
	a = &schema.ToolInfo{Name: "search", Desc: "finds", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"q": {Type: schema.String, Required: true},
	})}
	return a, &schema.ToolInfo{Name: "stop"}
}

func TestToolChoice(t *testing.T) {
	a, b := tools()
	both := []*schema.ToolInfo{a, b}
	tests := []struct {
		name  string
		tools []*schema.ToolInfo
		opts  []model.Option
		want  any // of tool_choice
		names []string
		fails bool
	}{
		{name: "unsaid", tools: both, names: []string{"search", "stop"}},
		{name: "allowed", tools: both, opts: choose(schema.ToolChoiceAllowed), want: "auto", names: []string{"search", "stop"}},
		{name: "forbidden", tools: both, opts: choose(schema.ToolChoiceForbidden), want: "none", names: []string{"search", "stop"}},
		{name: "forced", tools: both, opts: choose(schema.ToolChoiceForced), want: "required", names: []string{"search", "stop"}},
		{name: "forced, one tool", tools: both[:1], opts: choose(schema.ToolChoiceForced), want: named("search"), names: []string{"search"}},
		{name: "forced, one name", tools: both, opts: choose(schema.ToolChoiceForced, "stop"), want: named("stop"), names: []string{"stop"}},
		{name: "allowed, one name", tools: both, opts: choose(schema.ToolChoiceAllowed, "stop"), want: "auto", names: []string{"stop"}},
		{name: "tools of the call replace", tools: both, opts: []model.Option{model.WithTools(both[1:])}, names: []string{"stop"}},
		{name: "no tools for the call", tools: both, opts: []model.Option{model.WithTools(nil), model.WithToolChoice(schema.ToolChoiceAllowed)}},
		{name: "forced without tools", opts: choose(schema.ToolChoiceForced), fails: true},
		{name: "unknown name", tools: both, opts: choose(schema.ToolChoiceForced, "rm"), fails: true},
		{name: "unknown choice", tools: both, opts: choose("perhaps"), fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, text("ok"))
			m, err := api.chatModel(t).WithTools(tt.tools)
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), ask("hi"), tt.opts...)
			if tt.fails {
				require.ErrorIs(t, err, backends.ErrInvalid)
				require.Empty(t, api.requests(), "nothing was sent")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, api.requests()[0]["tool_choice"])
			var names []string
			sent, _ := api.requests()[0]["tools"].([]any)
			for _, tool := range sent {
				names = append(names, tool.(map[string]any)["function"].(map[string]any)["name"].(string))
			}
			assert.Equal(t, tt.names, names)
		})
	}
}

func choose(c schema.ToolChoice, names ...string) []model.Option {
	return []model.Option{model.WithToolChoice(c, names...)}
}

func named(tool string) any {
	return map[string]any{"type": "function", "function": map[string]any{"name": tool}}
}

func TestToolParametersAreJSONSchema(t *testing.T) {
	a, b := tools()
	api := serve(t, text("ok"))
	m, err := api.chatModel(t).WithTools([]*schema.ToolInfo{a, b})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	got, err := json.Marshal(api.requests()[0]["tools"])
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"type":"function","function":{"name":"search","description":"finds","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}},
		{"type":"function","function":{"name":"stop","parameters":{"type":"object","properties":{}}}}]`, string(got))
}

func TestWithToolsLeavesTheModelAsItIs(t *testing.T) {
	a, _ := tools()
	api := serve(t, text("ok"))
	m := api.chatModel(t)
	_, err := m.WithTools([]*schema.ToolInfo{a})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	assert.NotContains(t, api.requests()[0], "tools")
	_, err = m.WithTools([]*schema.ToolInfo{nil})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
