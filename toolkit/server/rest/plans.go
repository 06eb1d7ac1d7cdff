// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/toolkit/server/access"
)

// plans are suggestions for tidying memories, which wait for approval in this process: the last
// plan of each of the 1000 most recent partitions. A client names a plan by its id, so that it can
// leave operations out and cannot write its own.
type plans struct {
	*reflection.Reflector
	waiting *lru.Cache[backends.Partition, *reflection.Plan]
	mu      sync.Mutex
	forgets atomic.Int64 // how often somebody was forgotten
}

// newPlans uses a reflector, or the one that tidies the memory in the background. Without any it
// returns nil.
func newPlans(r *reflection.Reflector, m access.Memory) *plans {
	if holder, ok := m.(interface{ Reflection() backends.Reflection }); ok && r == nil {
		if running, ok := holder.Reflection().(*reflection.Background); ok {
			r = running.Reflector
		}
	}
	if r == nil {
		return nil
	}
	waiting, _ := lru.New[backends.Partition, *reflection.Plan](notesPersons) // it fails for a size below 1
	return &plans{Reflector: r, waiting: waiting}
}

// forget is the Forget of a backends.Place: it drops the plans that name erased memories.
func (all *plans) forget(_ context.Context, _ *backends.ForgetRequest, gone *backends.Receipt) (dropped int, _ error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.forgets.Add(1)
	for _, p := range all.waiting.Keys() {
		if plan, _ := all.waiting.Peek(p); p == gone.Partition || mentions(plan, gone) {
			all.waiting.Remove(p)
			dropped++
		}
	}
	return dropped, nil
}

// draft drafts a plan, which then waits.
func (all *plans) draft(ctx context.Context, s backends.Scope) (*reflection.Plan, error) {
	before := all.forgets.Load()
	plan, err := all.Draft(ctx, &reflection.Request{Scope: s})
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.forgets.Load() != before {
		return nil, fmt.Errorf("%w: somebody was forgotten meanwhile: ask again", backends.ErrConflict)
	}
	all.waiting.Add(plan.Partition, plan)
	return plan, nil
}

// apply carries out what a request keeps of the plan that waits. To keep nothing declines it.
func (all *plans) apply(ctx context.Context, in *planRequest) (*reflection.Applied, error) {
	p, err := in.Scope.Owner()
	if err != nil {
		return nil, err
	}
	plan, ok := all.waiting.Get(p)
	switch {
	case ok && plan.ID == in.ID:
		all.waiting.Remove(p)
	case len(in.Keep) > 0:
		return nil, fmt.Errorf("%w: plan %s: draft another", backends.ErrNotFound, in.ID)
	}
	if len(in.Keep) == 0 {
		return &reflection.Applied{Plan: in.ID}, nil
	}
	kept := *plan
	kept.Operations = nil
	for i, op := range plan.Operations {
		if slices.Contains(in.Keep, i) {
			kept.Operations = append(kept.Operations, op)
		}
	}
	return all.Apply(ctx, &kept, true)
}

type planRequest struct {
	Scope backends.Scope `json:"scope"`
	ID    string         `json:"id"`
	Keep  []int          `json:"keep,omitempty" jsonschema:"the operations to carry out, from 0; none declines the plan"`
}

// planRoutes are the endpoints of suggestions for tidying memories.
func (h *Handler) planRoutes() {
	if h.plans == nil {
		return
	}
	h.features = append(h.features, "plans")
	change := traits{mode: access.Write | access.Whole, long: true}
	scoped(h, "GET plans", "The suggestions for a person or a workspace that wait for approval.", traits{mode: access.Whole},
		func(c *call, in *scopeQuery) (out map[string][]*reflection.Plan, err error) {
			p, err := in.Scope.Owner()
			all := []*reflection.Plan{}
			if plan, ok := c.plans.waiting.Get(p); ok {
				all = append(all, plan)
			}
			return map[string][]*reflection.Plan{"plans": all}, err
		})
	scoped(h, "POST plans", "Draft suggestions: duplicates, contradictions, conclusions. They change nothing until they are applied.", change,
		func(c *call, in *scopeRequest) (*reflection.Plan, error) { return c.plans.draft(c, in.Scope) })
	scoped(h, "POST plans/apply", "Carry out the chosen operations of a plan that waits.", change,
		func(c *call, in *planRequest) (*reflection.Applied, error) { return c.plans.apply(c, in) })
	scoped(h, "POST plans/undo", "Take a plan back that was applied.", change,
		func(c *call, in *planRequest) (*reflection.Applied, error) {
			done, err := c.plans.Undo(c, in.Scope, in.ID, false)
			if errors.Is(err, backends.ErrNotFound) { // nothing is left of it
				return &reflection.Applied{Plan: in.ID}, nil
			}
			return done, err
		})
}
