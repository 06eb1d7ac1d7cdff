// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// An error of a tool, or arguments that do not parse, end the run.
func TestT11_AToolErrorEndsTheRunUnlessSafe(t *testing.T) {
	down := errors.New("redis is down")
	failing := newTool(t, "memory", func(context.Context, query) (string, error) { return "", down })
	panicking := newTool(t, "memory", func(context.Context, query) (string, error) { panic("boom") })
	for name, c := range map[string]struct {
		tool tool.BaseTool
		args string
	}{
		"error":         {failing, `{"q":1}`},
		"no json":       {failing, `{"q":`},
		"number as str": {failing, `{"q":"3"}`},
		"panic":         {panicking, `{"q":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			script := []testkit.Reply{testkit.Call("c", "memory", c.args), testkit.Text("went on")}
			_, errs := drain(newRunner(t, testkit.New(script...), adk.AgentMiddleware{}, c.tool).Query(context.Background(), "hi"))
			require.NotEmpty(t, errs, "the trap is gone from this Eino")

			var told error
			safe := einox.SafeTool(c.tool, func(_ context.Context, err error) string { told = err; return "memory is unavailable" })
			said, errs := drain(newRunner(t, testkit.New(script...), adk.AgentMiddleware{}, safe).Query(context.Background(), "hi"))
			require.Empty(t, errs)
			require.Equal(t, []string{"", "memory is unavailable", "went on"}, said)
			require.Error(t, told)
		})
	}
}

func TestT11_TheEndOfTheRunGoesThroughASafeTool(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	waiting := newTool(t, "memory", func(ctx context.Context, _ query) (string, error) {
		cancel()
		return "", ctx.Err()
	})
	safe := einox.SafeTool(waiting, func(context.Context, error) string { return "swallowed" }).(tool.InvokableTool)
	out, err := safe.InvokableRun(ctx, `{"q":1}`)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out)
}

func TestASafeToolIsTheToolOtherwise(t *testing.T) {
	plain := newTool(t, "memory", func(context.Context, query) (string, error) { return "found", nil })
	safe := einox.SafeTool(plain, func(context.Context, error) string { return "failed" }).(tool.InvokableTool)
	out, err := safe.InvokableRun(context.Background(), `{"q":1}`)
	require.NoError(t, err)
	require.Equal(t, "found", out)
	want, err := plain.Info(context.Background())
	require.NoError(t, err)
	got, err := safe.Info(context.Background())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestAToolOfAnotherKindIsLeftToEino(t *testing.T) {
	info := infoOnly{newTool(t, "memory", func(context.Context, query) (string, error) { return "", nil })}
	require.Equal(t, tool.BaseTool(info), einox.SafeTool(info, func(context.Context, error) string { return "" }))
}

type infoOnly struct{ tool.BaseTool }
