// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile turns messages into statements that hold. A model gets the known
// statements and the messages, and returns operations (add a statement, supersede or
// retract a known one). One batch stores them, all or nothing. Package mem0 learns facts
// by it, package reme knowledge about people.
//
//	call, err := engine.Begin(ctx, reconcile.Request{AddRequest: r, Partition: p})
//	resp, err := call.Learn(ctx, func(ctx context.Context) error {
//		return call.Reconcile(ctx, &reconcile.Question{System: rules, Tool: "remember", Ask: reconcile.Asked[facts]})
//	})
//
// There is one place for each decision. Begin lets messages through. The file material.go
// chooses and renders the messages and memories for the model, decisions.go decides the
// origin of a statement, and batch.go relates new statements to stored ones.
//
// # Races
//
// One call at a time learns for a partition, so it knows all that earlier calls stored.
// Storing the batch reveals other processes: ids follow from content, and targets are
// written with the version that they had when they were read. If the operations stay
// valid, the batch is built and stored again. If a target changed, or statements were
// added that the model was not shown, the model is asked again.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Config configures the learning of an [Engine].
type Config struct {
	// Learner is what the engine learns with. Its Keeper is required, and has at least the keys of
	// [keeper.Keys]. Its Prompt is how many tokens of messages one question has room for, by
	// text.Tokens. More messages are divided between several questions, long messages between their
	// sentences. Earlier messages take a quarter of it at most. Prompt defaults to 12,000.
	learner.Learner
	Kind   backends.Kind // Required. The kind of a model's statements.
	Author string        // Required. The Origin.Author of a model's statements.

	// Shown is how many known statements the model is shown, and ShownTokens how many tokens of
	// them, by text.Tokens. Optional. Both default to any number.
	Shown, ShownTokens int
	// Questions is how many questions one request may take. The messages behind them are
	// skipped, and reported so. Optional. Defaults to any number, within Limits.
	Questions int
	// Describe puts a picture, a sound or a file into words. Optional.
	Describe func(context.Context, schema.MessageInputPart) (string, error)
	// UsersOnly learns from users alone, and from an agent's notes; the words of
	// assistants are shown beside them.
	UsersOnly bool
	// ByTime lets the statement hold that was said last, in any order of learning. A
	// statement that is older than the one it supersedes becomes the history of that one.
	// By default the statement that is learnt later holds.
	ByTime bool
	// Location is the zone of the times that the model is shown. Optional. Defaults to UTC.
	Location *time.Location
	// Confirm is asked for a request without a Confirm of its own, in three cases: it
	// retracts memories, one message supersedes more than MostChanges, or an agent's notes
	// supersede any. Optional. Without it one message may end MostChanges; the surplus is
	// skipped, and reported so.
	Confirm backends.Confirm
	// Complete puts the further fields of an operation into a memory. An error skips the
	// memory, and is reported. Optional. Defaults to setting Valid to the operation's Since.
	Complete func(m *backends.Memory, op *Operation) error
}

// Engine learns statements. It is safe for concurrent use.
type Engine struct {
	Config
	learning work.Locks[backends.Partition] // held from what the model is shown to what is stored
}

// New returns an engine.
func New(c *Config) *Engine {
	e := &Engine{Config: *c}
	work.Default(&e.Location, time.UTC)
	work.Default(&e.Prompt, 12_000)
	work.Default(&e.Shown, math.MaxInt)
	work.Default(&e.ShownTokens, math.MaxInt)
	work.Default(&e.Complete, func(m *backends.Memory, op *Operation) error { m.Valid = op.Since; return nil })
	return e
}

// errorf is fmt.Errorf with the backend's name before it.
func (e *Engine) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", e.Keeper.Name(), fmt.Errorf(format, args...))
}

// Request is a backend's request to learn.
type Request struct {
	*backends.AddRequest
	Scope     backends.Scope // normalised; it replaces the scope of the AddRequest
	Partition backends.Partition
}

