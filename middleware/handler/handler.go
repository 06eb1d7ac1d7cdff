// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package handler puts memory on agents of Eino 0.9 as one of their handlers. It is a module of its
// own, since Eino's older releases lack the handlers that it is written for:
//
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Handlers: []adk.ChatModelAgentMiddleware{handler.New(mem)},
//	})
//
// # Methods
//
//	BeforeAgent               adds the memory tools, and the text that names them, to the agent
//	BeforeModelRewriteState   finds the note, shows it to the model, and fits the window
//	WrapModel                 stands around the call, as hooks.Hooks.WrapModel does
//	AfterModelRewriteState    records the turn as the model answers
//	WrapInvokableToolCall …   record how the calls of tools went, for a backend that learns from them
//	AfterAgent                finishes the turn that a tool ended by returning directly
//
// # Its place among handlers
//
// Put memory first: its log gets a message before a handler behind it replaces that. Behind a
// handler that summarises, the log lacks the results of tools that were summarised before. Beside
// one, set Config.Window or wrap the runner: else the turn ends in the log where the summary begins.
// The summary takes away the user's message, by which a turn is known.
//
// A result that a handler truncates as the tool returns is truncated in the log, too. Memory learns
// from the truncated result if it is first, else from the whole.
//
// # Caveats
//
// Eino 0.10 changes the signature of BeforeAgent, and will need a version of its own. A run that
// fails ends before AfterAgent: its turn stays open, as with [hooks.Hooks.AgentMiddleware], whose
// comment covers trees of agents, too.
//
// [hooks.Hooks.AgentMiddleware]: https://pkg.go.dev/github.com/einomem/einomem/hooks#Hooks.AgentMiddleware
package handler

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Memory is the part of memory that agents get by a handler: a *middleware.MemoryMiddleware, or the
// *hooks.Hooks in it.
type Memory interface {
	// AgentMiddleware returns tools, instruction and hooks, as older releases take them.
	AgentMiddleware() adk.AgentMiddleware //nolint:staticcheck // deprecated, and what the root module has for all releases

	// Finish records the turn that messages end with.
	Finish(ctx context.Context, messages []*schema.Message) error

	// ModelWrapper returns the wrapping of a model's calls.
	ModelWrapper() func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel
}

// New returns a memory as one entry of adk.ChatModelAgentConfig.Handlers, or of
// deep.Config.Handlers. It does the work of the memory's AgentMiddleware as an entry of
// Middlewares; use one of them. Beyond that, it finishes a turn that ends with a tool that returns
// directly, which is learnt from at once.
//
// One handler may serve many agents and goroutines: it looks up the scope in each run. An agent
// that lists it twice, or two memories that share the name of a tool or of the note, fails its
// first run with backends.ErrInvalid.
func New(mem Memory) adk.ChatModelAgentMiddleware {
	m := mem.AgentMiddleware()
	return &handler{
		memory: mem, instruction: m.AdditionalInstruction, tools: m.AdditionalTools,
		before: m.BeforeChatModel, after: m.AfterChatModel, calls: m.WrapToolCall, around: mem.ModelWrapper(),
	}
}

// hook is a hook around a call of the model.
type hook func(context.Context, *adk.ChatModelAgentState) error

// on runs a hook, which may be nil.
func (f hook) on(ctx context.Context, s *adk.ChatModelAgentState) (context.Context, *adk.ChatModelAgentState, error) {
	if f == nil {
		return ctx, s, nil
	}
	return ctx, s, f(ctx, s)
}

// handler is free of a run's state.
type handler struct {
	*adk.BaseChatModelAgentMiddleware
	memory        Memory
	instruction   string
	tools         []tool.BaseTool
	before, after hook
	calls         compose.ToolMiddleware
	around        func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel
}

