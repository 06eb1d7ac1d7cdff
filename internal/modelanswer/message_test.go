// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package modelanswer

import (
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	call := func(name, arguments string) schema.ToolCall {
		return schema.ToolCall{Function: schema.FunctionCall{Name: name, Arguments: arguments}}
	}
	called := func(calls ...schema.ToolCall) *schema.Message { return schema.AssistantMessage("on my way", calls) }
	one, two := map[string]any{"n": json.Number("1")}, map[string]any{"n": json.Number("2")}
	for name, c := range map[string]struct {
		m    *schema.Message
		want []any
		err  error
	}{
		"a call":                {called(call("answer", `{"n":1}`)), []any{one}, nil},
		"several calls":         {called(call("answer", `{"n":1}`), call("answer", `{"n":2}`)), []any{one, two}, nil},
		"calls of others":       {called(call("other", `{`), call("answer", `{"n":2}`)), []any{two}, nil},
		"under a wrong name":    {called(call("functions.answer", `{"n":1}`), call("functions.answer", `{"n":2}`)), []any{one, two}, nil},
		"text":                  {schema.AssistantMessage("<think>1</think> Here: {\"n\": 1}", nil), []any{one}, nil},
		"a text in parts":       {&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: `{"n":1}`}}}, []any{one}, nil},
		"nothing":               {nil, nil, ErrEmpty},
		"nothing said":          {schema.AssistantMessage("", nil), nil, ErrEmpty},
		"no arguments":          {called(call("answer", "")), nil, ErrEmpty},
		"words":                 {schema.AssistantMessage("I cannot do that.", nil), nil, ErrNoJSON},
		"half a call":           {called(call("answer", `{"n":1`)), nil, ErrTruncated},
		"the second cut off":    {called(call("answer", `{"n":1}`), call("answer", `{"n":`)), nil, ErrTruncated},
		"cut off, so they said": {&schema.Message{Content: `{"n":1}`, ResponseMeta: &schema.ResponseMeta{FinishReason: "length"}}, nil, ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(c.m, "answer")
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, got)
		})
	}
}
