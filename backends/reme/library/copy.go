// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// CopyRequest asks for a copy of a workspace.
type CopyRequest struct {
	From, To       backends.Scope // Required, both: neither is taken from the context.
	Mode           Mode           // Optional. Defaults to Replace.
	WithoutVectors bool           // Optional. Leaves the vectors out.
	Progress       Progress       // Optional. Defaults to that of the Config.
}

// Copy loads the memories of one workspace, as they are at one moment, into another.
// Ids stay, but for those of tools, of which each workspace has its own; so do
// vectors, where the embedder still makes such. All else is as with Load.
func (l *Library) Copy(ctx context.Context, r *CopyRequest) (*LoadResponse, error) {
	if r == nil {
		r = &CopyRequest{}
	}
	from, err := named(r.From)
	if err != nil {
		return nil, fmt.Errorf("copying from: %w", err)
	}
	to, err := named(r.To)
	if err != nil {
		return nil, fmt.Errorf("copying to: %w", err)
	}
	if from.partition == to.partition {
		return nil, fmt.Errorf("library: copying workspace %s: %w: onto itself", from.partition.ID, backends.ErrInvalid)
	}
	c := &copied{Library: l, from: from.partition}
	if c.memories, err = l.snapshot(ctx, from.partition); err == nil {
		c.embedding, err = l.spaceOf(ctx, from.partition)
	}
	if err != nil {
		return nil, fmt.Errorf("library: copying workspace %s: %w", from.partition.ID, err)
	}
	return l.load(ctx, to, &LoadRequest{Mode: r.Mode, WithoutVectors: r.WithoutVectors, Progress: r.Progress}, c)
}

// copied gives the memories of a workspace.
type copied struct {
	*Library
	from      backends.Partition
	memories  []*backends.Memory // the ranker's
	embedding *store.Embedding
	at        int
	vectors   map[string][]byte // of the page that at is on
}

func (c *copied) space() *store.Embedding { return c.embedding }

func (c *copied) total() int { return len(c.memories) }

// next implements source.
func (c *copied) next(ctx context.Context) (*entry, error) {
	if c.at == len(c.memories) {
		return nil, io.EOF
	}
	if c.at%dumpPage == 0 && c.embedding != nil {
		var err error
		page := c.memories[c.at:min(c.at+dumpPage, len(c.memories))]
		if c.vectors, err = c.vectorsOf(ctx, c.from, page); err != nil {
			return nil, err
		}
	}
	m := c.memories[c.at].Clone()
	c.at++
	return &entry{record: &store.Record{Memory: m, Vector: c.vectors[m.ID]}, line: c.at, size: len(m.Text) + len(m.WhenToUse)}, nil
}
