// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

// collect reads a stream to its end.
func collect(s *schema.StreamReader[*schema.Message]) (*schema.Message, error) {
	defer s.Close()
	var all []*schema.Message
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return schema.ConcatMessages(all)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
}

func TestStreamGivesTheWholeAnswerInPieces(t *testing.T) {
	api := serve(t, events(delta(`{"role":"assistant","reasoning_content":"hm"}`), delta(`{"content":"Pa"}`), delta(`{"content":"ris"}`), last("stop"), usageEvent, "[DONE]"))
	s := &seen{}
	stream, err := api.chatModel(t).Stream(s.context(t.Context()), ask("?"))
	require.NoError(t, err)
	out, err := collect(stream)
	require.NoError(t, err)
	assert.Equal(t, "Paris", out.Content)
	assert.Equal(t, "hm", out.ReasoningContent)
	assert.Equal(t, "stop", out.ResponseMeta.FinishReason)
	assert.Equal(t, 7, out.ResponseMeta.Usage.TotalTokens)
	assert.Equal(t, map[string]any{"include_usage": true}, api.requests()[0]["stream_options"])
	assert.Equal(t, 5, s.pieces)
	assert.Equal(t, 7, s.out.TokenUsage.TotalTokens)
}

func TestStreamPutsToolCallsTogether(t *testing.T) {
	api := serve(t, events(
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
		delta(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`),
		last("tool_calls"), "[DONE]"))
	stream, err := api.chatModel(t).Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	out, err := collect(stream)
	require.NoError(t, err)
	require.Len(t, out.ToolCalls, 2)
	assert.Equal(t, schema.FunctionCall{Name: "f", Arguments: `{"x":1}`}, out.ToolCalls[0].Function)
	assert.Equal(t, schema.FunctionCall{Name: "g", Arguments: `{}`}, out.ToolCalls[1].Function)
	assert.Equal(t, "b", out.ToolCalls[1].ID)
}

func TestAStreamThatIsNotWholeIsAnError(t *testing.T) {
	tests := []struct {
		name     string
		stream   http.HandlerFunc
		sentinel error
	}{
		{"closed in the middle", events(delta(`{"content":"Par"}`)), backends.ErrUnavailable},
		{"dropped in the middle", func(w http.ResponseWriter, r *http.Request) {
			events(delta(`{"content":"Par"}`))(w, r)
			panic(http.ErrAbortHandler)
		}, backends.ErrUnavailable},
		{"cut in a line", func(w http.ResponseWriter, r *http.Request) {
			events(delta(`{"content":"Par"}`))(w, r)
			_, _ = io.WriteString(w, `data: {"choices":[{"del`)
		}, backends.ErrUnavailable},
		{"done without a reason", events(delta(`{"content":"Par"}`), "[DONE]"), backends.ErrUnavailable},
		{"nothing at all", events(), backends.ErrUnavailable},
		{"malformed piece", events(delta(`{"content":"Par"}`), `{"choices":[`), backends.ErrUnavailable},
		{"error in the stream", events(delta(`{"content":"Par"}`), `{"error":{"message":"overloaded `+secret+`","type":"server_error"}}`), backends.ErrUnavailable},
		{"invalid in the stream", events(`{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`), backends.ErrInvalid},
		{"not a stream", text("plain"), backends.ErrUnavailable},
		{"one line of JSON", raw(200, `{"choices":[]}`+"\n"), backends.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stream, err := serve(t, tt.stream).chatModel(t).Stream(t.Context(), ask("?"))
			require.NoError(t, err)
			_, err = collect(stream)
			require.ErrorIs(t, err, tt.sentinel)
			assert.NotContains(t, err.Error(), secret)
		})
	}
}

func TestAStreamThatLosesOnlyItsLastLinesIsWhole(t *testing.T) {
	stream, err := serve(t, events(delta(`{"content":"Paris"}`), last("stop"))).chatModel(t).Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	out, err := collect(stream)
	require.NoError(t, err)
	assert.Equal(t, "Paris", out.Content)
}

func TestKeepAliveCommentsAreNotAnswers(t *testing.T) {
	stream, err := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, ": processing\n\n: processing\n\n")
		events(delta(`{"content":"Paris"}`), last("stop"), "[DONE]")(w, r)
	}).chatModel(t).Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	out, err := collect(stream)
	require.NoError(t, err)
	assert.Equal(t, "Paris", out.Content)
}

func TestStreamStartsAreSentAgain(t *testing.T) {
	api := serve(t, apiError(429, "", "slow"), reset, events(delta(`{"content":"ok"}`), last("stop"), "[DONE]"))
	stream, err := api.chatModel(t).Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	out, err := collect(stream)
	require.NoError(t, err)
	assert.Equal(t, "ok", out.Content)
	assert.Len(t, api.requests(), 3)
}

func TestStreamThatIsRefused(t *testing.T) {
	s := &seen{}
	_, err := serve(t, apiError(401, "", "who?")).chatModel(t).Stream(s.context(t.Context()), ask("?"))
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Equal(t, err, s.err)
}

// stalls sends one piece and then nothing.
func stalls(w http.ResponseWriter, r *http.Request) {
	events(delta(`{"content":"Par"}`))(w, r)
	<-r.Context().Done()
}

func TestAStreamThatStallsTimesOut(t *testing.T) {
	m := serve(t, stalls).chatModel(t, func(c *openai.ChatModelConfig) { c.Timeout = 20 * time.Millisecond })
	stream, err := m.Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	_, err = collect(stream)
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestASlowReaderDoesNotTimeOut(t *testing.T) {
	m := serve(t, events(delta(`{"content":"Pa"}`), delta(`{"content":"ris"}`), last("stop"), "[DONE]")).
		chatModel(t, func(c *openai.ChatModelConfig) { c.Timeout = 500 * time.Millisecond })
	stream, err := m.Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	<-time.After(700 * time.Millisecond) // longer than the timeout: the reader's own time
	out, err := collect(stream)
	require.NoError(t, err)
	assert.Equal(t, "Paris", out.Content)
}

func TestCancellingAStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := serve(t, stalls).chatModel(t).Stream(ctx, ask("?"))
	require.NoError(t, err)
	defer stream.Close()
	_, err = stream.Recv()
	require.NoError(t, err)
	cancel()
	_, err = stream.Recv()
	require.ErrorIs(t, err, context.Canceled)
}

func TestClosingAStreamEndsItsGoroutine(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			events(delta(`{"content":"x"}`))(w, r)
		}
	}
	stream, err := serve(t, endless).chatModel(t).Stream(t.Context(), ask("?"))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	stream.Close() // goleak in TestMain sees whether the goroutine ends
}
