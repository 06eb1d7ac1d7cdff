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
	"github.com/einomem/einomem/internal/work"
)

// ToolMiddleware records the name, arguments, result, error and time of each call of a tool, for a
// backend that is a [backends.ToolRecorder], as reme's is. Calls stay unchanged, and wait only
// until the recorder took them. Agents with [Hooks.AgentMiddleware] have it already; ToolMiddleware
// serves compose.ToolsNodeConfig of graphs and of flow/agent/react. Whatever the backend, a tool
// that is called in a turn with a private message runs under [backends.Incognito], as do the agents
// that it calls.
//
// The record leaves out a call that was interrupted or ended with its cancelled run: it says
// nothing about the tool. It also leaves out private calls, and calls in runs whose scope names no
// workspace.
func (h *Hooks) ToolMiddleware() compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return invokable(h, next, func(out *compose.ToolOutput) string { return out.Result })
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return streamable(h, next, func(out *compose.StreamToolOutput) **schema.StreamReader[string] { return &out.Result },
				func(chunk string) string { return chunk })
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return invokable(h, next, func(out *compose.EnhancedInvokableToolOutput) string { return partsText(out.Result) })
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return streamable(h, next, func(out *compose.EnhancedStreamableToolOutput) **schema.StreamReader[*schema.ToolResult] {
				return &out.Result
			}, partsText)
		},
	}
}

type endpoint[Output any] = func(ctx context.Context, in *compose.ToolInput) (*Output, error)

// invokable records the calls of a tool that returns its result at once.
func invokable[Output any](h *Hooks, next endpoint[Output], result func(*Output) string) endpoint[Output] {
	return func(ctx context.Context, in *compose.ToolInput) (*Output, error) {
		ctx, c := h.beginCall(ctx, in)
		out, err := next(ctx, in)
		if out != nil && c != nil {
			c.call.Result = result(out)
		}
		c.end(ctx, err)
		return out, err
	}
}

// streamable records the calls of a tool that streams its result; stream finds the stream in an
// output.
func streamable[Output, Chunk any](h *Hooks, next endpoint[Output], stream func(*Output) **schema.StreamReader[Chunk], text func(Chunk) string) endpoint[Output] {
	return func(ctx context.Context, in *compose.ToolInput) (*Output, error) {
		ctx, c := h.beginCall(ctx, in)
		out, err := next(ctx, in)
		if c == nil || err != nil || out == nil || *stream(out) == nil {
			c.end(ctx, err)
			return out, err
		}
		watched := *out
		*stream(&watched) = watch(ctx, c, *stream(out), text)
		return &watched, nil
	}
}

// call is a call of a tool under way. A nil call is left out of the record.
type call struct {
	hooks  *Hooks
	call   backends.ToolCall
	id     string          // the id of the model's call
	result strings.Builder // the text streamed so far
}

// underway is the key, in the context of a call, of the hooks that record it.
type underway struct{ hooks *Hooks }

// beginCall begins the record of a call, and marks its context: a tool that got the middleware in
// two ways makes one call.
func (h *Hooks) beginCall(ctx context.Context, in *compose.ToolInput) (context.Context, *call) {
	if in == nil {
		return ctx, nil
	}
	if h.isPrivate(ctx) || in.Name == einox.ReadSecret {
		return backends.Incognito(ctx), nil
	}
	if h.recorder == nil {
		return ctx, nil
	}
	recorded := false // the call goes on if the filter panics
	h.guard(ctx, StageRecord, func() { recorded = h.cfg.RecordTool(in.Name) })
	this := [2]string{in.Name, in.CallID}
	if !recorded || ctx.Value(underway{h}) == this {
		return ctx, nil
	}
	// The record needs an id of its own: models that count their calls from the start in each run
	// use theirs again.
	c := &call{hooks: h, id: in.CallID, call: backends.ToolCall{ID: h.cfg.IDs(), Tool: in.Name, Arguments: in.Arguments, Time: h.cfg.Clock()}}
	return context.WithValue(ctx, underway{h}, this), c
}

// end records the call, unless its run ended it.
func (c *call) end(ctx context.Context, err error) {
	if c == nil || interrupted(ctx, err) {
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
	if !h.learns(ctx, einox.Marked{Message: schema.ToolMessage(c.call.Result, c.id, schema.WithToolName(c.call.Tool))}) {
		return
	}
	h.guard(ctx, StageRecord, func() {
		scope, err := h.ResolveScope(ctx)
		if errors.Is(err, backends.ErrNoScope) || err == nil && scope.Workspace == "" {
			return
		}
		if err == nil {
			err = h.recorder.RecordCalls(h.beginTool(detach(ctx), scope), &backends.RecordCallsRequest{Scope: scope, Calls: []backends.ToolCall{c.call}})
		}
		if err != nil {
			h.report(ctx, StageRecord, fmt.Errorf("recording a call of tool %q: %w", c.call.Tool, err))
		}
	})
}

// interrupted reports whether a call ended because its run waits, or was cancelled.
func interrupted(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	_, waits := compose.IsInterruptRerunError(err)
	return waits || errors.Is(err, context.Canceled) || errors.Is(context.Cause(ctx), context.Canceled)
}

// maxStreamed is the most bytes of a streamed result that the record keeps. A recorder keeps less.
const maxStreamed = 1 << 20

// watch passes a stream on and keeps its text. It ends with the stream, or when the reader closes
// it. A reader that does neither holds the tool's stream open, as it would by itself. A panic of
// the stream becomes an error: in a goroutine of its own it would end the process.
func watch[Chunk any](ctx context.Context, c *call, in *schema.StreamReader[Chunk], text func(Chunk) string) *schema.StreamReader[Chunk] {
	out, w := schema.Pipe[Chunk](1)
	go func() {
		defer in.Close()
		defer w.Close()
		for {
			var chunk Chunk
			err := work.Catch("the stream of the tool", func() (err error) {
				chunk, err = in.Recv()
				return err
			})
			if errors.Is(err, io.EOF) {
				c.end(ctx, nil)
				return
			}
			if err == nil {
				s := text(chunk)
				c.result.WriteString(s[:min(len(s), maxStreamed-c.result.Len())])
			}
			if closed := w.Send(chunk, err); closed || err != nil {
				c.end(ctx, err)
				return
			}
		}
	}()
	return out
}

// partsText returns the text of a result in parts, with a word for each part of another type.
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
