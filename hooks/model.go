// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// WrapModel returns m with memory around each call. With Config.Window every context of m is made
// to fit, or refused with a compaction.OverError. A call of a memory tool that m prints as text is
// made. If the provider refuses a request for something that memory added, the request is repeated
// in plain form. WrapModel serves agents that take no middleware, graphs, and agents of Eino before
// 0.9 beside [Hooks.AgentMiddleware], which acts only before and after a model.
//
// Its input stays as it is, so that each call compacts anew. A summary is made once, because the
// compactor remembers it.
//
// A model that prints a second call loses the memory tools for the rest of the process, except
// under modes.AgentControl. Config.OnError is told.
func (h *Hooks) WrapModel(m model.ToolCallingChatModel) model.ToolCallingChatModel {
	if h.window == nil && len(h.tools) == 0 && !h.plan.Search {
		return m
	}
	name := fmt.Sprintf("%T %p", m, m)
	if at, ok := m.(interface{ Endpoint() (name, answers string) }); ok { // a program may make a client a request
		name, _ = at.Endpoint()
	}
	around := h.around(name)
	around.Replaces = func(tools []*schema.ToolInfo) bool { return slices.ContainsFunc(tools, h.isOwn) }
	return einox.AroundModel(m, nil, around)
}

// ModelWrapper returns the wrapping of [Hooks.WrapModel] for handlers of newer Eino releases, which
// pass a model and its tools to each call. Call it once for each agent.
func (h *Hooks) ModelWrapper() func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel {
	around := h.around("handler " + backends.NewID())
	return func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel {
		return einox.AroundModel(m, tools, around)
	}
}

// around returns the wrapping of a model's calls, for a model of this process.
func (h *Hooks) around(model string) *einox.Around {
	return &einox.Around{Name: "Remembering", Call: func(ctx context.Context, c *einox.ModelCall) (_ *einox.ModelAnswer, err error) {
		if c.Messages, err = h.fitting(ctx, einox.Unfold(c.Messages)); err != nil {
			return nil, err
		}
		return h.callModel(ctx, c, model)
	}}
}

func (h *Hooks) isOwn(t *schema.ToolInfo) bool {
	return t != nil && slices.Contains(h.toolNames, t.Name)
}

// callModel makes a call of a wrapped model.
func (h *Hooks) callModel(ctx context.Context, c *einox.ModelCall, model string) (*einox.ModelAnswer, error) {
	if !slices.ContainsFunc(c.Offered(), h.isOwn) {
		return h.ask(ctx, c, model)
	}
	h.mu.Lock()
	refused := h.toolless[model] || h.plan.Search && h.printers[model] > 1
	h.mu.Unlock()
	instead := func(printed *schema.Message) (*schema.Message, *einox.ModelAnswer, error) {
		if h.takes(ctx, model, c.Messages, printed) {
			return printed, nil, nil
		}
		again, err := h.ask(ctx, h.withoutTools(c), model)
		return nil, again, err
	}
	if refused {
		c, instead = h.withoutTools(c), dropped
	}
	answer, err := h.ask(ctx, c, model)
	switch {
	case err != nil:
		return nil, err
	case answer.Stream != nil:
		return &einox.ModelAnswer{Stream: h.watchPrinted(answer.Stream, instead)}, nil
	}
	out, again, err := h.replaced(answer.Message, instead)
	if again != nil {
		out, _, err = h.replaced(again.Message, dropped)
	}
	return &einox.ModelAnswer{Message: out}, err
}

// withoutTools returns a call that neither offers nor mentions memory tools. It drops printed calls
// too: a model that sees its own printed call repeats it.
func (h *Hooks) withoutTools(c *einox.ModelCall) *einox.ModelCall {
	out := *c
	out.Options = append(out.Options, model.WithTools(slices.DeleteFunc(slices.Clone(c.Offered()), h.isOwn)))
	out.Messages = slices.DeleteFunc(slices.Clone(c.Messages), func(m *schema.Message) bool {
		return m != nil && (strings.HasPrefix(m.ToolCallID, printedID) || len(m.ToolCalls) > 0 && strings.HasPrefix(m.ToolCalls[0].ID, printedID))
	})
	for i, m := range out.Messages {
		if m != nil && m.Role == schema.System && strings.Contains(m.Content, h.cfg.instructions) {
			silent := *m
			silent.Content = strings.TrimSpace(strings.ReplaceAll(m.Content, h.cfg.instructions, ""))
			out.Messages[i] = &silent
		}
	}
	out.Messages = withoutBlankSystem(out.Messages)
	return &out
}