// BeforeAgent implements adk.ChatModelAgentMiddleware.
func (h *handler) BeforeAgent(ctx context.Context, agent *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	out := *agent
	out.Tools = slices.Concat(agent.Tools, h.tools)
	if out.Instruction != "" && h.instruction != "" {
		out.Instruction += "\n\n"
	}
	out.Instruction += h.instruction
	return ctx, &out, nil
}

// BeforeModelRewriteState implements adk.ChatModelAgentMiddleware.
func (h *handler) BeforeModelRewriteState(ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	return h.before.on(ctx, s)
}

// AfterModelRewriteState implements adk.ChatModelAgentMiddleware.
func (h *handler) AfterModelRewriteState(ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	return h.after.on(ctx, s)
}

// WrapModel implements adk.ChatModelAgentMiddleware.
func (h *handler) WrapModel(_ context.Context, m model.BaseChatModel, c *adk.ModelContext) (model.BaseChatModel, error) {
	return h.around(m, c.Tools), nil //nolint:staticcheck // deprecated for handlers that see the state, which this method does not
}

// AfterAgent implements adk.ChatModelAgentMiddleware. A turn that ends with an answer of the
// model is finished already.
func (h *handler) AfterAgent(ctx context.Context, s *adk.ChatModelAgentState) (context.Context, error) {
	if n := len(s.Messages); n > 0 && s.Messages[n-1].Role == schema.Tool {
		return ctx, h.memory.Finish(ctx, s.Messages)
	}
	return ctx, nil
}

// WrapInvokableToolCall implements adk.ChatModelAgentMiddleware.
func (h *handler) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, t *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return around(h.calls.Invokable, next, t, text), nil
}

// WrapStreamableToolCall implements adk.ChatModelAgentMiddleware.
func (h *handler) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, t *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return around(h.calls.Streamable, next, t, text), nil
}

// WrapEnhancedInvokableToolCall implements adk.ChatModelAgentMiddleware.
func (h *handler) WrapEnhancedInvokableToolCall(_ context.Context, next adk.EnhancedInvokableToolCallEndpoint, t *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return around(h.calls.EnhancedInvokable, next, t, enhanced), nil
}

// WrapEnhancedStreamableToolCall implements adk.ChatModelAgentMiddleware.
func (h *handler) WrapEnhancedStreamableToolCall(_ context.Context, next adk.EnhancedStreamableToolCallEndpoint, t *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return around(h.calls.EnhancedStreamable, next, t, enhanced), nil
}

// arguments converts the arguments of a call between JSON and the form of its sort of tool.
type arguments[Arguments any] struct {
	json func(Arguments) string
	from func(json string) Arguments
}

var (
	text     = arguments[string]{func(s string) string { return s }, func(s string) string { return s }}
	enhanced = arguments[*schema.ToolArgument]{
		func(a *schema.ToolArgument) string { return a.Text },
		func(s string) *schema.ToolArgument { return &schema.ToolArgument{Text: s} },
	}
)

// around returns a call of a tool with a middleware of package compose around it, which may be nil.
// Output is that middleware's type of results.
func around[
	Call ~func(context.Context, Arguments, ...tool.Option) (Result, error),
	Middleware ~func(Endpoint) Endpoint,
	Endpoint ~func(context.Context, *compose.ToolInput) (*Output, error),
	Output ~struct{ Result Result },
	Arguments, Result any,
](m Middleware, next Call, t *adk.ToolContext, a arguments[Arguments]) Call {
	if m == nil {
		return next
	}
	call := m(func(ctx context.Context, in *compose.ToolInput) (*Output, error) {
		result, err := next(ctx, a.from(in.Arguments), in.CallOptions...)
		if err != nil {
			return nil, err
		}
		return &Output{Result: result}, nil
	})
	return func(ctx context.Context, given Arguments, opts ...tool.Option) (result Result, err error) {
		out, err := call(ctx, &compose.ToolInput{Name: t.Name, CallID: t.CallID, Arguments: a.json(given), CallOptions: opts})
		if err != nil {
			return result, err
		}
		return struct{ Result Result }(*out).Result, nil
	}
}
