// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// Rule says which memories are forgotten: the ones with enough uses to judge by that helped too
// seldom.
type Rule struct {
	MinUses    int     // Memories with fewer uses and votes stay; at least 0.
	MaxUtility float64 // A memory leaves if at most this share of them helped, 0 to 1.
}

// DefaultRule is the rule of ReMe's paper: five uses, helpful in at most half of them.
func DefaultRule() Rule { return Rule{MinUses: 5, MaxUtility: 0.5} }

func (r Rule) validate() error {
	switch {
	case r.MinUses < 0:
		return fmt.Errorf("task: Rule.MinUses %d: %w: at least 0", r.MinUses, backends.ErrInvalid)
	case !(r.MaxUtility >= 0 && r.MaxUtility <= 1):
		return fmt.Errorf("task: Rule.MaxUtility %v: %w: a share from 0 to 1", r.MaxUtility, backends.ErrInvalid)
	}
	return nil
}

// forgets reports whether the rule forgets a memory with these counts. An unused memory always
// stays.
func (r Rule) forgets(uses, helped float64) bool {
	return uses > 0 && uses >= float64(r.MinUses) && helped/uses <= r.MaxUtility
}

// tried returns how often a memory was used or voted on, and how often it helped or was agreed with.
func tried(m *backends.Memory) (uses, helped float64) {
	agreed := keeper.Number(m, keeper.MetaCorroborated)
	return keeper.Number(m, keeper.MetaFreq) + agreed + keeper.Number(m, keeper.MetaRefuted), keeper.Number(m, keeper.MetaUtility) + agreed
}

// ForgetRequest asks to delete memories of little use.
type ForgetRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Rule   Rule // Optional. Defaults to Config.Forget.
	DryRun bool // Only report the memories to delete. Optional.
}

// ForgetResponse is the answer to a [ForgetRequest].
type ForgetResponse struct {
	Deleted []backends.Memory // in the order of storing; in a dry run the ones to delete
	DryRun  bool
}

// Forget deletes the memories that the rule forgets: searches and dumps leave them out then, and
// their history still answers. It looks again at a memory that is used meanwhile before it goes.
// ErrDenied: the caller may not delete one of them, see reme.Config.Allow. After an error the
// memories in the response are gone, and the caller may repeat the call. ErrConflict: memories were
// used without pause.
func (m *Memory) Forget(ctx context.Context, r *ForgetRequest) (*ForgetResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	ctx, s, p, err := m.keeper.Enter(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	rule := cmp.Or(r.Rule, m.config.Forget)
	if err := rule.validate(); err != nil {
		return nil, err
	}
	resp := &ForgetResponse{DryRun: r.DryRun}
	err = store.OnConflict(ctx, func() error { return m.forget(ctx, s, p, rule, resp) })
	return resp, err
}

// forgetBatch is how many memories one write deletes.
const forgetBatch = 500

// forget deletes the memories that the rule forgets now, as it read them, and reports them.
func (m *Memory) forget(ctx context.Context, s backends.Scope, p backends.Partition, rule Rule, resp *ForgetResponse) error {
	all, err := m.keeper.All(ctx, p)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	due := slices.DeleteFunc(slices.Clone(all), func(mem *backends.Memory) bool {
		return mem.Kind != backends.KindTask || !mem.Active() || !rule.forgets(tried(mem))
	})
	for _, mem := range due {
		if err := m.keeper.Allow(ctx, backends.OpDelete, s, p, mem); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(due, forgetBatch) {
		b := &store.Batch{}
		for _, mem := range part {
			d := store.Delete(mem.ID)
			d.Expect, d.Actor = mem.Version, "forget"
			b.Mutations = append(b.Mutations, d)
		}
		if !resp.DryRun {
			if _, err := m.keeper.Store().Apply(ctx, p, b); err != nil {
				return fmt.Errorf("task: forgetting %d memories: %w", len(part), err)
			}
		}
		for _, mem := range part {
			resp.Deleted = append(resp.Deleted, m.keeper.Shown(s, p, mem.Clone()))
		}
	}
	return nil
}
