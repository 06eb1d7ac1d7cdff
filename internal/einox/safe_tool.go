// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
)

// SafeTool returns t with its errors turned into text for the model: in Eino an
// error of a tool, even arguments that do not parse, ends the run (trap T11).
// onErr says the text. A panic of t counts as an error, unless t can only stream.
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
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool panicked: %v", p)
		}
	}()
	return g.InvokableTool.InvokableRun(ctx, arguments, opts...)
}

// cancellableTool fails, whatever the error handler said, once ctx is done.
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
