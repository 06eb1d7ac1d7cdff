// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// actorImport is the author of imported data in the partitions of others.
const actorImport = "import"

// Admit changes an imported memory and its history to the form that a write by the caller
// would have stored. It redacts and authorises them, and removes claims of authorship in a
// share. A vector of another embedder goes: words find the memory until ReembedAll. Admit
// is the Memory of a [store.ImportOptions].
func (m *Manager) Admit(ctx context.Context, s backends.Scope, p backends.Partition, x *store.Mutation, space *store.Embedding) error {
	k, caller := m.keep.For(p.Kind), p.Scope()
	if p.Kind != backends.PartitionUser {
		caller.UserID = s.UserID
	}
	if err := k.Allow(ctx, backends.OpAdd, caller, p, nil); err != nil {
		return err
	}
	share := caller.UserID != "" && p.Kind != backends.PartitionUser
	for i := range x.Events {
		e := &x.Events[i]
		if e.Old, e.New = k.Redact(e.Old), k.Redact(e.New); share {
			e.Actor, e.Role = actorImport, spoken(e.Role)
		}
	}
	r := x.Record
	if r == nil {
		return nil
	}
	r.Text, r.WhenToUse, r.Origin.Author = k.Redact(r.Text), k.Redact(r.WhenToUse), k.Redact(r.Origin.Author)
	r.Metadata, _ = k.RedactJSON(r.Metadata).(map[string]any)
	if share {
		r.Origin.Author, r.Origin.Role, r.Origin.Speaker = actorImport, spoken(r.Origin.Role), ""
	}
	if len(r.Vector) > 0 && !m.keep.holdsVector(r.Vector, space) {
		r.Vector = nil
	}
	return nil
}

// spoken returns a role that speaks, else an empty text.
func spoken(role string) string {
	if slices.Contains([]string{"user", "assistant", "tool"}, role) {
		return role
	}
	return ""
}

// holdsVector reports whether a vector is one of the configured embedder.
func (k *Keeper) holdsVector(v []byte, space *store.Embedding) bool {
	if space == nil || !k.Embeds() || space.Model != k.config.Ranker.EmbeddingModel() {
		return false
	}
	_, err := recall.Decoder(*space)(v)
	return err == nil
}
