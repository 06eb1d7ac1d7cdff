// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// KeepEpochs is how long a store knows that a partition was dropped. A write that began
// before the drop and ends after that time is accepted again.
const KeepEpochs = 30 * 24 * time.Hour

type epochsKey struct{}

// Begin returns a context for the calls of one operation, such as a turn of a conversation.
// If p is dropped before they write, they fail with ErrForgotten in every process, so
// forgotten data stays forgotten. A context that holds an epoch of p in the store already
// keeps it. Errors come from [Sessions].Epoch.
func Begin(ctx context.Context, s Sessions, p backends.Partition) (context.Context, error) {
	epoch, err := s.Epoch(ctx, p)
	if err != nil || !Alive(ctx, p, epoch) {
		return ctx, err
	}
	return WithEpoch(ctx, p, epoch), nil
}

// BeginRecords is [Begin] for records that a program configured without sessions. It returns
// ctx unchanged where their store has no epochs.
func BeginRecords(ctx context.Context, r Records, p backends.Partition) (context.Context, error) {
	if s, ok := r.(Sessions); ok {
		return Begin(ctx, s, p)
	}
	return ctx, nil
}

// WithEpoch returns a context whose calls began in an epoch of p, or in several that [Began]
// returned: see [Begin]. An empty epoch means unknown, and returns ctx unchanged.
func WithEpoch(ctx context.Context, p backends.Partition, epoch string) context.Context {
	if epoch == "" {
		return ctx
	}
	all := maps.Clone(epochs(ctx))
	if all == nil {
		all = map[epochOf]string{}
	}
	for one := range strings.SplitSeq(epoch, ",") {
		all[epochOf{p, storeOf(one)}] = one
	}
	return context.WithValue(ctx, epochsKey{}, all)
}

// Alive reports whether the operation of ctx began in this epoch of p, or in none that the
// context knows, in the store that names the epoch.
func Alive(ctx context.Context, p backends.Partition, epoch string) bool {
	began, known := epochs(ctx)[epochOf{p, storeOf(epoch)}]
	return !known || began == epoch
}

// Began returns the epoch of p that ctx holds, for several stores the epochs of all, or "".
func Began(ctx context.Context, p backends.Partition) string {
	var all []string
	for of, epoch := range epochs(ctx) {
		if of.Partition == p {
			all = append(all, epoch)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Epochs returns the epochs in which the operation of ctx began, as the store with that id
// named them. It is for stores.
func Epochs(ctx context.Context, id string) map[backends.Partition]string {
	out := map[backends.Partition]string{}
	for of, epoch := range epochs(ctx) {
		if of.store == id {
			out[of.Partition] = epoch
		}
	}
	return out
}

// epochOf is a partition in a store: programs may keep logs in one and memories in another.
type epochOf struct {
	backends.Partition
	store string
}

func storeOf(epoch string) string {
	id, _, _ := strings.Cut(epoch, ".")
	return id
}

func epochs(ctx context.Context) map[epochOf]string {
	all, _ := ctx.Value(epochsKey{}).(map[epochOf]string)
	return all
}
