// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

const (
	actorCaller = "caller" // the actor of changes that the application made itself
	deleteBatch = 5000     // memories that one write of DeleteAll removes
)

// Update changes one memory in place, as [backends.Manager] says. The memory keeps its id, its
// scope and its place in the chain under any metadata; keys such as user_id are the caller's
// own. A new text is redacted and embedded anew, and the turn that taught the former one
// becomes silent: see [Keeper.Delete]. An ended memory keeps its Updated, the time of its end.
// A core block is ErrInvalid. The partition is p; the request's scope is the caller: see
// [Keeper.Allow].
func (k *Keeper) Update(ctx context.Context, p backends.Partition, r *backends.UpdateRequest) (*backends.Memory, error) {
	if r.Text == nil && r.Metadata == nil && r.Expires == nil && r.Quality == nil && r.Standing == nil && r.Delicate == nil {
		return nil, k.errorf("memory %s: %w: nothing to change", r.ID, backends.ErrInvalid)
	}
	var out *backends.Memory
	k = k.For(p.Kind)
	err := k.changing(ctx, p, r.ID, r.Version, func(rec *store.Record, expect int64) error {
		if err := k.Allow(ctx, backends.OpUpdate, r.Scope, p, &rec.Memory); err != nil {
			return err
		}
		former := rec.Text
		batch, err := k.change(ctx, rec, r)
		if err == nil && rec.Text != former { // else the turn that taught it still says the same
			var silenced []store.Mutation
			was := rec.Memory
			was.Text = former
			silenced, err = k.silence(ctx, p, map[string]bool{rec.ID: true}, &was)
			batch.Mutations = append(batch.Mutations, silenced...)
		}
		if err != nil {
			return err
		}
		batch.Mutations[0].Expect = expect
		applied, err := k.apply(ctx, p, batch)
		if err != nil {
			return k.errorf("updating memory %s: %w", r.ID, err)
		}
		rec.Version = applied.Version
		updated := k.Shown(r.Scope, p, rec.Memory)
		out = &updated
		return nil
	})
	return out, err
}

// changing reads a memory and hands it to write with the version that it must still have
// then. This is the caller's expected version, else the version read. A lost race is
// tried again; that cannot help a caller whose version is gone.
func (k *Keeper) changing(ctx context.Context, p backends.Partition, id string, expected int64, write func(*store.Record, int64) error) error {
	return store.OnConflict(ctx, func() error {
		rec, err := k.record(ctx, p, id)
		if err != nil {
			return err
		}
		if rec.Kind.Traits().InPrompt { // its limit, and the agent's right to change it, are unknown here
			return k.errorf("memory %s: %w: it is a core block, which is edited by core_memory_append and core_memory_replace, or by Set of package core", id, backends.ErrInvalid)
		}
		return write(rec, cmp.Or(expected, rec.Version))
	})
}

// change applies the request to the record and returns the batch that writes it.
func (k *Keeper) change(ctx context.Context, rec *store.Record, r *backends.UpdateRequest) (*store.Batch, error) {
	put := store.Put(rec)
	put.Actor, put.Role, put.Session = actorCaller, rec.Origin.Role, r.Scope.SessionID
	batch := &store.Batch{Mutations: []store.Mutation{put}}
	rec.Metadata = k.mergeMetadata(rec.Metadata, r.Metadata)
	if r.Expires != nil {
		rec.Expires = *r.Expires
	}
	if r.Quality != nil {
		q := *r.Quality
		if !(q >= 0 && q <= 1) {
			return nil, k.errorf("memory %s: %w: quality %v is not between 0 and 1", r.ID, backends.ErrInvalid, q)
		}
		rec.Quality = &q
	}
	if r.Standing != nil {
		rec.Standing = *r.Standing
	}
	if r.Delicate != nil {
		rec.Delicate = *r.Delicate
	}
	if rec.Active() {
		rec.Updated = k.config.Clock()
	}
	if r.Text == nil {
		return batch, nil
	}
	text := strings.TrimSpace(k.config.Redact(*r.Text))
	if text == "" {
		return nil, k.errorf("memory %s: %w: blank text; Delete removes a memory", r.ID, backends.ErrInvalid)
	}
	if text == rec.Text {
		return batch, nil
	}
	rec.Text = text
	if rec.Kind.Traits().Keywords { // they were keywords of the former text
		rec.WhenToUse = ""
	}
	var err error
	batch.Embedding, err = k.Embed(ctx, []*store.Record{rec}, nil)
	return batch, err
}

