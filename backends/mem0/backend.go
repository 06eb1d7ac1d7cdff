// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/backends/store"
)

// Backend is mem0-style memory. Search and Add report to Eino's callbacks as component
// Memory of type "Mem0". It is safe for concurrent use.
//
// The calls of [backends.Manager], Export and Import reach the partition of the speaker. With
// Config.Shared a scope that names a workspace alone reaches the facts of the workspace.
// ReembedAll(ctx, namespace, progress) gives all memories of a namespace vectors of the embedder
// after the embedding model changed ([backends.ErrDimension]).
type Backend struct {
	*manager
	config *Config
	keep   *keeper.Keeper
	engine *reconcile.Engine
	traced backends.Backend // search and add, seen by Eino's callbacks
}

// manager has the methods of [backends.Manager], and Export, Import and Retain.
type manager = keeper.Manager

var (
	_ backends.Backend      = (*Backend)(nil)
	_ backends.Manager      = (*Backend)(nil)
	_ backends.UseCounter   = (*Backend)(nil)
	_ backends.EntityLister = (*Backend)(nil)
	_ backends.Rollbacker   = (*Backend)(nil)
)

// New returns a backend. It needs no network: the model and the embedder get their first call when
// there is something to learn or to find. An unusable configuration is [backends.ErrInvalid]. Close
// it: a Retention works in the background.
func New(ctx context.Context, cfg *Config) (*Backend, error) {
	c, err := cfg.normalize()
	if err != nil {
		return nil, err
	}
	keep, err := c.newKeeper(ctx)
	if err != nil {
		return nil, err
	}
	engine := reconcile.Config{
		Learner: learner.Learner{Keeper: keep, Language: c.Language}, Kind: backends.KindFact, Author: "ChatModel",
		Location: c.Location, Confirm: c.Confirm, Describe: c.Describe,
	}
	engine.ShownTokens, engine.Prompt, engine.Questions = c.room()
	if c.Model != nil {
		if engine.Model, err = ask.New(&ask.Config{Name: "mem0", Model: c.Model, Timeout: c.ModelTimeout, Limit: "mem0.Config.ModelTimeout", Small: c.Small}); err != nil {
			return nil, err
		}
		if typ, ok := components.GetType(c.Model); ok {
			engine.Author = typ
		}
	}
	b := &Backend{config: c, keep: keep}
	engine.Complete = b.complete
	b.engine = reconcile.New(&engine)
	if c.Profile != nil {
		if err := fields.Bind(c.Profile, keep); err != nil {
			return nil, fmt.Errorf("mem0: %w", err)
		}
	}
	b.manager = keep.NewManager(b.places)
	b.traced = backends.Traced("Mem0", plain{b})
	keep.Start()
	return b, nil
}

// plain is the backend as its callbacks see it.
type plain struct{ *Backend }

func (p plain) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	return keeper.Call(ctx, p.keep, r, p.search)
}

func (p plain) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	return keeper.Call(ctx, p.keep, r, func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		ctx, err := p.keep.Begin(ctx, r.Scope)
		if err != nil {
			return nil, err
		}
		return p.add(ctx, r)
	})
}

// Search implements [backends.Backend]. With empty Kinds it ranks facts and episodes together. A
// turn is left out if one of its facts is in the answer, or if one of its facts is past: the
// current fact that replaced it takes its score. The same words by the same speaker come once.
// Likeness of words never hides a hit. Ask for [backends.KindEpisode] to get every turn.
func (b *Backend) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	return b.traced.Search(ctx, r)
}

// Add implements [backends.Backend]. It learns from messages of the user and the assistant. It
// ignores system messages, tool results, injected notes and messages between agents.
//
// An unreachable model is [backends.ErrUnavailable], and nothing is stored. If its answer makes no
// sense after a retry, the messages are stored as they were said. The response then has an item
// that failed with [backends.ErrModel]. For a procedure such an answer is an error.
func (b *Backend) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	return b.traced.Add(ctx, r)
}

// Remember adds a fact by hand, without a model: a known one is [backends.OutcomeUnchanged]. Its
// Origin.Author is "program", and its Role is empty, since nobody said it. change may set other
// fields of the AddRequest, such as Metadata, Expires or another Author. A blank text is
// ErrInvalid.
func (b *Backend) Remember(ctx context.Context, s backends.Scope, text string, change ...func(*backends.AddRequest)) (*backends.Item, error) {
	r := &backends.AddRequest{Scope: s, Verbatim: true, Kind: backends.KindFact, Author: authorProgram}
	r.Messages = []backends.Message{{Message: schema.UserMessage(text)}}
	for _, set := range change {
		set(r)
	}
	resp, err := b.Add(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(resp.Items) == 0 {
		return nil, fmt.Errorf("mem0: a fact to remember: %w: it has no text", backends.ErrInvalid)
	}
	return &resp.Items[0], resp.Items[0].Err
}

// Entities implements [backends.EntityLister], for the partition that the calls of
// [backends.Manager] reach. The model that extracts facts names their entities.
func (b *Backend) Entities(ctx context.Context, s backends.Scope) ([]backends.Entity, error) {
	_, p, err := b.reach(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := b.keep.All(ctx, p)
	now := b.keep.Now()
	all = slices.DeleteFunc(all, func(m *backends.Memory) bool {
		return !m.Active() || m.Expired(now) || p.Kind == backends.PartitionWorkspace && m.Kind != backends.KindFact // others' there
	})
	return backends.CountEntities(slices.Values(all)), err
}

// Close implements [backends.Backend]. It ends the running sweep of a Retention, and stores the
// counted uses. The store and the models stay open. Calls to Search and Add after it are
// ErrUnavailable.
func (b *Backend) Close(ctx context.Context) error { return b.keep.Close(ctx) }

// Sessions returns the store's sessions. A middleware without a log of its own keeps its log there,
// so that one write stores the memories and the position in the log.
func (b *Backend) Sessions() store.Sessions { return b.config.Store }

// partition returns the scope of a call and its partition.
func (b *Backend) partition(ctx context.Context, s backends.Scope) (backends.Scope, backends.Partition, error) {
	return b.keep.Resolve(ctx, s, backends.Scope.Speaker)
}

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
