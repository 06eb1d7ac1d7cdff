// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// keptResult is how much of a streamed result is kept for the record, in bytes. A
// recorder keeps less.
const keptResult = 1 << 20

// ToolMiddleware records how calls of tools went, for a [Config.ToolCalls] to learn
// from: name, arguments, result, error and time of each. It changes nothing about a
// call, and waits for nothing but the recorder's taking it. Agents with
// [Hooks.AgentMiddleware] have it already; it is for compose.ToolsNodeConfig of
// graphs and of flow/agent/react. Without Config.ToolCalls it does nothing.
//
// A call that is interrupted, or ends because its run was cancelled, says nothing
// about the tool and is left out, as are calls in runs whose scope names no workspace.
func (h *Hooks) ToolMiddleware() compose.ToolMiddleware {
	if h.cfg.ToolCalls == nil {
		return compose.ToolMiddleware{}
	}
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				ctx, c := h.beginCall(ctx, in)
				out, err := through(ctx, c, in, next)
				if out != nil {
					c.returned(out.Result)
				}
				c.end(ctx, err)
				return out, err
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				ctx, c := h.beginCall(ctx, in)
				out, err := through(ctx, c, in, next)
				if err != nil || out == nil || out.Result == nil {
					c.end(ctx, err)
					return out, err
				}
				return &compose.StreamToolOutput{Result: watch(ctx, c, out.Result, func(s string) string { return s })}, nil
			}
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				ctx, c := h.beginCall(ctx, in)
				out, err := through(ctx, c, in, next)
				if out != nil {
					c.returned(partsText(out.Result))
				}
				c.end(ctx, err)
				return out, err
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				ctx, c := h.beginCall(ctx, in)
				out, err := through(ctx, c, in, next)
				if err != nil || out == nil || out.Result == nil {
					c.end(ctx, err)
					return out, err
				}
				return &compose.EnhancedStreamableToolOutput{Result: watch(ctx, c, out.Result, partsText)}, nil
			}
		},
	}
}

// errNoReturn is what is recorded of a tool that panics.
var errNoReturn = errors.New("the tool panicked")

// through calls a tool. A panic is recorded as its failure, and goes on.
func through[T any](ctx context.Context, c *call, in *compose.ToolInput, next func(context.Context, *compose.ToolInput) (T, error)) (out T, err error) {
	returned := false
	defer func() {
		if !returned {
			c.end(ctx, errNoReturn)
		}
	}()
	out, err = next(ctx, in)
	returned = true
	return out, err
}

// call is a call of a tool under way. A nil one is not recorded.
type call struct {
	hooks  *Hooks
	call   backends.ToolCall
	result strings.Builder
}

// underway is the key, in the context of a call, of the hooks that record it.
type underway struct{ hooks *Hooks }

// beginCall begins the record of a call, and marks its context: where a tool got the
// middleware in two ways, the call is one.
func (h *Hooks) beginCall(ctx context.Context, in *compose.ToolInput) (context.Context, *call) {
	if in == nil || !h.recorded(ctx, in.Name) {
		return ctx, nil
	}
	this := [2]string{in.Name, in.CallID}
	if ctx.Value(underway{h}) == this {
		return ctx, nil
	}
	// The id of the model's call is no name of the record: models that count their
	// calls from the start in each run use it again.
	c := &call{hooks: h, call: backends.ToolCall{ID: h.cfg.IDs(), Tool: in.Name, Arguments: in.Arguments, Time: h.cfg.Clock()}}
	return context.WithValue(ctx, underway{h}, this), c
}

// recorded reports whether calls of the tool are recorded. Who cannot say is no reason
// for the call to fail.
func (h *Hooks) recorded(ctx context.Context, tool string) (yes bool) {
	if h.cfg.RecordTool == nil {
		return true
	}
	h.harmless(ctx, StageToolCall, func() { yes = h.cfg.RecordTool(tool) })
	return yes
}

// returned keeps a result that is there anyway.
func (c *call) returned(text string) {
	if c != nil {
		c.call.Result = text
	}
}

// keep keeps what goes by of a result, up to keptResult.
func (c *call) keep(text string) {
	if c != nil {
		c.result.WriteString(text[:min(len(text), keptResult-c.result.Len())])
	}
}

func (c *call) end(ctx context.Context, err error) {
	if c == nil || cutShort(ctx, err) {
		return
	}
	h := c.hooks
	c.call.Took = max(0, h.cfg.Clock().Sub(c.call.Time))
	if c.result.Len() > 0 {
		c.call.Result = c.result.String()
	}
	c.call.Result = strings.ToValidUTF8(c.call.Result, "\uFFFD")
	if err != nil {
		c.call.Error = strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	h.harmless(ctx, StageToolCall, func() {
		scope, err := h.ResolveScope(ctx)
		if errors.Is(err, backends.ErrNoScope) || err == nil && scope.Workspace == "" {
			return
		}
		if err == nil {
			ctx = einox.Detach(ctx, "Memory", backends.ComponentOfMemory)
			err = h.cfg.ToolCalls.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: scope, Calls: []backends.ToolCall{c.call}})
		}
		if err != nil {
			h.report(ctx, StageToolCall, fmt.Errorf("recording a call of tool %q: %w", c.call.Tool, err))
		}
	})
}

// cutShort reports whether a call ended for reasons that are not the tool's.
func cutShort(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	_, interrupted := compose.IsInterruptRerunError(err)
	return interrupted || errors.Is(err, context.Canceled) || errors.Is(context.Cause(ctx), context.Canceled)
}

// watch passes a stream on and keeps what goes by. It ends with the stream, or when
// the reader closes it; a reader that does neither holds the tool's stream open, as
// without it.
func watch[T any](ctx context.Context, c *call, in *schema.StreamReader[T], text func(T) string) *schema.StreamReader[T] {
	if c == nil {
		return in
	}
	out, w := schema.Pipe[T](1)
	go func() {
		defer in.Close()
		defer w.Close()
		for {
			chunk, err := receive(in)
			if errors.Is(err, io.EOF) {
				c.end(ctx, nil)
				return
			}
			if err == nil {
				c.keep(text(chunk))
			}
			if closed := w.Send(chunk, err); closed || err != nil {
				c.end(ctx, err)
				return
			}
		}
	}()
	return out
}

// receive reads a chunk. A panic of the tool's stream becomes an error: nobody could
// recover it in our goroutine.
func receive[T any](in *schema.StreamReader[T]) (chunk T, err error) {
	err = safely("the stream of the tool", func() (err error) {
		chunk, err = in.Recv()
		return err
	})
	return chunk, err
}

// partsText is what a result in parts says, with a word for each part that is no text.
func partsText(r *schema.ToolResult) string {
	if r == nil {
		return ""
	}
	var lines []string
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Type == schema.ToolPartTypeText {
			lines = append(lines, p.Text)
		} else {
			lines = append(lines, "["+string(p.Type)+"]")
		}
	}
	return strings.Join(lines, "\n")
}
