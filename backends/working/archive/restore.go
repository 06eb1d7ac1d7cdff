// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// What a context may unfold to. Only blobs that others wrote come near it.
const (
	maxDepth    = 100
	maxUnfolded = 1 << 22 // messages, those of every level counted
)

// Restore returns the messages with everything that stands in for others replaced
// by them, and what stands in for others in those likewise: the inverse of
// compaction. The result shares its messages with the argument and, where two
// stand in for the same archive, with itself; no message may be changed.
//
// It returns the error of [Archive.Messages] when one archive cannot be read, and
// ErrInvalid when archives contain one another or unfold without measure.
func (x *Archive) Restore(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	r := restoring{archive: x, known: make(map[string][]*schema.Message)}
	out, err := r.unfold(ctx, messages, 0)
	if err != nil {
		return nil, fmt.Errorf("restoring the context of %s: %w", x, err)
	}
	return out, nil
}

// restoring is one call of Restore.
type restoring struct {
	archive *Archive
	known   map[string][]*schema.Message // unfolded, by id; nil while it is being unfolded
	count   int
}

func (r *restoring) unfold(ctx context.Context, messages []*schema.Message, depth int) ([]*schema.Message, error) {
	var out []*schema.Message
	for i, m := range messages {
		originals := messages[i : i+1]
		if id := einox.RefOf(m); id != "" {
			var err error
			if originals, err = r.originals(ctx, id, depth); err != nil {
				return nil, err
			}
		}
		if r.count += len(originals); r.count > maxUnfolded {
			return nil, fmt.Errorf("%w: unfolds to more than %d messages", backends.ErrInvalid, maxUnfolded)
		}
		out = append(out, originals...)
	}
	return out, nil
}

func (r *restoring) originals(ctx context.Context, id string, depth int) ([]*schema.Message, error) {
	known, begun := r.known[id]
	switch {
	case known != nil:
		return known, nil
	case begun:
		return nil, fmt.Errorf("archive %s: %w: contains itself", id, backends.ErrInvalid)
	case depth == maxDepth:
		return nil, fmt.Errorf("archive %s: %w: nested more than %d deep", id, backends.ErrInvalid, maxDepth)
	}
	r.known[id] = nil
	messages, err := r.archive.Messages(ctx, id)
	if err != nil {
		return nil, err
	}
	if messages, err = r.unfold(ctx, messages, depth+1); err != nil {
		return nil, err
	}
	r.known[id] = messages
	return messages, nil
}
