// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// Commit carries out a batch: every record that is written without a vector gets
// one, the batch gets the Embedding of those, and one Apply stores it all or nothing.
// usage counts what was embedded, and may be nil.
//
// The batch and its records are changed, so that one that lost a race (ErrConflict)
// can be committed again with nothing embedded twice. A record that was read from the
// store and says something else now needs its Vector cleared first.
//
// Errors: those of [Keeper.Embed] and of [store.Records]. After each of them nothing
// was stored.
func (k *Keeper) Commit(ctx context.Context, p backends.Partition, b *store.Batch, usage *backends.Usage) (*store.Applied, error) {
	space, err := k.Embed(ctx, lacking(b), usage)
	if err != nil {
		return nil, err
	}
	if space != nil {
		b.Embedding = space
	}
	applied, err := k.store.Apply(ctx, p, b)
	if err != nil {
		return nil, k.errorf("storing %d changes of memories: %w", len(b.Mutations), err)
	}
	return applied, nil
}

// lacking returns the records of a batch that have to be embedded: those without a
// vector, and new ones whose vector has no space in the batch. (One of
// a batch that failed, put into another; the space of a stored one is its
// partition's.)
func lacking(b *store.Batch) []*store.Record {
	var out []*store.Record
	for i := range b.Mutations {
		m := &b.Mutations[i]
		if m.Record == nil || m.Op != store.OpPut && m.Op != store.OpSupersede {
			continue
		}
		if len(m.Record.Vector) == 0 || m.Record.Version == 0 && b.Embedding == nil {
			out = append(out, m.Record)
		}
	}
	return out
}

// Embed fills in the vectors of the records and returns their space, for the
// Embedding of the batch. Where Config.Embeds is not set, and for no records, it does
// nothing. usage counts the texts, and may be nil. Errors are those of
// [recall.Ranker.Embed]; then no record was changed.
func (k *Keeper) Embed(ctx context.Context, records []*store.Record, usage *backends.Usage) (*store.Embedding, error) {
	if !k.embeds || len(records) == 0 {
		return nil, nil
	}
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = recall.EmbedText(&r.Memory)
	}
	vectors, space, err := k.ranker.Embed(ctx, texts)
	if err != nil {
		return nil, k.errorf("embedding %d texts: %w", len(texts), err)
	}
	if usage != nil {
		usage.EmbeddedTexts += len(texts)
	}
	for i, v := range vectors {
		records[i].Vector = v
	}
	return space, nil
}

// Replayed returns what the batch with this idempotency key did before, nil when
// there was none, so that a repeated call asks no model. session is the update of
// the batch to come, if it has one: Applied.Session is that session as it is now.
//
// It asks the store with a batch that cannot succeed: a key that is known is answered
// unchecked, and for any other the batch fails as a whole and leaves the key unused.
func (k *Keeper) Replayed(ctx context.Context, p backends.Partition, key string, session *store.SessionUpdate) (*store.Applied, error) {
	if key == "" {
		return nil, nil
	}
	never := store.Delete("never")
	never.Expect = 1 << 53 // no record comes to this version
	applied, err := k.store.Apply(ctx, p, &store.Batch{Key: key, Session: session, Mutations: []store.Mutation{never}})
	switch {
	case errors.Is(err, backends.ErrConflict), errors.Is(err, backends.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, k.errorf("asking for an earlier call with the key: %w", err)
	}
	return applied, nil
}

// Attempts bounds how often a call that lost a race is tried.
const Attempts = 4

// Retry calls f, which reads and writes, again while it fails with ErrConflict: at
// most [Attempts] times in all, and not after ctx ended. It returns f's last error.
func Retry(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !errors.Is(err, backends.ErrConflict) || attempt == Attempts || ctx.Err() != nil {
			return err
		}
	}
}
