// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/internal/einox"
)

const (
	maxBatch = 16 // messages that are archived before it is looked whether that suffices
	maxPuts  = 4  // writes at a time
)

// swap is a message that a smaller one may stand in for.
type swap struct {
	index int
	build func(ref string) *schema.Message // nil: there is no smaller one
}

// substitute replaces messages by their stand-ins, in this order, until over is 0 or
// less. A message is replaced when it is stored, and when that makes the context
// smaller; one that is not is left, and the error says why. When nothing of a batch
// can be stored it gives up.
func (c *Context) substitute(ctx context.Context, swaps []swap, over func() int) error {
	var errs []error
	for over() > 0 {
		var batch []swap
		if batch, swaps = c.batch(swaps, over()); len(batch) == 0 {
			break
		}
		refs, err := c.store(ctx, batch)
		if err != nil {
			errs = append(errs, err)
		}
		stored := 0
		for i, ref := range refs {
			if ref != "" {
				stored++
				c.swap(batch[i], ref)
			}
		}
		if stored == 0 {
			break
		}
	}
	return errors.Join(errs...)
}

// swap replaces a message that is stored.
func (c *Context) swap(s swap, ref string) {
	if m := s.build(ref); m != nil && c.count(m) < c.tokens[s.index] {
		c.Replace(s.index, s.index+1, m)
	}
}

// batch takes as many swaps as save the tokens that are over, and returns the rest.
func (c *Context) batch(swaps []swap, over int) (batch, rest []swap) {
	for ; over > 0 && len(swaps) > 0 && len(batch) < maxBatch; swaps = swaps[1:] {
		s := swaps[0]
		draft := s.build(draftRef)
		if draft == nil {
			continue
		}
		if saved := c.tokens[s.index] - c.count(draft); saved > 0 {
			batch = append(batch, s)
			over -= saved
		}
	}
	return batch, swaps
}

// store archives the messages of a batch, some at a time, and returns their
// references in the order of the batch: "" for one that could not be stored.
func (c *Context) store(ctx context.Context, batch []swap) ([]string, error) {
	refs, errs := make([]string, len(batch)), make([]error, len(batch))
	var g errgroup.Group
	g.SetLimit(maxPuts)
	for i, s := range batch {
		m := c.messages[s.index]
		if refs[i] = einox.RefOf(m); refs[i] != "" {
			continue // it stands in for the original already
		}
		g.Go(func() error {
			refs[i], errs[i] = c.Put(ctx, m)
			return nil
		})
	}
	_ = g.Wait()
	if c.archive == nil && errors.Join(errs...) != nil {
		return refs, ErrNoArchive
	}
	return refs, errors.Join(errs...)
}

// remove takes messages out, whose indices ascend.
func (c *Context) remove(indices []int) {
	for _, i := range indices {
		c.add(c.messages[i], -c.tokens[i])
		c.messages[i] = nil
	}
	kept := 0
	for i, m := range c.messages {
		if m != nil {
			c.messages[kept], c.tokens[kept] = m, c.tokens[i]
			kept++
		}
	}
	c.messages, c.tokens = c.messages[:kept], c.tokens[:kept]
	c.replaced += len(indices)
}
