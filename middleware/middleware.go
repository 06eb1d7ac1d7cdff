// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
)

// Config says what is remembered, where, and how an agent meets it. Backend alone is
// required. It is [hooks.Config], where each field is described, named here so that the
// usual path needs one import less.
type Config = hooks.Config

// Scope says on whose behalf an agent runs. It is [backends.Scope].
type Scope = backends.Scope

// WithScope returns a context whose runs use the memory of s. It is [backends.WithScope].
func WithScope(ctx context.Context, s Scope) context.Context { return backends.WithScope(ctx, s) }

// Incognito returns a context whose runs leave no trace: they are neither logged nor learnt from.
// Memories are still found and shown. It is [backends.Incognito].
func Incognito(ctx context.Context) context.Context { return backends.Incognito(ctx) }

// Private returns a private copy of m, such as a message of a user or a tool's result; m stays as
// it is. The log and the archive store a placeholder for it. Learning skips it, and the agent's
// answers behind it in the same turn, which may repeat it. The mark is a string in Extra; it
// survives a checkpoint and stays out of requests to models. Mark a tool's result where messages
// pass: before [hooks.Hooks.Prepare] or [hooks.Hooks.Finish]. Config.Learn does it everywhere, by the name of
// the tool.
func Private(m *schema.Message) *schema.Message {
	if m == nil {
		return nil
	}
	k := einox.MarkOf(m)
	k.Private = einox.Private
	return k.On(m)
}

// MemoryMiddleware is one backend in one mode, ready for Eino's agents. One value serves any number
// of agents, users and goroutines: it looks up the scope in each run.
//
// Its hooks attach it: [hooks.Hooks.AgentMiddleware] to an adk.ChatModelAgent, which needs no more;
// [hooks.Hooks.WrapRunner] to whatever agent a runner runs; [hooks.Hooks.MessageModifier] and
// [hooks.Hooks.MessageRewriter] to flow/agent/react; [hooks.Hooks.Prepare] and [hooks.Hooks.Finish]
// to a graph or a handler; [hooks.Hooks.AsIndexer], [hooks.Hooks.AsRetriever] and
// [hooks.Hooks.ToolMiddleware] to nodes of a graph. [hooks.Hooks.Tools] and
// [hooks.Hooks.Instruction] serve agents that take no middleware. Used together for one run they do
// the work once.
type MemoryMiddleware struct {
	*hooks.Hooks
	backend backends.Backend
	log     *working.Memory // nil if turns are discarded
	window  backends.Window // nil if Config.Window is

	sessions   store.Sessions      // the log of turns; nil: turns are discarded
	reflection backends.Reflection // nil if Config.Reflect is

	mu     sync.Mutex
	places []backends.Place
}

// New returns a middleware. If the mode records turns it starts the workers that learn from them;
// [MemoryMiddleware.Close] stops them. ctx bounds New alone.
//
// It returns ErrInvalid for a configuration that cannot work, and the store's errors if the log
// fails to open.
func New(ctx context.Context, cfg *Config) (*MemoryMiddleware, error) {
	m, err := build(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("memory middleware: %w", err)
	}
	return m, nil
}

// WrapModel returns cm with every context made to fit the window, or refused, and with its printed
// calls of memory tools made. It serves agents, beside a middleware or alone, and graphs. If the
// backend is a [backends.ToolGuide], as reme's is, the model reads the experience with each tool in
// the tool's description; every agent needs WrapModel for that. See [hooks.Hooks.WrapModel].
func (m *MemoryMiddleware) WrapModel(cm model.ToolCallingChatModel) model.ToolCallingChatModel {
	cm = m.Hooks.WrapModel(cm)
	if guide, ok := backends.As[backends.ToolGuide](m.backend); ok {
		return guide.GuideTools(cm, m.ResolveScope)
	}
	return cm
}

// RecordOutcome reports how a turn went to a backend that is a [backends.Judge], as reme's is. The
// workspace learns from it at once, in the caller's goroutine. Parts of the scope that the request
// lacks come from the context and the configuration. Before that, the turn is written to the log,
// and learnt from as turns are.
//
// Errors: ErrInvalid if the backend is no Judge or turns are discarded, ErrNoScope if the scope
// names no workspace, ErrNotFound if the session lacks the turn, and the backend's. The call may be
// repeated.
func (m *MemoryMiddleware) RecordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	judge, ok := backends.As[backends.Judge](m.backend)
	switch {
	case r == nil:
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w: no request", backends.ErrInvalid)
	case !ok || m.log == nil:
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w: it needs a backend that learns from outcomes, as reme's does, and a mode that records turns", backends.ErrInvalid)
	}
	asked := *r
	carried, _ := backends.ScopeFrom(ctx)
	var err error
	if asked.Scope, err = m.ResolveScope(backends.WithScope(ctx, r.Scope.Or(carried))); err != nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w", err)
	}
	if _, err := m.log.Consolidate(ctx, asked.Scope); err != nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: the log comes first: %w", err)
	}
	return judge.RecordOutcome(ctx, &asked)
}

