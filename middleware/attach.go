// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/hooks"
)

// The ways to attach memory. Package hooks does the work.

// AgentMiddleware returns memory for adk.ChatModelAgentConfig.Middlewares; it is all that an agent
// needs: see [hooks.Hooks.AgentMiddleware].
func (m *MemoryMiddleware) AgentMiddleware() adk.AgentMiddleware {
	return m.Hooks.AgentMiddleware()
}

// WrapRunner returns r with memory around each run, for any agent: see [hooks.Hooks.WrapRunner].
func (m *MemoryMiddleware) WrapRunner(r *adk.Runner) *hooks.Runner {
	return m.Hooks.WrapRunner(r)
}

// Prepare returns messages with the note in its place, for graphs and handlers: see
// [hooks.Hooks.Prepare].
func (m *MemoryMiddleware) Prepare(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	return m.Hooks.Prepare(ctx, messages)
}

// Finish records the turn that messages end with: see [hooks.Hooks.Finish].
func (m *MemoryMiddleware) Finish(ctx context.Context, messages []*schema.Message) error {
	return m.Hooks.Finish(ctx, messages)
}

// AsRetriever returns the memory as an Eino retriever: see [hooks.Hooks.AsRetriever].
func (m *MemoryMiddleware) AsRetriever() retriever.Retriever {
	return m.Hooks.AsRetriever()
}

// AsIndexer returns the memory as an Eino indexer: see [hooks.Hooks.AsIndexer].
func (m *MemoryMiddleware) AsIndexer() indexer.Indexer {
	return m.Hooks.AsIndexer()
}

// MessageModifier returns memory for react.AgentConfig.MessageModifier: see
// [hooks.Hooks.MessageModifier].
func (m *MemoryMiddleware) MessageModifier(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return m.Hooks.MessageModifier(next)
}
