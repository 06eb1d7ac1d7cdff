// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
)

// in does something in the partition that a scope names.
func in[T any](ctx context.Context, b *Backend, s backends.Scope, do func(backends.Partition) (T, error)) (T, error) {
	_, p, err := b.reach(ctx, s)
	if err != nil {
		var none T
		return none, err
	}
	return do(p)
}

// Get implements [backends.Manager]. A memory that expired is ErrNotFound.
func (b *Backend) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return in(ctx, b, r.Scope, func(p backends.Partition) (*backends.Memory, error) { return b.keep.Get(ctx, p, r.ID) })
}

// List implements [backends.Manager]. Core blocks are listed only where Kinds asks
// for them.
func (b *Backend) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return in(ctx, b, r.Scope, func(p backends.Partition) (*backends.ListResponse, error) {
		q := *r
		if p.Kind == backends.PartitionWorkspace && len(q.Kinds) == 0 { // what else is there is other backends'
			q.Kinds = []backends.Kind{backends.KindFact}
		}
		return b.keep.List(ctx, p, &q)
	})
}

// Update implements [backends.Manager]. The memory keeps its id, its scope and
// its place in the chain whatever the metadata says; metadata keys such as
// user_id are the caller's own and name nothing. A new text is embedded anew. A core
// block is ErrInvalid.
func (b *Backend) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return in(ctx, b, r.Scope, func(p backends.Partition) (*backends.Memory, error) { return b.keep.Update(ctx, p, r) })
}

// Delete implements [backends.Manager]. A core block is ErrInvalid.
func (b *Backend) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r == nil {
		return errNoRequest
	}
	_, p, err := b.reach(ctx, r.Scope)
	if err != nil {
		return err
	}
	return b.keep.Delete(ctx, p, r)
}

// DeleteAll implements [backends.Manager]: active or not, expired or not, core blocks
// too: it erases a user. Large partitions take several writes; after an
// error the call may be repeated.
func (b *Backend) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	if r == nil {
		return 0, errNoRequest
	}
	return in(ctx, b, r.Scope, func(p backends.Partition) (int, error) {
		q := *r
		if p.Kind == backends.PartitionWorkspace {
			facts := backends.Eq("kind", string(backends.KindFact))
			if r.Filter != nil {
				facts = backends.And(facts, *r.Filter)
			}
			q.Filter = &facts
		}
		return b.keep.DeleteAll(ctx, p, &q)
	})
}

// History implements [backends.Manager]: the events of the memory, of all those
// that it replaced, and of all those that replaced it, oldest first. It answers
// after a deletion too.
func (b *Backend) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return in(ctx, b, r.Scope, func(p backends.Partition) ([]backends.Event, error) { return b.keep.History(ctx, p, r.ID) })
}

// Dump implements [backends.Exporter]: one memory a line as JSON, in the order
// stored, superseded and expired ones and core blocks too. Vectors are left out; Load
// makes them anew.
func (b *Backend) Dump(ctx context.Context, s backends.Scope, w io.Writer) (int, error) {
	return in(ctx, b, s, func(p backends.Partition) (int, error) { return b.keep.Dump(ctx, p, w) })
}

// Load implements [backends.Exporter]. Every memory becomes one of the partition
// that s names, whichever it was dumped from; ids, times and chains stay. So a core
// block becomes the one of that partition, unless it has been written there. A line
// that is no memory is ErrInvalid with its number, and nothing is loaded.
func (b *Backend) Load(ctx context.Context, s backends.Scope, r io.Reader) (int, error) {
	return in(ctx, b, s, func(p backends.Partition) (int, error) { return b.keep.Load(ctx, p, r) })
}

// ReembedAll gives every memory of a namespace, which "" is the default one, a vector of the
// configured embedder after the embedding model changed ([backends.ErrDimension]): of all
// users, agents and workspaces, whichever backend wrote them. It returns how many have one
// then. Until it comes to a partition, words alone find what is in there. progress, which may
// be nil, is told how many partitions are done. Vectors of the model stay: a call that failed
// may be repeated, and goes on where it stopped.
func (b *Backend) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	return b.keep.Ranker().ReembedAll(ctx, namespace, progress)
}

// Reembed computes the vectors of a partition's memories anew, after the
// embedding model changed ([backends.ErrDimension]), and returns how many.
func (b *Backend) Reembed(ctx context.Context, s backends.Scope) (int, error) {
	return in(ctx, b, s, func(p backends.Partition) (int, error) {
		n, err := b.keep.Ranker().Reembed(ctx, p)
		if err != nil {
			err = fmt.Errorf("mem0: %w", err)
		}
		return n, err
	})
}