// Call is one request. It is for one goroutine.
type Call struct {
	Request
	Now      time.Time
	Language backends.Language // English or Chinese
	Run      *ask.Run          // the call's questions to the model, and their cost

	engine   *Engine
	vectors  recall.Vectors // of queries and stored texts
	metadata map[string]any // of the request, redacted
	said     []*Utterance
	context  []*Utterance
	origins  []backends.Origin // of the messages of the request, as far as they have ids
	wishes   []*Utterance      // the messages that wish to forget something
	// forgotten are the messages that the wishes mean.
	forgotten []*Utterance
	session   *store.SessionUpdate
	key       string // by which the batch is idempotent; empty for none

	decide    func(context.Context) error
	skipped   []*node // the messages that are left out, whatever decide does
	unlearnt  []*Utterance
	decisions []*node
	seen      map[string]bool // ids of the statements that held then; nil: the model was not asked
	replayed  *store.Applied  // the result of an earlier call with the same key
	release   func()
}

// Utterance is a message that may be shown to a model.
type Utterance struct {
	ID, Turn string // a message without an id gets one that follows from its text
	Role     string // user or assistant
	Speaker  string
	Text     string // redacted
	Time     time.Time
	words    string   // the part for an episode: without a wish to forget, and without a repetition of it
	learn    bool     // statements may come from it
	media    []string // the media that were put into words
	source   string   // the source that it may repeat: see [backends.Origin].Source
	silent   bool     // of a user: it states nothing
	insists  bool     // of a user: it may be a statement in any form
}

// Begin checks a request and lets the messages through that may be learnt from. It leaves out
// system messages, results of tools, notes of memory's own, handovers between agents, messages of a
// silent turn (see [keeper.Keeper.Delete]), and messages without text. Media, and messages that are
// too long, become items of their own: see [backends.OutcomeSkipped]. An illegal request is
// ErrInvalid. A lost lease is ErrConflict, before a model is asked.
func (e *Engine) Begin(ctx context.Context, r Request) (*Call, error) {
	c := &Call{Request: r, Now: e.Keeper.Now(), Run: e.Model.Begin(e.Limits), engine: e, release: func() {}}
	if r.IdempotencyKey != "" {
		c.key = e.Keeper.Name() + "/" + r.IdempotencyKey
	}
	if !r.Expires.IsZero() && !r.Expires.After(c.Now) {
		return nil, e.errorf("%w: Expires %s is over already", backends.ErrInvalid, r.Expires.Format(time.RFC3339))
	}
	c.metadata, _ = e.Keeper.RedactJSON(r.Metadata).(map[string]any)
	var err error
	if c.said, err = c.gate(ctx, r.Messages, true); err != nil {
		return nil, err
	}
	if c.context, err = c.gate(ctx, r.Context, false); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	var texts []string
	for _, u := range c.said {
		if u.learn {
			texts = append(texts, u.Text)
		}
	}
	c.Language = e.Language.For(texts...)
	c.listen()
	c.hush()
	c.skipped = c.decisions
	c.session, err = c.checkpoint(ctx)
	return c, err
}

var errTaughtBefore = errors.New("a memory of its turn was deleted or changed since; a message that says it anew has another id")

// memorizedKey marks messages in ReMe's format that were learnt from before.
const memorizedKey = "memorized"

