// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/transcript"
)

func TestWordsOfAMessage(t *testing.T) {
	m := schema.AssistantMessage("Tom's cat, tom! 第3次会议。", []schema.ToolCall{{ID: "id", Function: schema.FunctionCall{Name: "find_it", Arguments: `{"q":"a\nb"}`}}})
	m.ReasoningContent = "cat?"
	w := transcript.WordsOf(m, nil, user("cat"), drawing(schema.Assistant, "drawn"), image(schema.User, "address"))
	require.Equal(t, transcript.Words{
		"Tom": 1, "s": 1, "cat": 3, "tom": 1, "第3次会议": 1, "find": 1, "it": 1, "q": 1, "a": 1, "nb": 1, "drawn": 1,
	}, w)
}

func TestWordsThatAreMissing(t *testing.T) {
	w := transcript.WordsOf(user("a b c"))
	require.Equal(t, []string{"c"}, w.Without(transcript.WordsOf(user("a x")), transcript.WordsOf(user("b"))))
	require.Empty(t, w.Without(w))
	many := transcript.WordsOf(user("0 1 2 3 4 5 6 7 8 9 10 11 12"))
	require.Len(t, many.Without(), 10)
}