// Backend returns the backend, for the calls that the middleware leaves to it.
func (m *MemoryMiddleware) Backend() backends.Backend { return m.backend }

// Window returns the working memory, or nil if Config.Window is nil. A *window.Config there makes
// it a *window.Window, which lists, renames, forks and deletes sessions, and tells how full a
// context is: mem.Window().(*window.Window).
func (m *MemoryMiddleware) Window() backends.Window { return m.window }

// Working returns the log of turns, for the calls that the middleware leaves to it: failures and
// their retry. It is nil if turns are discarded.
func (m *MemoryMiddleware) Working() *working.Memory { return m.log }

// Reflection returns the part that tidies memory in the background, or nil if Config.Reflect is
// nil. A *reflection.Schedule there makes it a *reflection.Background, by which a program drafts,
// applies and undoes plans itself.
func (m *MemoryMiddleware) Reflection() backends.Reflection { return m.reflection }

// Forget erases everything of the person that the scope names: a user's words and the memories
// learnt from them, in every session, and in every workspace of the namespace. A scope that names
// no user means the agent or the workspace. The scope's session is ignored: ForgetPart erases a
// part. [backends.Forgetter] tells how work under way ends.
func (m *MemoryMiddleware) Forget(ctx context.Context, s Scope) (*backends.Receipt, error) {
	return m.ForgetPart(ctx, s, nil)
}

// ForgetsAlso names places beside the stores that keep data of people: Forget and ForgetPart erase
// it there, too. Package rest names its own.
func (m *MemoryMiddleware) ForgetsAlso(places ...backends.Place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places = append(m.places, places...)
}

// forgetPlaces erases the data kept beside the stores.
func (m *MemoryMiddleware) forgetPlaces(ctx context.Context, r *backends.ForgetRequest, gone *backends.Receipt) (failed error) {
	m.mu.Lock()
	places := slices.Clone(m.places)
	m.mu.Unlock()
	for _, place := range places {
		n, err := place.Forget(ctx, r, gone)
		if gone.Count(place.Name, n); err != nil {
			failed = errors.Join(failed, fmt.Errorf("forgetting the %s: %w", place.Name, err))
		}
	}
	return failed
}

// ForgetPart erases a part of a user's words: a session, messages, or a time. A nil part is all of
// them, as with Forget. It first writes the turns that wait in this process to the log. A run under
// way in an erased session writes its turn when it ends: end the runs of a session first.
func (m *MemoryMiddleware) ForgetPart(ctx context.Context, s Scope, part *backends.Part) (*backends.Receipt, error) {
	f, ok := backends.As[backends.Forgetter](m.backend)
	if !ok {
		return nil, fmt.Errorf("memory middleware: forgetting: %w: backend %T cannot: erase what it holds yourself", backends.ErrInvalid, m.backend)
	}
	if m.log != nil && part != nil {
		if err := m.log.Settle(ctx, s); err != nil {
			return nil, fmt.Errorf("memory middleware: forgetting: what waits comes first: %w", err)
		}
	}
	receipt, err := m.forgetLog(ctx, s, part)
	if err != nil {
		return receipt, fmt.Errorf("memory middleware: %w", err)
	}
	request := &backends.ForgetRequest{Scope: s, Part: part}
	erased, err := f.Forget(ctx, request)
	if erased != nil {
		receipt.Join(erased)
	}
	if receipt.Partition.Validate() == nil {
		err = errors.Join(err, m.forgetPlaces(ctx, request, receipt))
	}
	if err != nil {
		return receipt, fmt.Errorf("memory middleware: %w", err)
	}
	return receipt, nil
}

// Rollback takes back the memories that a session, messages or a source taught: see
// [backends.Rollbacker]. It first learns from the turns that wait.
func (m *MemoryMiddleware) Rollback(ctx context.Context, r *backends.RollbackRequest) (*backends.RollbackReport, error) {
	b, ok := backends.As[backends.Rollbacker](m.backend)
	if r == nil || !ok {
		return nil, fmt.Errorf("memory middleware: rolling back: %w: it needs a request, and a backend that can, as mem0's and reme's can", backends.ErrInvalid)
	}
	if m.log != nil && r.Session != nil && !r.DryRun {
		s := r.Scope
		s.SessionID = *r.Session
		if _, err := m.log.Consolidate(ctx, s); err != nil {
			return nil, fmt.Errorf("memory middleware: rolling back: what waits comes first: %w", err)
		}
	}
	return b.Rollback(ctx, r)
}

// forgetLog erases from a log outside the backend's store.
func (m *MemoryMiddleware) forgetLog(ctx context.Context, s Scope, part *backends.Part) (*backends.Receipt, error) {
	own, _ := backends.As[interface{ Sessions() store.Sessions }](m.backend)
	if m.sessions == nil || own != nil && own.Sessions() == m.sessions {
		return &backends.Receipt{}, nil
	}
	log, ok := m.sessions.(store.Store)
	if !ok {
		return &backends.Receipt{}, fmt.Errorf("forgetting: %w: %T, which keeps the log, is no store.Store: delete the sessions yourself", backends.ErrInvalid, m.sessions)
	}
	s, err := s.Normalize()
	if err != nil {
		return &backends.Receipt{}, err
	}
	p, err := s.Owner()
	if err != nil {
		return &backends.Receipt{}, err
	}
	return store.Forget(ctx, log, p, part)
}

