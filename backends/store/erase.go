// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// Erasure returns the batch that erases memories with their histories. It repairs their chains as
// mending does. The predecessor of an erased memory stays ended, as after a deletion.
func Erasure(ctx context.Context, s Records, p backends.Partition, gone ...string) (*Batch, error) {
	all, space, err := All(ctx, s, p, nil)
	if err != nil {
		return nil, err
	}
	m := &mending{ctx: ctx, s: s, p: p, all: all, gone: map[string]bool{}, ended: map[string]bool{}}
	for _, id := range gone {
		m.gone[id] = true
		if r := all[id]; r != nil && r.SupersededBy == "" {
			m.ended[id] = true
		}
	}
	groups, err := m.groups(gone)
	return &Batch{Embedding: space, Mutations: slices.Concat(groups...)}, err
}

// EraseTurns erases turns of a session from its log: each that has one of the ids, or a message
// with one. The blobs of the session go too, since they may repeat the turns. An interrupted turn
// stays.
func EraseTurns(ctx context.Context, s Store, p backends.Partition, session string, ids ...string) error {
	f := &forgetting{holdings: holdings{ctx, s, p}}
	turns := map[string]bool{}
	named := func(e *Entry) bool {
		return slices.Contains(ids, e.ID) || slices.Contains(ids, e.Turn) || turns[e.Turn]
	}
	err := f.eachEntry(p, session, func(e *Entry) error {
		if e.Turn != "" && named(e) {
			turns[e.Turn] = true
		}
		return nil
	})
	erased := 0
	if err == nil {
		err = f.messages(p, session, &erased, named)
	}
	if err == nil && erased > 0 {
		err = f.eachBlob(p, session, func(b BlobInfo) error {
			if strings.HasPrefix(b.Name, openTurns) {
				return nil
			}
			return s.PutBlob(ctx, p, session, b.Name, nil)
		})
	}
	if err != nil {
		return fmt.Errorf("erasing turns of session %q: %w", session, err)
	}
	return nil
}

// openTurns begins the names of the blobs of interrupted turns.
const openTurns = "open-turn/"
