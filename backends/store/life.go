// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"maps"
	"time"

	"github.com/einomem/einomem/backends"
)

// KeepLives is how long a store knows that a partition was dropped. What began before the
// drop and ends later than that is not refused any more.
const KeepLives = 30 * 24 * time.Hour

type livesKey struct{}

// Begin returns a context for the calls of one operation, such as a turn of a conversation:
// if p is dropped before they write, they fail with ErrForgotten, in every process, instead
// of bringing back what was forgotten. A context that holds a life of p is returned as it
// is. Errors are those of [Records.Life].
func Begin(ctx context.Context, r Records, p backends.Partition) (context.Context, error) {
	if _, begun := Lives(ctx)[p]; begun {
		return ctx, nil
	}
	life, err := r.Life(ctx, p)
	if err != nil {
		return ctx, err
	}
	return WithLife(ctx, p, life), nil
}

// WithLife returns a context whose calls began in a life of p: see [Begin].
func WithLife(ctx context.Context, p backends.Partition, life string) context.Context {
	all := maps.Clone(Lives(ctx))
	if all == nil {
		all = map[backends.Partition]string{}
	}
	all[p] = life
	return context.WithValue(ctx, livesKey{}, all)
}

// Lives returns the lives in which the operation of ctx began, for stores. It must not be
// changed.
func Lives(ctx context.Context) map[backends.Partition]string {
	all, _ := ctx.Value(livesKey{}).(map[backends.Partition]string)
	return all
}