// mergeMetadata returns old with the changes made, redacted; a nil value removes its key.
func (k *Keeper) mergeMetadata(old, changes map[string]any) map[string]any {
	if len(changes) == 0 {
		return old
	}
	merged := map[string]any{}
	maps.Copy(merged, old)
	for key, v := range changes {
		if merged[key] = k.RedactJSON(v); v == nil {
			delete(merged, key)
		}
	}
	return merged
}

// Delete removes one memory; its history still answers. The turn that taught it becomes silent:
// searches and learning skip its words. Other memories of that turn stay. Erase also removes the
// history, and the words of that turn from this store. A core block is ErrInvalid. The partition is
// p; the request's scope is the caller: see [Keeper.Allow].
func (k *Keeper) Delete(ctx context.Context, p backends.Partition, r *backends.DeleteRequest) error {
	return k.changing(ctx, p, r.ID, r.Version, func(rec *store.Record, expect int64) error {
		if err := k.Allow(ctx, backends.OpDelete, r.Scope, p, &rec.Memory); err != nil {
			return err
		}
		if r.Erase {
			if rec.Version != expect {
				return k.errorf("memory %s: %w: it has version %d", r.ID, backends.ErrConflict, rec.Version)
			}
			return k.erase(ctx, p, &rec.Memory)
		}
		m := store.Delete(r.ID)
		m.Expect, m.Actor = expect, actorCaller
		silenced, err := k.silence(ctx, p, map[string]bool{rec.ID: true}, &rec.Memory)
		if err != nil {
			return err
		}
		if _, err := k.config.Store.Apply(ctx, p, &store.Batch{Mutations: append(silenced, m)}); err != nil {
			return k.errorf("deleting memory %s: %w", r.ID, err)
		}
		return nil
	})
}

// DeleteAll removes what the request matches and returns how many: active, ended and expired
// memories, and core blocks too, since it erases a user. Large partitions take several
// writes; after an error the call may be repeated. The partition is p; the request's scope
// is the caller. If they may not delete one of the memories, the error is ErrDenied, and all
// stay.
func (k *Keeper) DeleteAll(ctx context.Context, p backends.Partition, r *backends.DeleteAllRequest) (int, error) {
	allowed := func(m *backends.Memory) error { return k.Allow(ctx, backends.OpDelete, r.Scope, p, m) }
	return k.remove(ctx, p, k.Visible(r.Scope, p, r.Filter), store.Delete, allowed)
}

// remove removes the matches of a filter, if all are allowed, and returns how many.
func (k *Keeper) remove(ctx context.Context, p backends.Partition, f *backends.Filter, by func(id string) store.Mutation, allowed ...func(*backends.Memory) error) (int, error) {
	matches, err := f.Compile()
	if err != nil {
		return 0, k.errorf("%w", err)
	}
	all, err := k.every(ctx, p, true)
	if err != nil {
		return 0, err
	}
	var going []*backends.Memory
	gone := map[string]bool{}
	for _, m := range all {
		if !matches(m) {
			continue
		}
		for _, allows := range allowed {
			if err := allows(m); err != nil {
				return 0, err
			}
		}
		going, gone[m.ID] = append(going, m), true
	}
	done := 0
	for part := range slices.Chunk(going, deleteBatch) {
		mutations, err := k.silence(ctx, p, gone, part...)
		if err != nil {
			return done, err
		}
		for _, m := range part {
			d := by(m.ID)
			d.Actor = actorCaller
			mutations = append(mutations, d)
		}
		if _, err := k.config.Store.Apply(ctx, p, &store.Batch{Mutations: mutations}); err != nil {
			return done, k.errorf("deleting %d memories: %w", len(going), err)
		}
		done += len(part)
	}
	return done, nil
}

