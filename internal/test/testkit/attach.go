// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// This file has a second version beside the handler of Eino 0.9, in testdata of package
// handler. It puts memory on agents by that handler, so the tests of agents run with both.

// SeesReturns says that memory is called once a tool has returned directly.
const SeesReturns = false

// Memory is the memory of an agent: hooks.Hooks, or a middleware.MemoryMiddleware.
type Memory interface {
	AgentMiddleware() adk.AgentMiddleware
	Finish(ctx context.Context, messages []*schema.Message) error
	ModelWrapper() func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel
}

// Other is another middleware, which has a place among memories.
type Other adk.AgentMiddleware

// AgentMiddleware implements Memory.
func (o Other) AgentMiddleware() adk.AgentMiddleware { return adk.AgentMiddleware(o) }

// Finish implements Memory.
func (Other) Finish(context.Context, []*schema.Message) error { return nil }

// ModelWrapper implements Memory.
func (Other) ModelWrapper() func(m model.BaseChatModel, tools []*schema.ToolInfo) model.BaseChatModel {
	return func(m model.BaseChatModel, _ []*schema.ToolInfo) model.BaseChatModel { return m }
}

// Attach puts memories on an agent, behind its own.
func Attach(cfg *adk.ChatModelAgentConfig, memories ...Memory) {
	for _, m := range memories {
		cfg.Middlewares = append(cfg.Middlewares, m.AgentMiddleware())
	}
}

// AttachDeep puts a memory on Eino's deep agent.
func AttachDeep(cfg *deep.Config, m Memory) {
	cfg.Middlewares = append(cfg.Middlewares, m.AgentMiddleware())
}