func (c *Call) gate(ctx context.Context, messages []backends.Message, learn bool) ([]*Utterance, error) {
	e := c.engine
	var out []*Utterance
	origins := make([]backends.Origin, len(messages))
	for i := range messages {
		origins[i] = backends.Origin{Session: c.Scope.SessionID, Turn: messages[i].Turn}
		if id := messages[i].ID; id != "" { // the words behind a derived id may be said anew
			origins[i].MessageIDs = []string{id}
		}
	}
	if c.Author == backends.AuthorAgent { // a note stands outside the turn in which it is written down
		origins = nil
	}
	silent, err := e.Keeper.Silent(ctx, c.Partition, origins...)
	if err != nil {
		return nil, err
	}
	if learn {
		c.origins = origins
	}
	var results returned
	for i := range messages {
		m, source := &messages[i], ""
		if m.Message != nil {
			source = results.next(m.Message)
		}
		if m.Message == nil || m.Role != schema.User && m.Role != schema.Assistant || einox.IsNote(m.Message) || einox.IsRetold(m.Message) {
			continue
		}
		u := &Utterance{ID: m.ID, Turn: m.Turn, Role: string(m.Role), Speaker: backends.SpeakerName(e.Keeper.Redact(m.Name)), Text: einox.Text(m.Message), Time: m.Time, source: source}
		u.learn = learn && (!e.UsersOnly || m.Role == schema.User || c.Author == backends.AuthorAgent) && m.Extra[memorizedKey] != true
		if u.Time.IsZero() {
			u.Time = c.Now
		}
		if origins != nil && silent(origins[i]) {
			if u.learn {
				c.Skip(u, "", errTaughtBefore)
			}
			continue
		}
		if u.learn {
			if err := c.describe(ctx, u, m.Message); err != nil {
				return nil, err
			}
		}
		if u.learn && len(u.Text) > store.MaxText {
			c.Skip(u, u.Text, fmt.Errorf("a text of %d bytes, at most %d", len(u.Text), store.MaxText))
			continue
		}
		if !utf8.ValidString(u.Text) {
			return nil, e.errorf("message %d (id %q): %w: not UTF-8", i, m.ID, backends.ErrInvalid)
		}
		if u.Text = strings.TrimSpace(e.Keeper.Redact(u.Text)); u.Text == "" {
			continue
		}
		if u.ID == "" {
			u.ID = text.HashID("message", u.Role, u.Text)
		}
		out = append(out, u)
	}
	return out, nil
}

// Key returns the key of the batch of the call, empty for none.
func (c *Call) Key() string { return c.key }

// Said returns the messages of the request that may be shown.
func (c *Call) Said() []*Utterance { return c.said }

// checkpoint returns the session update for the batch of the memories, nil if the session
// is in another partition.
func (c *Call) checkpoint(ctx context.Context) (*store.SessionUpdate, error) {
	cp := c.Checkpoint
	if cp == nil {
		return nil, nil
	}
	s, err := c.engine.Keeper.Store().Session(ctx, c.Partition, cp.Session)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, c.engine.errorf("reading session %q: %w", cp.Session, err)
	case cp.Token != 0 && s.Lease.Token != cp.Token:
		return nil, c.engine.errorf("session %q: %w: its lease was taken over; learn from it under a new one", cp.Session, backends.ErrConflict)
	}
	upto := cp.Upto
	return &store.SessionUpdate{Session: cp.Session, Token: cp.Token, Watermark: &upto}, nil
}

// Learn is [Call.Draft] and [Call.Store].
func (c *Call) Learn(ctx context.Context, decide func(context.Context) error) (*backends.AddResponse, error) {
	if err := c.Draft(ctx, decide); err != nil {
		return nil, err
	}
	return c.Store(ctx)
}

// Draft lets decide ask the model, and stores nothing. Store calls decide again if its
// decisions are out of date. A call whose key is known skips decide. Until Store or
// Release all other calls for the partition wait.
func (c *Call) Draft(ctx context.Context, decide func(context.Context) error) error {
	unlock, err := c.engine.learning.Lock(ctx, c.Partition)
	if err != nil {
		return c.engine.errorf("waiting to learn: %w", err)
	}
	c.release = unlock
	c.decide = decide
	if c.replayed, err = c.engine.Keeper.Replayed(ctx, c.Partition, c.key, c.session); err == nil && c.replayed == nil {
		err = c.think(ctx)
	}
	if err != nil {
		c.Release()
	}
	return err
}

func (c *Call) think(ctx context.Context) error {
	c.decisions, c.seen, c.unlearnt = slices.Clone(c.skipped), nil, nil
	c.hush()
	return c.decide(ctx)
}

