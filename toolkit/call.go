// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// call is one tool: its description and what it does with the arguments that a
// model wrote.
type call struct {
	info *schema.ToolInfo
	run  func(ctx context.Context, arguments string) (string, error)
}

var _ tool.InvokableTool = (*call)(nil)

// Info implements tool.BaseTool.
func (c *call) Info(context.Context) (*schema.ToolInfo, error) { return c.info, nil }

// InvokableRun implements tool.InvokableTool. The handlers of the agent's run are
// dropped: they would take a model call of the backend's own for an answer of the
// agent (trap T3).
func (c *call) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return c.run(einox.Detach(ctx, "Memory", backends.ComponentOfMemory), arguments)
}

// refusal is an error of the model's own making, worded for the model: it is
// shown as it is and is nobody else's business.
type refusal string

func (r refusal) Error() string { return string(r) }

// set is what the tools of one constructor share. It is immutable.
type set struct {
	advice   *advice
	onError  func(ctx context.Context, stage string, err error) // nil: none
	defaults map[string]any                                     // of parameters
}

// newTool makes a tool whose parameters are those of struct T, described by d, and
// none of whose errors ends a run.
func newTool[T any](k *set, name, stage string, d toolText, run func(ctx context.Context, arguments string) (string, error)) (tool.BaseTool, error) {
	info, err := utils.GoStruct2ToolInfo[T](name, d.Desc)
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	params, err := info.ToJSONSchema()
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	for p := params.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = d.Params[p.Key]
		if v, ok := k.defaults[p.Key]; ok {
			p.Value.Default = v
		}
	}
	onErr := func(ctx context.Context, err error) string {
		var r refusal
		if errors.As(err, &r) {
			return string(r)
		}
		if !errors.Is(err, backends.ErrNotFound) { // an id that the model made up: its own slip, too
			k.report(ctx, stage, err)
		}
		return k.failure(d.Failed, err)
	}
	return einox.SafeTool(&call{info: info, run: run}, onErr), nil
}

// failure words an error for the model: what happened, and what to do now.
func (k *set) failure(what string, err error) string {
	return what + ": " + clip(err.Error(), maxErrorRunes) + "\n" + k.advice.on(err)
}

// advice says what to do about errors of each sort.
type advice struct{ NoScope, NotFound, Conflict, Invalid, Model, Unavailable string }

func (a *advice) on(err error) string {
	switch {
	case errors.Is(err, backends.ErrNoScope):
		return a.NoScope
	case errors.Is(err, backends.ErrNotFound):
		return a.NotFound
	case errors.Is(err, backends.ErrConflict):
		return a.Conflict
	case errors.Is(err, backends.ErrInvalid):
		return a.Invalid
	case errors.Is(err, backends.ErrModel):
		return a.Model
	}
	return a.Unavailable
}

// report tells of a failure that the model alone would hear of.
func (k *set) report(ctx context.Context, stage string, err error) {
	slog.WarnContext(ctx, "memory tool failed", "stage", stage, "error", err)
	if k.onError == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "memory tool: Config.OnError panicked", "stage", stage, "panic", p)
		}
	}()
	k.onError(ctx, stage, err)
}

// defaultTimeout is how long one call may take, unless the configuration says so.
const defaultTimeout = 10 * time.Second

// within returns ctx as one call may use it; a timeout below 0 is none.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// currentScope returns whose memory a call is about, or why nobody knows.
func currentScope(ctx context.Context, scope func(context.Context) (backends.Scope, error)) (backends.Scope, error) {
	s, err := scope(ctx)
	if err != nil {
		return backends.Scope{}, err
	}
	if s, err = s.Normalize(); err != nil {
		return backends.Scope{}, err
	}
	if s.IsZero() {
		return backends.Scope{}, fmt.Errorf("%w: nothing says whose memory this is", backends.ErrNoScope)
	}
	return s, nil
}
