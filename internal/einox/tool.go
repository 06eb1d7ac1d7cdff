// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/work"
)

// Tool is a tool of memory's: its description, its work on the arguments that a model wrote, and
// its words for an error.
type Tool struct {
	About  *schema.ToolInfo
	Run    func(ctx context.Context, arguments string) (string, error)
	Failed func(ctx context.Context, err error) string
}

var _ tool.InvokableTool = (*Tool)(nil)

// Info implements tool.BaseTool.
func (t *Tool) Info(context.Context) (*schema.ToolInfo, error) { return t.About, nil }

// InvokableRun implements tool.InvokableTool. It drops the handlers of the agent's run: they would
// take a model call of the backend's own for an answer of the agent (trap T3). It makes text of
// errors and panics, since in Eino an error of a tool ends the run (trap T11). Only the end of the
// run goes through, and an interrupt.
func (t *Tool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (out string, err error) {
	ctx = work.Detach(ctx, "Memory", "Memory") // backends.ComponentOfMemory
	err = work.Catch("tool", func() (err error) {
		out, err = t.Run(ctx, arguments)
		return err
	})
	_, waits := compose.IsInterruptRerunError(err)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case waits:
		return "", err
	case err != nil:
		return t.Failed(ctx, err), nil
	}
	return out, nil
}