// Export writes all data of the person that the scope names, their log and the memories learnt from
// it: see [store.Export]. It first writes the turns that wait in this process to the log. It
// returns ErrInvalid if log and memories are in several stores, and for a backend with a log of
// its own that lacks a method Export: its memories would be missing.
func (m *MemoryMiddleware) Export(ctx context.Context, s Scope, w io.Writer) (store.TransferCount, error) {
	if m.log != nil && s.UserID+s.AgentID != "" { // a workspace has no turns
		if err := m.log.Settle(ctx, s); err != nil {
			return store.TransferCount{}, fmt.Errorf("memory middleware: exporting: what waits comes first: %w", err)
		}
	}
	db, p, err := m.holding(s)
	if err != nil {
		return store.TransferCount{}, fmt.Errorf("memory middleware: exporting: %w", err)
	}
	return store.Export(ctx, db, p, w)
}

// Import reads the output of Export for the person that the scope names, from whichever store: see
// [store.Import]. Memories and messages pass the same redaction and admission as the middleware's
// own. Only with o.Learn are they learnt from. o may be nil. Errors are also the ones of Export.
func (m *MemoryMiddleware) Import(ctx context.Context, s Scope, r io.Reader, o *store.ImportOptions) (store.TransferCount, error) {
	db, p, err := m.holding(s)
	if err != nil {
		return store.TransferCount{}, fmt.Errorf("memory middleware: importing: %w", err)
	}
	o = o.Admitting(func(ctx context.Context, p backends.Partition, x *store.Mutation, space *store.Embedding) error {
		return m.admit(ctx, s, p, x, space)
	})
	if m.log != nil {
		then := o.Message
		o.Message = func(ctx context.Context, p backends.Partition, e *store.Entry) error {
			err := m.log.Admit(ctx, e)
			if err == nil && then != nil {
				err = then(ctx, p, e)
			}
			return err
		}
	}
	return store.Import(ctx, db, p, r, o)
}

// admit asks the half of the backend that owns the kind of an imported memory.
func (m *MemoryMiddleware) admit(ctx context.Context, s Scope, p backends.Partition, x *store.Mutation, space *store.Embedding) error {
	halves := backends.Parts(m.backend) // experience first
	half := halves[len(halves)-1]
	if p.Kind == backends.PartitionWorkspace && (x.Record == nil || x.Record.Kind.Traits().Experience) {
		half = halves[0]
	}
	keeps, ok := half.(interface {
		Admit(ctx context.Context, s backends.Scope, p backends.Partition, x *store.Mutation, space *store.Embedding) error
	})
	if !ok {
		return nil
	}
	return keeps.Admit(ctx, s, p, x, space)
}

// exporter is a backend that keeps its memories beside its log, as mem0's and reme's do.
type exporter interface {
	Sessions() store.Sessions
	Export(ctx context.Context, s backends.Scope, w io.Writer) (store.TransferCount, error)
}

// holding returns the one store that holds all of a person, and their partition.
func (m *MemoryMiddleware) holding(s Scope) (store.Store, backends.Partition, error) {
	var all []any
	if m.sessions != nil {
		all = append(all, m.sessions)
	}
	for _, part := range backends.Parts(m.backend) {
		if own, ok := part.(exporter); !ok {
			all = append(all, part)
		} else if !slices.Contains(all, any(own.Sessions())) {
			all = append(all, own.Sessions())
		}
	}
	db, ok := all[0].(store.Store)
	if !ok || len(all) > 1 {
		return nil, backends.Partition{}, fmt.Errorf("%w: log and memories are not in one store.Store: %T keeps its own: call store.Export and Import for each", backends.ErrInvalid, all[len(all)-1])
	}
	s, err := s.Normalize()
	if err != nil {
		return nil, backends.Partition{}, err
	}
	p, err := s.Owner()
	return db, p, err
}

// Flush waits until every turn recorded so far is in the log and learnt from, and every call of a
// tool stored. A failure is reported and returned, and its turn waits in the log. It ends with ctx,
// and after Close it returns working.ErrClosed.
func (m *MemoryMiddleware) Flush(ctx context.Context) error {
	var errs []error
	if m.log != nil {
		errs = append(errs, m.log.Flush(ctx))
	}
	if r, ok := backends.As[backends.ToolRecorder](m.backend); ok {
		errs = append(errs, r.Flush(ctx))
	}
	return errors.Join(errs...)
}

// Close writes every recorded turn to the log and stops the workers. Turns that still wait to be
// learnt from stay in the log, for the next middleware on the same store; Flush before Close waits
// for them. The backend and its store stay open: close them after. A second Close returns the first
// one's result.
func (m *MemoryMiddleware) Close(ctx context.Context) error {
	if m.log == nil {
		return nil
	}
	err := m.log.Close(ctx)
	if m.reflection != nil {
		err = errors.Join(err, m.reflection.Close(ctx))
	}
	return err
}
