// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

type stubBackend struct{ err error }

func (s stubBackend) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, s.err
}

func (s stubBackend) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, s.err
}
func (stubBackend) Close(context.Context) error { return nil }

func TestTracedReportsSearchAndAdd(t *testing.T) {
	var seen []string
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			require.IsType(t, &backends.CallbackInput{}, in)
			seen = append(seen, "start "+string(info.Component)+" "+info.Type)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			require.IsType(t, &backends.CallbackOutput{}, out)
			seen = append(seen, "end")
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			seen = append(seen, "error "+err.Error())
			return ctx
		}).Build()
	// The context of an agent's hook names the agent's chat model.
	ctx := callbacks.InitCallbacks(context.Background(), &callbacks.RunInfo{Component: components.ComponentOfChatModel}, handler)

	ok := backends.Traced("Stub", stubBackend{})
	_, err := ok.Search(ctx, &backends.SearchRequest{})
	require.NoError(t, err)
	_, err = ok.Add(ctx, &backends.AddRequest{})
	require.NoError(t, err)
	_, err = backends.Traced("Stub", stubBackend{err: errors.New("down")}).Search(ctx, &backends.SearchRequest{})
	require.EqualError(t, err, "down")

	assert.Equal(t, []string{"start Memory Stub", "end", "start Memory Stub", "end", "start Memory Stub", "error down"}, seen)
}
