// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/middleware"
)

// heard returns what is recorded of a tool.
func heard(t *testing.T, mem *middleware.MemoryMiddleware, b *reme.Backend, tool string) []toolmem.Call {
	t.Helper()
	require.NoError(t, mem.Flush(t.Context()))
	got, err := b.Tools().Retrieve(t.Context(), &toolmem.RetrieveRequest{Scope: atWork, Tools: []string{tool}, WithCalls: true, Last: 1000})
	require.NoError(t, err)
	return got.Tools[0].Calls
}

// A tool that panics does so as it would without memory, and is recorded as one that
// failed.
func TestAToolThatPanicsIsOneThatFails(t *testing.T) {
	b, _ := newReme(t, nil)
	mem := open(t, &middleware.Config{Backend: b})
	ctx := middleware.WithScope(t.Context(), atWork)
	wrapped := mem.ToolMiddleware()
	in := &compose.ToolInput{Name: "probe", Arguments: `{"n":1}`}
	assert.PanicsWithValue(t, "out of paper", func() {
		_, _ = wrapped.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) { panic("out of paper") })(ctx, in)
	})
	assert.PanicsWithValue(t, "out of ink", func() {
		_, _ = wrapped.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) { panic("out of ink") })(ctx, in)
	})
	assert.Panics(t, func() {
		_, _ = wrapped.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) { panic(1) })(ctx, in)
	})
	assert.Panics(t, func() {
		_, _ = wrapped.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) { panic(1) })(ctx, in)
	})
	calls := heard(t, mem, b, "probe")
	require.Len(t, calls, 4)
	for _, c := range calls {
		assert.True(t, c.Failed)
		assert.Contains(t, c.Error, "panic")
	}
}

// A stream that panics where it is read would end the program, since it is read beside
// the agent: its reader gets an error instead.
func TestAStreamThatPanicsIsAnErrorToItsReader(t *testing.T) {
	b, _ := newReme(t, nil)
	mem := open(t, &middleware.Config{Backend: b})
	ctx := middleware.WithScope(t.Context(), atWork)
	endpoint := mem.ToolMiddleware().Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		n := 0
		return &compose.StreamToolOutput{Result: schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]string{"a", "b"}), func(s string) (string, error) {
			if n++; n > 1 {
				panic("out of paper")
			}
			return s, nil
		})}, nil
	})
	out, err := endpoint(ctx, &compose.ToolInput{Name: "probe", Arguments: "{}"})
	require.NoError(t, err)
	defer out.Result.Close()
	chunk, err := out.Result.Recv()
	require.NoError(t, err)
	assert.Equal(t, "a", chunk)
	_, err = out.Result.Recv()
	require.ErrorContains(t, err, "out of paper")
	_, _ = out.Result.Recv() // the end, after which it is recorded
	calls := heard(t, mem, b, "probe")
	require.Len(t, calls, 1)
	assert.Equal(t, "a", calls[0].Output)
	assert.Contains(t, calls[0].Error, "out of paper")
}
