// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
)

// Asker is the name under which memory calls models and embedders.
const Asker = "memory"

// Detach returns a context for a model or embedder call that memory makes on its own behalf. It
// drops the handlers of the surrounding agent: they would turn the call's output into an event of
// the agent, or panic once the agent's run is over (trap T3). Global handlers stay. typ names the
// implementation ("OpenAI"), comp the component.
func Detach(ctx context.Context, typ string, comp components.Component) context.Context {
	return callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: Asker, Type: typ, Component: comp})
}

type chargeKey struct{}

// Charging returns a context under which [Charge] calls charge.
func Charging(ctx context.Context, charge func(calls, tokens int)) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// Charge tells the work of ctx how many calls of a model were answered, and their tokens.
func Charge(ctx context.Context, calls, tokens int) {
	if charge, ok := ctx.Value(chargeKey{}).(func(calls, tokens int)); ok {
		charge(calls, tokens)
	}
}
