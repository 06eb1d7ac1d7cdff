// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// The calls by which programs manage memories. Package keeper does the work for every backend.

// Get implements [backends.Manager]: it returns one memory. An unknown or expired one is ErrNotFound.
func (b *Backend) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	return b.manager.Get(ctx, r)
}

// List implements [backends.Manager]: it returns a page of memories. Core blocks are listed only
// where Kinds asks for them.
func (b *Backend) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	return b.manager.List(ctx, r)
}

// History implements [backends.Manager]: it returns every change of one memory, oldest first.
func (b *Backend) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	return b.manager.History(ctx, r)
}

// Update implements [backends.Manager]: it changes one memory, and keeps its former text in the
// history. ErrDenied where the caller may not.
func (b *Backend) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	return b.manager.Update(ctx, r)
}

// Delete implements [backends.Manager]: it deletes one memory, or erases it with its turn. A core
// block is ErrInvalid. ErrDenied where the caller may not.
func (b *Backend) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	return b.manager.Delete(ctx, r)
}

// DeleteAll implements [backends.Manager]: it deletes what a filter matches; without one it is
// Forget. It returns how many.
func (b *Backend) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	return b.manager.DeleteAll(ctx, r)
}

// Forget implements [backends.Forgetter]: it erases a person, or a part of what they said. For a
// user it also erases data of other backends over the same store.
func (b *Backend) Forget(ctx context.Context, r *backends.ForgetRequest) (*backends.Receipt, error) {
	return b.manager.Forget(ctx, r)
}

// Rollback implements [backends.Rollbacker]: it takes back what a session, messages or a source
// taught.
func (b *Backend) Rollback(ctx context.Context, r *backends.RollbackRequest) (*backends.RollbackReport, error) {
	return b.manager.Rollback(ctx, r)
}

// Retain applies Config.Retention now, and reports the erased memories, or in a dry run those
// that it would erase. Repeat a failed call to go on. ErrInvalid without a Retention.
func (b *Backend) Retain(ctx context.Context, q *backends.RetainRequest) (*backends.RetainReport, error) {
	return b.manager.Retain(ctx, q)
}

// Export writes all data of the scope's user, else agent, else workspace, as stored: see
// [store.Export].
func (b *Backend) Export(ctx context.Context, s backends.Scope, w io.Writer) (store.TransferCount, error) {
	return b.manager.Export(ctx, s, w)
}

// Import reads an Export of the scope's user, else agent, else workspace, from any store: see
// [store.Import]. Memories are redacted and allowed as any write. o may be nil.
func (b *Backend) Import(ctx context.Context, s backends.Scope, r io.Reader, o *store.ImportOptions) (store.TransferCount, error) {
	return b.manager.Import(ctx, s, r, o)
}

// ReembedAll gives every memory of a namespace ("": the default one) a vector of the configured
// embedder, after the embedding model changed ([backends.ErrDimension]). It covers all backends of
// the store, and returns how many memories have such a vector then. progress, which may be nil,
// counts partitions. Repeat a failed call to go on.
func (b *Backend) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	return b.manager.ReembedAll(ctx, namespace, progress)
}

// Used implements [backends.UseCounter]: it counts hits that a model was shown.
func (b *Backend) Used(ctx context.Context, s backends.Scope, hits []backends.Hit) {
	b.manager.Used(ctx, s, hits)
}
