// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/middleware/handler"
)

// This stands in the place of internal/test/testkit/attach.go where the tests of agents run on
// Eino 0.9 with its handlers: see eino in .ci/run.

// SeesReturns says that memory is called once a tool has returned directly.
const SeesReturns = true

// Memory is what agents are given.
type Memory = handler.Memory

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

// Attach puts memories on an agent, behind those that it has.
func Attach(cfg *adk.ChatModelAgentConfig, memories ...Memory) {
	for _, m := range memories {
		cfg.Handlers = append(cfg.Handlers, handler.New(m))
	}
}

// AttachDeep puts a memory on Eino's deep agent.
func AttachDeep(cfg *deep.Config, m Memory) {
	cfg.Handlers = append(cfg.Handlers, handler.New(m))
}
