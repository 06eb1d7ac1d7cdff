// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
)

// ComponentOfMemory is the component under which memory reports to Eino's callbacks.
// Tracers that are in place show it as it is. The handlers that Eino's agents install for
// their own events filter by component, so they never take a memory call for an answer.
const ComponentOfMemory components.Component = "Memory"

// CallbackInput is what a handler gets in OnStart: one of Search and Add is set.
type CallbackInput struct {
	Search *SearchRequest
	Add    *AddRequest
}

// CallbackOutput is what a handler gets in OnEnd: one of Search and Add is set.
type CallbackOutput struct {
	Search *SearchResponse
	Add    *AddResponse
}

// Traced returns a backend that reports every Search and Add of b to Eino's callbacks as
// component [ComponentOfMemory] of type typ ("Mem0"). Use b itself for abilities beyond
// [Backend].
func Traced(typ string, b Backend) Backend { return &traced{Backend: b, typ: typ} }

type traced struct {
	Backend
	typ string
}

func (t *traced) Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error) {
	ctx = callbacks.OnStart(t.runInfo(ctx), &CallbackInput{Search: r})
	resp, err := t.Backend.Search(ctx, r)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &CallbackOutput{Search: resp})
	return resp, nil
}

func (t *traced) Add(ctx context.Context, r *AddRequest) (*AddResponse, error) {
	ctx = callbacks.OnStart(t.runInfo(ctx), &CallbackInput{Add: r})
	resp, err := t.Backend.Add(ctx, r)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &CallbackOutput{Add: resp})
	return resp, nil
}

// runInfo keeps the handlers of ctx and names memory as the component: inside an agent's
// hook the context still names the agent's chat model.
func (t *traced) runInfo(ctx context.Context) context.Context {
	return callbacks.ReuseHandlers(ctx, &callbacks.RunInfo{Name: t.typ, Type: t.typ, Component: ComponentOfMemory})
}