// RedactJSON returns a copy of a JSON value, such as metadata, with every text and every
// key of an object redacted by Config.Redact. A value of a type of its own, such as
// map[string]string, takes its JSON form. A value that JSON lacks is returned as it is,
// and every store refuses it.
func (k *Keeper) RedactJSON(v any) any {
	switch x := v.(type) {
	case string:
		return k.config.Redact(x)
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for key, e := range x {
			c[k.config.Redact(key)] = k.RedactJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = k.RedactJSON(e)
		}
		return c
	case nil, bool, float64, int, int64, json.Number:
		return v
	}
	text, err := json.Marshal(v)
	var plain any
	if err != nil || json.Unmarshal(text, &plain) != nil {
		return v
	}
	return k.RedactJSON(plain)
}

// Commit carries out a batch. Every written record without a vector gets one, the batch
// gets their Embedding, and one Apply stores it all or nothing. usage counts the embedded
// texts, and may be nil. A partition may have vectors of another model. Then new records
// get no vector: words find them until the partition is embedded anew.
//
// Commit changes the batch and its records. A batch that lost a race (ErrConflict) can
// thus be committed again, and each text is embedded once. Clear the Vector of a record
// that was read from the store and has a new text.
//
// Errors come from [Keeper.Embed] and [store.Records]. After each of them the store is as
// before.
func (k *Keeper) Commit(ctx context.Context, p backends.Partition, b *store.Batch, usage *backends.Usage) (*store.Applied, error) {
	space, err := k.Embed(ctx, lacking(b), usage)
	if err != nil {
		return nil, err
	}
	if space != nil {
		b.Embedding = space
	}
	applied, err := k.apply(ctx, p, b)
	if err != nil {
		return nil, k.errorf("storing %d changes of memories: %w", len(b.Mutations), err)
	}
	return applied, nil
}

// apply applies a batch, without its vectors if the partition's are of another model.
func (k *Keeper) apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	applied, err := k.config.Store.Apply(ctx, p, b)
	if b.Embedding == nil || !errors.Is(err, backends.ErrDimension) {
		return applied, err
	}
	decode := recall.Decoder(*b.Embedding)
	for _, m := range b.Mutations {
		if m.Record == nil {
			continue
		}
		if _, err := decode(m.Record.Vector); err == nil { // the others are the partition's own
			m.Record.Vector = nil
		}
	}
	b.Embedding = nil
	return k.config.Store.Apply(ctx, p, b)
}

// lacking returns the records of a batch that need embedding: records without a vector,
// and new ones whose vector has no space in the batch. (Such a vector comes from a batch
// that failed; the space of a stored vector is its partition's.)
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

// Embed fills in the vectors of the records and returns their space, for the Embedding of
// the batch. It returns nil without an embedder, or without records. usage counts
// the texts, and may be nil. Errors come from [recall.Ranker.Embed]; they leave all
// records unchanged.
func (k *Keeper) Embed(ctx context.Context, records []*store.Record, usage *backends.Usage) (*store.Embedding, error) {
	if !k.Embeds() || len(records) == 0 {
		return nil, nil
	}
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = recall.EmbedText(&r.Memory)
	}
	vectors, space, err := k.config.Ranker.Embed(ctx, texts)
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

// Replayed returns the earlier result of the batch with this idempotency key, or nil. So
// a repeated call costs no model. session is the update of the batch to come, if it has
// one: Applied.Session is that session as it is now.
//
// It asks the store with a batch that cannot succeed. The store answers a known key
// unchecked. For any other key the batch fails as a whole and leaves the key unused.
func (k *Keeper) Replayed(ctx context.Context, p backends.Partition, key string, session *store.SessionUpdate) (*store.Applied, error) {
	if key == "" {
		return nil, nil
	}
	never := store.Delete("never")
	never.Expect = 1 << 53 // above every version of a record
	applied, err := k.config.Store.Apply(ctx, p, &store.Batch{Key: key, Session: session, Mutations: []store.Mutation{never}})
	switch {
	case errors.Is(err, backends.ErrConflict), errors.Is(err, backends.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, k.errorf("asking for an earlier call with the key: %w", err)
	}
	return applied, nil
}

// Attempts bounds the tries of a call that lost races, where a try may ask a model.
const Attempts = 4
