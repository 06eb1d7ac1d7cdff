// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
)

// Dump implements [backends.Exporter] for one partition: that of the user, else the
// agent's own, else the workspace's; with Personal.InWorkspace always the workspace's,
// with what is known of all its users. Workspaces in ReMe's format are the work of
// [Backend.Library].
func (b *Backend) Dump(ctx context.Context, s backends.Scope, w io.Writer) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	return b.keeper.Dump(ctx, at.owner(), w)
}

// Load implements [backends.Exporter], into the partition that Dump reads.
func (b *Backend) Load(ctx context.Context, s backends.Scope, r io.Reader) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	return b.keeper.Load(ctx, at.owner(), r)
}

// Reembed computes the vectors of every partition that the scope names anew, after the
// embedding model changed ([backends.ErrDimension]), and returns of how many memories.
func (b *Backend) Reembed(ctx context.Context, s backends.Scope) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, p := range at.all() {
		n, err := b.ranker.Reembed(ctx, p)
		total += n
		if err != nil {
			return total, fmt.Errorf("reme: %s: %w", p, err)
		}
	}
	return total, nil
}
