// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"

	"github.com/einomem/einomem/backends"
)

// Enter resolves the workspace of a call that writes there, and begins it: see [Keeper.Begin].
// ErrDenied: the caller lacks the right to one of the operations, see [Keeper.Allow].
func (k *Keeper) Enter(ctx context.Context, s backends.Scope, may ...backends.Op) (context.Context, backends.Scope, backends.Partition, error) {
	s, p, err := k.Resolve(ctx, s, Workspace)
	for _, op := range may {
		if err == nil {
			err = k.Allow(ctx, op, s, p, nil)
		}
	}
	if err == nil {
		ctx, err = k.Begin(ctx, s)
	}
	return ctx, s, p, err
}