// Release lets other calls learn. It may be called more than once.
func (c *Call) Release() {
	c.release()
	c.release = func() {}
}

// errStale is a conflict that only new decisions resolve: their targets changed.
var errStale = fmt.Errorf("known memories changed during the decision: %w", backends.ErrConflict)

// Store writes the decisions in one batch, all or nothing. It returns ErrConflict if it
// lost the race against other processes [keeper.Attempts] times, or the lease of the
// checkpoint. It returns ErrUnavailable if the store or the embedder fails, and the
// errors of the model if that is asked again.
func (c *Call) Store(ctx context.Context) (*backends.AddResponse, error) {
	defer c.Release()
	if c.replayed != nil {
		return c.replay(ctx, c.replayed)
	}
	for attempt := 1; ; attempt++ {
		resp, err := c.apply(ctx, attempt == 1)
		if !errors.Is(err, backends.ErrConflict) || attempt == keeper.Attempts || ctx.Err() != nil {
			return resp, err
		}
		if errors.Is(err, errStale) {
			if err := c.think(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// apply builds the batch on the partition as it is now and commits it. With first, a
// statement that the model was not shown is errStale. Later ones are left to the next
// call, so a busy partition still lets this call store.
func (c *Call) apply(ctx context.Context, first bool) (*backends.AddResponse, error) {
	b := &batch{call: c}
	if err := c.forget(ctx); err != nil {
		return nil, err
	}
	if err := b.build(ctx, first); err != nil {
		return nil, err
	}
	applied := &store.Applied{}
	if len(b.mutations) > 0 || c.key != "" || c.session != nil {
		var err error
		embedding := recall.WithVectors(ctx, &c.vectors)
		applied, err = c.engine.Keeper.Commit(embedding, c.Partition, &store.Batch{Mutations: b.mutations, Key: c.key, Session: c.session}, nil)
		c.Run.Embedded(int(c.vectors.Made.Swap(0)))
		if err != nil {
			return nil, err
		}
	}
	if applied.Replayed {
		return c.replay(ctx, applied)
	}
	resp := &backends.AddResponse{Items: b.items(applied.Version), Usage: c.Run.Usage(), Checkpointed: applied.Session != nil}
	if err := c.eraseWishes(ctx); err != nil {
		resp.Items = append(resp.Items, backends.Item{Outcome: backends.OutcomeFailed, Err: err})
	}
	c.count(resp.Items)
	return resp, nil
}

// count notes the outcomes of the statements in the report.
func (c *Call) count(items []backends.Item) {
	stage := c.Run.Stage(StageStore)
	stage.In(len(items))
	for _, item := range items {
		switch item.Outcome {
		case backends.OutcomeAdded:
			stage.Out(1)
		case backends.OutcomeSuperseded:
			stage.Out(1)
			stage.Merge(1)
		case backends.OutcomeUnchanged:
			stage.Drop(1)
		}
	}
}

// replay returns the response to a call whose key is known. A memory that was deleted since
// has only its id.
func (c *Call) replay(ctx context.Context, applied *store.Applied) (*backends.AddResponse, error) {
	ids := make([]string, len(applied.Results))
	for i, r := range applied.Results {
		ids[i] = r.ID
	}
	now, err := c.engine.Keeper.Held(ctx, c.Partition, ids...)
	if err != nil {
		return nil, err
	}
	resp := &backends.AddResponse{Usage: c.Run.Usage(), Replayed: true}
	for _, r := range applied.Results {
		item := backends.Item{Outcome: cmp.Or(r.Event, backends.OutcomeUnchanged), Memory: backends.Memory{ID: r.ID}}
		if m := now[r.ID]; m != nil {
			item.Memory = m.Clone()
		}
		resp.Items = append(resp.Items, item)
	}
	if s := applied.Session; s != nil && c.session != nil { // the first call may have come without a checkpoint
		resp.Checkpointed = s.Watermark >= *c.session.Watermark
	}
	return resp, nil
}
