// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
)

type idle struct{}

func (idle) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}
func (idle) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, nil
}
func (idle) Close(context.Context) error { return nil }

// turn has every sort of content, and what must not be stored.
func turn() []*schema.Message {
	part := schema.MessagePartCommon{URL: pointer("https://x/cat.png"), Extra: map[string]any{"id": 7}}
	return []*schema.Message{
		{Role: schema.User, Extra: map[string]any{"x": make(chan int)}, UserInputMultiContent: []schema.MessageInputPart{{Type: "text", Text: "needle hunter2 \xff"}, {Type: "image_url", Image: &schema.MessageInputImage{MessagePartCommon: part}}}},
		{Role: schema.Assistant, Content: "needle <b>", ReasoningContent: "hunter2?\xff", ResponseMeta: &schema.ResponseMeta{FinishReason: "x"}, ToolCalls: []schema.ToolCall{{Index: pointer(1), ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: "{\"a\":\"hunter2\"}"}, Extra: map[string]any{"f": func() {}}}}},
		schema.ToolMessage("needle\xffhunter2", "c1", schema.WithToolName("f")),
		{Role: schema.Assistant, MultiContent: []schema.ChatMessagePart{{Type: "text", Text: "needle hunter2"}}, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: "text", Text: "hunter2"}}},
	}
}

// A message of a running turn goes into a blob, and later into the log: it must be
// known again, and look the same.
func TestTheLogAndBlobsKeepTheSame(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	w := newWorld(t, func(c *archive.Config) { c.Redact = redact })
	x := w.of(ann)
	ref := w.put(ann, turn()...)
	inBlob := grep(t, x, "needle")
	require.Len(t, inBlob, 4)

	mem, err := working.New(t.Context(), &working.Config{Sessions: w.store, Backend: idle{}, Redact: redact, Sweep: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(context.Background())) }()
	require.NoError(t, mem.Append(t.Context(), &working.Turn{Scope: ann, ID: "t1", Messages: turn(), Time: noon}))

	inLog := grep(t, x, "needle")
	require.Len(t, inLog, 4, "each is found once")
	for _, m := range inLog {
		require.Contains(t, m, "log-")
	}
	log, err := x.Messages(t.Context(), "log-1-4")
	require.NoError(t, err)
	blob, err := x.Messages(t.Context(), ref)
	require.NoError(t, err)
	for i := range log {
		require.EqualValues(t, i+1, einox.SeqOf(log[i]))
		require.Equal(t, "t1", einox.TurnOf(log[i]))
		index, ok := einox.IndexOf(log[i])
		require.True(t, ok)
		require.Equal(t, i, index)
		require.Equal(t, blob[i], einox.Unmark(log[i]))
	}
	again, err := x.Put(t.Context(), log)
	require.NoError(t, err)
	require.Equal(t, "log-1-4", again)
}
