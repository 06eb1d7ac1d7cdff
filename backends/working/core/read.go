// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Get returns what the blocks hold for a scope, in the configured order. Blocks
// whose owner the scope does not name are left out; those that nobody has written
// have their Initial. It takes one read of each partition: at most three.
//
// A scope without user, agent and workspace is ErrNoScope.
func (b *Blocks) Get(ctx context.Context, s backends.Scope) ([]Value, error) {
	values, err := b.get(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	return values, nil
}

func (b *Blocks) get(ctx context.Context, s backends.Scope) ([]Value, error) {
	s, err := named(s)
	if err != nil {
		return nil, err
	}
	var places []place
	var values []Value
	for i := range b.config.Blocks {
		block := &b.config.Blocks[i]
		at, _, err := placeOf(block, s)
		if errors.Is(err, backends.ErrNoScope) {
			continue
		}
		if err != nil {
			return nil, err
		}
		places, values = append(places, at), append(values, Value{Block: *block, Text: block.Initial})
	}
	held, err := b.records(ctx, places)
	if err != nil {
		return nil, err
	}
	for i := range values {
		if r := held[places[i]]; r != nil {
			values[i].Text, values[i].Version, values[i].Updated = r.Text, r.Version, r.Updated
		}
	}
	return values, nil
}

// records reads the places that hold something, each partition once.
func (b *Blocks) records(ctx context.Context, places []place) (map[place]*store.Record, error) {
	var partitions []backends.Partition // in the order of the blocks
	ids := map[backends.Partition][]string{}
	for _, at := range places {
		if ids[at.partition] == nil {
			partitions = append(partitions, at.partition)
		}
		ids[at.partition] = append(ids[at.partition], at.id)
	}
	held := map[place]*store.Record{}
	for _, p := range partitions {
		records, err := b.config.Records.Get(ctx, p, ids[p]...)
		if err != nil {
			return nil, fmt.Errorf("reading the blocks of %s: %w", p, err)
		}
		for i := range records {
			if r := &records[i]; r.Kind != backends.KindCore {
				return nil, fmt.Errorf("record %s of %s: %w: it is of kind %q, and no core block; delete it", r.ID, p, backends.ErrInvalid, r.Kind)
			}
			held[place{p, records[i].ID}] = &records[i]
		}
	}
	return held, nil
}

// read returns what one block holds.
func (b *Blocks) read(ctx context.Context, block *Block, at place) (*Value, error) {
	held, err := b.records(ctx, []place{at})
	if err != nil {
		return nil, err
	}
	v := &Value{Block: *block, Text: block.Initial}
	if r := held[at]; r != nil {
		v.Text, v.Version, v.Updated = r.Text, r.Version, r.Updated
	}
	return v, nil
}

// History returns what happened to a block of the scope, oldest first: who changed
// it, when, and the texts before and after. Nothing happened to a block that nobody
// has written. It still answers for the blocks of a session that were deleted.
func (b *Blocks) History(ctx context.Context, s backends.Scope, name string) ([]backends.Event, error) {
	block, err := b.block(name)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	if s, err = named(s); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	at, _, err := placeOf(block, s)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	events, err := b.config.Records.History(ctx, at.partition, at.id)
	if err != nil {
		return nil, fmt.Errorf("core: history of block %q: %w", name, err)
	}
	return events, nil
}
