// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/work"
)

// Detach returns a context for a model or embedder call that memory makes on its
// own behalf. Handlers that the surrounding agent put in place are dropped,
// because they would turn the call's output into an event of the agent, or panic
// once the agent's run is over (trap T3); global handlers stay. typ names the
// implementation ("OpenAI"), comp the component.
func Detach(ctx context.Context, typ string, comp components.Component) context.Context {
	return callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: "memory", Type: typ, Component: comp})
}

// SafeTool returns t with its errors turned into text for the model: in Eino an
// error of a tool, even arguments that do not parse, ends the run (trap T11).
// onErr returns the text. A panic of t counts as an error, unless t can only stream.
// Only the end of the run itself goes through: when ctx is cancelled, so is the call.
func SafeTool(t tool.BaseTool, onErr func(ctx context.Context, err error) string) tool.BaseTool {
	inv, ok := t.(tool.InvokableTool)
	if !ok {
		return utils.WrapToolWithErrorHandler(t, onErr)
	}
	guarded := &guardedTool{InvokableTool: inv}
	return &cancellableTool{guarded: guarded, InvokableTool: utils.WrapInvokableToolWithErrorHandler(guarded, onErr)}
}

// guardedTool turns a panic into an error.
type guardedTool struct{ tool.InvokableTool }

func (g *guardedTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (out string, err error) {
	err = work.Catch("tool", func() (err error) {
		out, err = g.InvokableTool.InvokableRun(ctx, arguments, opts...)
		return err
	})
	return out, err
}

// cancellableTool fails, whatever the error handler answers, once ctx is done.
type cancellableTool struct {
	tool.InvokableTool
	guarded *guardedTool
}

// Info implements tool.BaseTool.
func (c *cancellableTool) Info(ctx context.Context) (*schema.ToolInfo, error) {
	return c.guarded.Info(ctx)
}

func (c *cancellableTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	out, err := c.InvokableTool.InvokableRun(ctx, arguments, opts...)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return out, err
}
