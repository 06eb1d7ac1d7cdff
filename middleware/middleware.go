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
)

// Config says what is remembered, where, and how an agent meets it. Backend alone is
// required. It is [hooks.Config], where each field is described, named here so that the
// usual path needs one import less.
type Config = hooks.Config

// Scope says on whose behalf an agent runs. It is [backends.Scope].
type Scope = backends.Scope

// WithScope returns a context whose runs remember for s. It is
// [backends.WithScope].
func WithScope(ctx context.Context, s Scope) context.Context { return backends.WithScope(ctx, s) }

// Incognito returns a context whose runs are not remembered: neither logged nor learnt from;
// what is known is still found and shown. It is [backends.Incognito].
func Incognito(ctx context.Context) context.Context { return backends.Incognito(ctx) }

// Private returns a copy of a message that is not to be remembered. It is [hooks.Private].
func Private(m *schema.Message) *schema.Message { return hooks.Private(m) }

// MemoryMiddleware is one backend in one mode, ready for Eino's agents. One value
// serves any number of agents, users and goroutines: whose memory a run has is
// looked up in each run.
//
// Its hooks attach it to what runs: [hooks.Hooks.AgentMiddleware] to an
// adk.ChatModelAgent, and nothing else is needed; [hooks.Hooks.WrapRunner] to whatever
// agent a runner runs; [hooks.Hooks.MessageModifier] and [hooks.Hooks.MessageRewriter] to
// flow/agent/react; [hooks.Hooks.Prepare] and [hooks.Hooks.Finish] to a graph or a handler;
// [hooks.Hooks.AsRetriever] and [hooks.Hooks.ToolMiddleware] to nodes of a graph. Used
// together for one run they do the work once.
type MemoryMiddleware struct {
	*hooks.Hooks
	backend backends.Backend
	log     *working.Memory // nil where nothing is recorded
	window  backends.Window // nil without Config.Window

	sessions   store.Sessions      // where turns are logged; nil: nowhere
	reflection backends.Reflection // nil without Config.Reflect

	mu     sync.Mutex
	places []backends.Place
}

// New returns a middleware. Where the mode records turns it starts the workers
// that learn from them; [MemoryMiddleware.Close] stops them. ctx bounds New
// alone.
//
// It returns ErrInvalid for a configuration that cannot work, and the store's
// errors where the log cannot be opened.
func New(ctx context.Context, cfg *Config) (*MemoryMiddleware, error) {
	m, err := build(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("memory middleware: %w", err)
	}
	return m, nil
}

// WrapModel returns cm with every context that it is given made to fit the
// window, or refused, and with the calls of memory tools that it prints made: for agents, beside
// a middleware or without, and for graphs. With a
// backend that is a [backends.ToolGuide], as reme's is, the tools that are offered to
// the model are described with what is known of them: that is for every agent.
// See [hooks.Hooks.WrapModel].
func (m *MemoryMiddleware) WrapModel(cm model.ToolCallingChatModel) model.ToolCallingChatModel {
	cm = m.Hooks.WrapModel(cm)
	if guide, ok := backends.As[backends.ToolGuide](m.backend); ok {
		return guide.GuideTools(cm, m.ResolveScope)
	}
	return cm
}

// RecordOutcome reports to a backend that is a [backends.Judge], as reme's is, how a turn
// went, so that the workspace learns from it: at once, in the caller's goroutine. Parts
// of the scope that the request lacks come from the context and the configuration. The
// turn is written to the log, and learnt from as turns are, before.
//
// Errors: ErrInvalid where the backend is no Judge or nothing is recorded, ErrNoScope
// where no workspace is named, ErrNotFound for a turn that is not in the session, and
// the backend's. The call may be repeated.
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

// Backend returns the backend, for what the middleware does not do itself.
func (m *MemoryMiddleware) Backend() backends.Backend { return m.backend }

// Window returns the working memory, nil without Config.Window. With a *window.Config there it is
// a *window.Window, which lists, renames, forks and deletes sessions, and tells how full a
// context is: mem.Window().(*window.Window).
func (m *MemoryMiddleware) Window() backends.Window { return m.window }

// Working returns the log of turns, for what the middleware does not do itself:
// failures and their retry. It is nil where nothing is recorded.
func (m *MemoryMiddleware) Working() *working.Memory { return m.log }

// Reflection returns what tidies memory in the background, nil without Config.Reflect. With a
// *reflection.Schedule there it is a *reflection.Background, by which a program drafts, applies
// and undoes plans itself.
func (m *MemoryMiddleware) Reflection() backends.Reflection { return m.reflection }

// Forget erases everything of the person that the scope names: of a user what they said and
// what was learnt from it, in every session, and in every workspace of the namespace; where
// the scope names no user, of the agent or the workspace. The scope's session does not count:
// for a part see ForgetPart. See [backends.Forgetter] for what is under way meanwhile.
func (m *MemoryMiddleware) Forget(ctx context.Context, s Scope) (*backends.Receipt, error) {
	return m.ForgetPart(ctx, s, nil)
}

// ForgetsAlso names places beside the stores where something of people is kept: Forget and
// ForgetPart erase it there, too. Package rest names its own.
func (m *MemoryMiddleware) ForgetsAlso(places ...backends.Place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places = append(m.places, places...)
}

// forgetPlaces erases what is kept beside the stores.
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

// ForgetPart erases a part of what a user said: a session, messages, or a time. Turns that
// wait in this process are written to the log first.
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

// Rollback takes back what a session, messages or a source taught: see [backends.Rollbacker].
// What waits to be learnt from is learnt from first.
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

// forgetLog erases what a log that is not in the backend's store has.
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

// Export writes all that is held of the person that the scope names, their log and what was
// learnt from it: see [store.Export]. Turns that wait in this process are written to the log
// first. ErrInvalid where log and memories are in several stores.
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

// Import reads what Export wrote of the person that the scope names, from whichever store: see
// [store.Import]. Memories and messages are redacted and allowed as those that the
// middleware writes itself, and nothing is learnt from them unless o.Learn asks for it. o
// may be nil. Errors are also those of Export.
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

// admit asks the half of the backend that would have written an imported memory.
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

// holding returns the one store that holds all of a person, and their partition.
func (m *MemoryMiddleware) holding(s Scope) (store.Store, backends.Partition, error) {
	var all []any
	if m.sessions != nil {
		all = append(all, m.sessions)
	}
	for _, part := range backends.Parts(m.backend) {
		if own, ok := part.(interface{ Sessions() store.Sessions }); !ok {
			all = append(all, part)
		} else if !slices.Contains(all, any(own.Sessions())) {
			all = append(all, own.Sessions())
		}
	}
	db, ok := all[0].(store.Store)
	if !ok || len(all) > 1 {
		return nil, backends.Partition{}, fmt.Errorf("%w: log and memories are not in one store.Store: call store.Export and Import for each", backends.ErrInvalid)
	}
	s, err := s.Normalize()
	if err != nil {
		return nil, backends.Partition{}, err
	}
	p, err := s.Owner()
	return db, p, err
}

// Flush waits until every turn recorded so far is in the log and learnt from, and
// every call of a tool stored, or has failed and was reported: then it returns the
// failure, and the turn waits in the log. It ends with ctx, and after Close it returns
// working.ErrClosed.
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

// Close writes every recorded turn to the log and stops the workers. Turns that
// were not learnt from yet stay in the log, for the next middleware on the same
// store; call Flush before to wait for them. The backend and its store stay open:
// close them after. Closing again returns what the first time did.
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
