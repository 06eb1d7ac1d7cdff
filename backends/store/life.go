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

// KeepLives is how long a store knows that a partition was dropped. A write that began
// before the drop and ends after that time is accepted again.
const KeepLives = 30 * 24 * time.Hour

type livesKey struct{}

// Begin returns a context for the calls of one operation, such as a turn of a conversation.
// If p is dropped before they write, they fail with ErrForgotten in every process, so
// forgotten data stays forgotten. A context that holds a life of p in the store already
// keeps it. Errors come from [Sessions].Life.
func Begin(ctx context.Context, s Sessions, p backends.Partition) (context.Context, error) {
	life, err := s.Life(ctx, p)
	if err != nil || !Alive(ctx, p, life) {
		return ctx, err
	}
	return WithLife(ctx, p, life), nil
}

// BeginRecords is [Begin] for records that a program configured without sessions. It returns
// ctx unchanged where their store has no lives.
func BeginRecords(ctx context.Context, r Records, p backends.Partition) (context.Context, error) {
	if s, ok := r.(Sessions); ok {
		return Begin(ctx, s, p)
	}
	return ctx, nil
}

// WithLife returns a context whose calls began in a life of p, or in several that [Began]
// returned: see [Begin]. An empty life means unknown, and returns ctx unchanged.
func WithLife(ctx context.Context, p backends.Partition, life string) context.Context {
	if life == "" {
		return ctx
	}
	all := maps.Clone(lives(ctx))
	if all == nil {
		all = map[lifeOf]string{}
	}
	for one := range strings.SplitSeq(life, ",") {
		all[lifeOf{p, storeOf(one)}] = one
	}
	return context.WithValue(ctx, livesKey{}, all)
}

// Alive reports whether the operation of ctx began in this life of p, or in none that the
// context knows, in the store that names the life.
func Alive(ctx context.Context, p backends.Partition, life string) bool {
	began, known := lives(ctx)[lifeOf{p, storeOf(life)}]
	return !known || began == life
}

// Began returns the life of p that ctx holds, for several stores the lives of all, or "".
func Began(ctx context.Context, p backends.Partition) string {
	var all []string
	for of, life := range lives(ctx) {
		if of.Partition == p {
			all = append(all, life)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Lives returns the lives in which the operation of ctx began, as the store with that id
// named them. It is for stores.
func Lives(ctx context.Context, id string) map[backends.Partition]string {
	out := map[backends.Partition]string{}
	for of, life := range lives(ctx) {
		if of.store == id {
			out[of.Partition] = life
		}
	}
	return out
}

// lifeOf is a partition in a store: programs may keep logs in one and memories in another.
type lifeOf struct {
	backends.Partition
	store string
}

func storeOf(life string) string {
	id, _, _ := strings.Cut(life, ".")
	return id
}

func lives(ctx context.Context) map[lifeOf]string {
	all, _ := ctx.Value(livesKey{}).(map[lifeOf]string)
	return all
}
