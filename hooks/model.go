// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// ModelWrapper returns what [Hooks.WrapModel] puts around a model for handlers of newer Eino
// releases, which are given a model in each call, and the tools that it is offered. Contexts
// stay as they are: the handler has made them fit. Call it once for each agent.
func (h *Hooks) ModelWrapper() func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel {
	around := &einox.Around{Name: "Remembering", Call: h.callModel}
	return func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel {
		return einox.AroundModel(m, tools, around)
	}
}

// callModel makes a call of a wrapped model.
func (h *Hooks) callModel(ctx context.Context, c *einox.ModelCall) (*einox.ModelAnswer, error) {
	return h.ask(ctx, c)
}

// ask calls the model.
func (h *Hooks) ask(ctx context.Context, c *einox.ModelCall) (*einox.ModelAnswer, error) {
	return c.Ask(ctx)
}
