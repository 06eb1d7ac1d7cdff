// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"
)

// Backend turns what happens into memories and finds them again. It is the one
// interface that the hooks, the modes and the tools know.
//
// All methods are safe for concurrent use. Scopes are validated by the backend:
// a scope that names no partition is [ErrNoScope].
type Backend interface {
	// Search returns the memories that answer the query, best first. No match is
	// an empty response, not an error.
	Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error)

	// Add learns from messages. The response reports item by item what became of
	// them. On an error nothing was stored, and the call may be repeated; a response beside
	// the error says that a part is stored: repeat the call as it is, under its key.
	Add(ctx context.Context, r *AddRequest) (*AddResponse, error)

	// Close waits for what is under way and frees what the backend opened
	// itself. A store that was passed in stays open.
	Close(ctx context.Context) error
}

// Manager is implemented by backends whose memories can be looked at and changed
// one by one. Every call is confined to the partition that its scope names: an
// id of another partition is [ErrNotFound].
type Manager interface {
	// Get returns one memory, active or not, or [ErrNotFound].
	Get(ctx context.Context, r *GetRequest) (*Memory, error)
	// List returns memories in the order in which they were stored, in pages.
	List(ctx context.Context, r *ListRequest) (*ListResponse, error)
	// Update changes one memory in place and keeps its former text in the history. With another
	// text the turn that taught the former one is as after Delete.
	Update(ctx context.Context, r *UpdateRequest) (*Memory, error)
	// Delete removes one memory. Its history still answers. What was said in the turn that taught
	// it is neither found nor learnt from any more, and other memories of that turn stay.
	Delete(ctx context.Context, r *DeleteRequest) error
	// DeleteAll removes what the request matches and returns how many. Their histories
	// stay. Without a Filter nothing stays: it is Forget, where the backend is a [Forgetter].
	DeleteAll(ctx context.Context, r *DeleteAllRequest) (int, error)
	// History returns what happened to a memory, oldest first, along the whole
	// chain of those it superseded and those that superseded it.
	History(ctx context.Context, r *HistoryRequest) ([]Event, error)
}

// AlwaysLearner is implemented by backends that learn from every reply whatever
// the mode, as ReMe does. Others learn only where the mode records turns.
type AlwaysLearner interface{ AlwaysLearns() bool }

// SearchRequest asks for memories.
type SearchRequest struct {
	Scope Scope  `json:"scope"` // Required. Names the partition.
	Query string `json:"query"` // Required. Natural language; blank finds nothing.

	TopK      int     `json:"top_k,omitempty"`     // Optional. Defaults to 5; at most 1000.
	Threshold float64 `json:"threshold,omitempty"` // Optional. Hits with a lower Score are left out. Defaults to 0: none.
	Kinds     []Kind  `json:"kinds,omitempty"`     // Optional. Defaults to all kinds.
	Filter    *Filter `json:"filter,omitempty"`    // Optional. Further conditions.

	AsOf time.Time `json:"as_of,omitzero"` // Optional. What held at that time, instead of what holds now.
	// KnownAt is what was believed at that time: without what was stored later, and with what
	// was superseded or retracted later. With AsOf, what was believed then of what held at AsOf.
	// A text that was edited since is the present one. Optional. Defaults to now.
	KnownAt           time.Time `json:"known_at,omitzero"`
	IncludeSuperseded bool      `json:"include_superseded,omitempty"` // Optional. Also what holds no more.
	IncludeExpired    bool      `json:"include_expired,omitempty"`    // Optional. Also what expired and was not swept yet.

	// Diversity, from 0 to 1, puts hits back that say the same as those before them: a hit counts
	// 1-Diversity of how well it answers, less Diversity of how like it is to the most similar
	// one before it. The first hit stays. Optional. Defaults to 0: by the answers alone.
	Diversity float64 `json:"diversity,omitempty"`
	// NoModel asks neither the Rewriter nor the Reranker of the ranking: for a search that may
	// not wait or cost. Optional. Defaults to false.
	NoModel bool `json:"no_model,omitempty"`

	// Beside are memories that the partition does not hold, ranked by words among those
	// that it holds: what was said and is not learnt yet. Optional.
	Beside []Memory `json:"beside,omitempty"`

	// Context is what the user said before in this conversation, oldest first. Where Query does
	// not say what it is about, as "and a cheaper one?", the words of Context join it with less
	// weight. Optional.
	Context []string `json:"context,omitempty"`
	// Brief asks for what a note shows whatever the query: [SearchResponse].Standing, and all that
	// holds behind the hits where it takes at most so many estimated tokens (see
	// [SearchResponse].Whole). A backend that does not know it leaves both empty. Optional.
	// Defaults to 0: the hits alone. Below 0: Standing alone.
	Brief int `json:"brief,omitempty"`
}

// SearchResponse is the answer to a [SearchRequest].
type SearchResponse struct {
	Hits []Hit `json:"hits"` // best first
	// Standing are the memories that always apply, in a stable order, where the request has a
	// Brief. They may be among the Hits as well. None is delicate.
	Standing []Hit `json:"standing,omitempty"`
	// Whole says that Hits is all that holds: those that answer the query first, then the others,
	// with Score 0. Delicate memories are in it only where they answer.
	Whole bool `json:"whole,omitempty"`
	// Degraded names what failed, took too long or is left alone while the search still
	// answered: the embedder (the ranking is lexical alone), the rewriter (the query is as it
	// was asked) or the reranker (the order is as before it). ErrDimension: the stored vectors
	// are of another model until ReembedAll was called. Nil when nothing failed.
	Degraded error `json:"-"`
}

// AddRequest asks a backend to learn.
type AddRequest struct {
	Scope    Scope     `json:"scope"`             // Required. Names the partition.
	Messages []Message `json:"messages"`          // Required without Documents. What was said, oldest first.
	Context  []Message `json:"context,omitempty"` // Optional. What was said before; grounds the new, and is never learnt from.
	// Documents are passages to be found and cited, as Eino's loaders and splitters return them:
	// with Kind [KindDocument]. Each has a source in its metadata ([MetaSource], else what the
	// loaders write), and replaces what is there of that source. Optional.
	Documents []*schema.Document `json:"documents,omitempty"`

	Verbatim     bool           `json:"verbatim,omitempty"`     // Optional. Store what was said as it is, with no model.
	Kind         Kind           `json:"kind,omitempty"`         // Optional. What is to be learnt, or stored Verbatim, where a backend has several kinds.
	Metadata     map[string]any `json:"metadata,omitempty"`     // Optional. Kept with each memory. JSON values.
	Expires      time.Time      `json:"expires,omitzero"`       // Optional. When the memories end. Defaults to never.
	Instructions string         `json:"instructions,omitempty"` // Optional. What to look for; goes before the configured instructions.
	Author       string         `json:"author,omitempty"`       // Optional. Who writes it down: the Origin.Author. Defaults to the model's name, or "verbatim".

	// IdempotencyKey makes a repeated call harmless: the first response is given
	// again and nothing is stored. Optional. Defaults to none; equal memories are
	// recognised without it.
	IdempotencyKey string `json:"idempotency_key,omitempty"`

	// Confirm is asked before anything known is retracted, before one message supersedes more
	// than three memories, and before what an AuthorAgent writes down supersedes anything;
	// there, its no fails the call with ErrDeclined.
	// Optional. Defaults to the backend's own.
	Confirm Confirm `json:"-"`

	// Checkpoint is written in the same atomic batch as the memories, when they
	// live in the partition of the session it names. Optional.
	Checkpoint *Checkpoint `json:"-"`
}

// Checkpoint marks how far a session's log was learnt from.
type Checkpoint struct {
	Session string // the session's id
	Upto    int64  // the sequence number of the last message learnt from
	Token   int64  // the fencing token of the lease under which it was learnt
}

// AddResponse reports what became of an [AddRequest].
type AddResponse struct {
	Items []Item `json:"items"`
	Usage Usage  `json:"usage"`
	// Checkpointed reports whether the request's Checkpoint was written with the
	// memories. If not, the caller writes it itself.
	Checkpointed bool `json:"-"`
	// Replayed says that the idempotency key was known and nothing was done.
	Replayed bool `json:"replayed,omitempty"`
}

// Outcome says what became of a memory, in an [Item] or an [Event].
type Outcome string

// The outcomes. Items are deleted where a new version of a document lacks a passage; events are
// never unchanged, failed or skipped.
const (
	OutcomeAdded      Outcome = "added"
	OutcomeUpdated    Outcome = "updated"
	OutcomeSuperseded Outcome = "superseded" // another memory took its place: an item has that one, and the old one in Previous
	OutcomeRetracted  Outcome = "retracted"  // it holds no more, and nothing replaced it
	OutcomeDeleted    Outcome = "deleted"    // erased but for its history
	OutcomeUnchanged  Outcome = "unchanged"  // known already
	OutcomeFailed     Outcome = "failed"     // not stored: Err says why
	OutcomeSkipped    Outcome = "skipped"    // not learnt from, or not carried out, on purpose: Err says why
)

// Item is one memory of an [AddResponse].
type Item struct {
	Outcome  Outcome `json:"outcome"`
	Memory   Memory  `json:"memory"`             // as stored; for OutcomeFailed and OutcomeSkipped what was to be stored or changed
	Previous *Memory `json:"previous,omitempty"` // what was there before, for updated and superseded
	Err      error   `json:"-"`                  // for OutcomeFailed and OutcomeSkipped
}

// Op is what a call does to the memories of a workspace.
type Op string

// The operations that a backend may allow or refuse: see [ErrDenied].
const (
	OpAdd    Op = "add"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
)

// Usage counts what a call cost in model tokens, as reported by the models.
type Usage struct {
	ModelCalls       int `json:"model_calls"`
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	EmbeddedTexts    int `json:"embedded_texts"`
}

// Add adds what another call cost.
func (u *Usage) Add(more Usage) {
	u.ModelCalls += more.ModelCalls
	u.PromptTokens += more.PromptTokens
	u.CompletionTokens += more.CompletionTokens
	u.EmbeddedTexts += more.EmbeddedTexts
}

// GetRequest asks for one memory.
type GetRequest struct {
	Scope Scope  `json:"scope"`
	ID    string `json:"id"`
}

// ListRequest asks for a page of memories.
type ListRequest struct {
	Scope             Scope   `json:"scope"`
	Kinds             []Kind  `json:"kinds,omitempty"`              // Optional. Defaults to all kinds.
	Filter            *Filter `json:"filter,omitempty"`             // Optional.
	IncludeSuperseded bool    `json:"include_superseded,omitempty"` // Optional.
	IncludeExpired    bool    `json:"include_expired,omitempty"`    // Optional.
	Limit             int     `json:"limit,omitempty"`              // Optional. Defaults to 100; at most 1000.
	Cursor            string  `json:"cursor,omitempty"`             // Optional. Next of the page before.
}

// ListResponse is a page of memories.
type ListResponse struct {
	Memories []Memory `json:"memories"`
	Next     string   `json:"next,omitempty"` // the cursor of the next page; empty on the last
}

// UpdateRequest changes one memory. Nil fields stay as they are.
type UpdateRequest struct {
	Scope    Scope          `json:"scope,omitzero"`
	ID       string         `json:"id,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"` // merged into what is there; a nil value removes its key
	Expires  *time.Time     `json:"expires,omitempty"`  // the zero time clears it
	Quality  *float64       `json:"quality,omitempty"`
	Standing *bool          `json:"standing,omitempty"`
	Delicate *bool          `json:"delicate,omitempty"`
	Version  int64          `json:"version,omitempty"` // Optional. The version expected; another is ErrConflict. Defaults to any.
}

// DeleteRequest removes one memory.
type DeleteRequest struct {
	Scope   Scope  `json:"scope"`
	ID      string `json:"id"`
	Version int64  `json:"version,omitempty"` // Optional. The version expected; another is ErrConflict. Defaults to any.
	// Erase leaves nothing: the memory goes with its history, and the words of the turn that
	// taught it go from the log and the memories, as far as the backend's store has them. It
	// cannot be undone. One of more than eight messages is ErrInvalid. Optional.
	Erase bool `json:"erase,omitempty"`
}

// DeleteAllRequest removes every memory of a partition that matches; without a Filter all
// that is held of whom the scope names.
type DeleteAllRequest struct {
	Scope  Scope   `json:"scope"`
	Filter *Filter `json:"filter,omitempty"` // Optional. Defaults to everything.
}

// HistoryRequest asks what happened to a memory.
type HistoryRequest struct {
	Scope Scope  `json:"scope"`
	ID    string `json:"id"`
}

// Event is one entry of a memory's history.
type Event struct {
	MemoryID string  `json:"memory_id"`
	Type     Outcome `json:"type"`
	Old      string  `json:"old,omitempty"` // the text before; empty for added
	New      string  `json:"new,omitempty"` // the text after; for superseded the text of the successor
	By       string  `json:"by,omitempty"`  // the id of the successor, for superseded
	// Supersedes is the id of the predecessor, on the event by which the memory
	// took its place. So a chain is known from either end, whatever was deleted.
	Supersedes string    `json:"supersedes,omitempty"`
	Actor      string    `json:"actor,omitempty"`
	Users      []string  `json:"users,omitempty"` // from whom the memory came, see [Memory.CameFrom]; others do not see them
	Role       string    `json:"role,omitempty"`
	Session    string    `json:"session,omitempty"`  // the session that taught the change
	Messages   []string  `json:"messages,omitempty"` // its messages that did; empty: a program changed it, or an earlier build
	Time       time.Time `json:"time"`
	Version    int64     `json:"version"` // the partition's version after it; 0: it happened in another store
}

// Report says what became of a request that takes several steps, and what it cost.
type Report struct {
	Stages []StageReport `json:"stages"` // in the order in which they began
	Usage  Usage         `json:"usage"`
}

// StageReport counts what went through one stage.
type StageReport struct {
	Name    string   `json:"name"`
	In      int      `json:"in"`
	Out     int      `json:"out"`
	Dropped int      `json:"dropped,omitempty"` // not worth keeping, or duplicates
	Merged  int      `json:"merged,omitempty"`  // with memories that exist
	Failed  int      `json:"failed,omitempty"`
	Errors  []string `json:"errors,omitempty"` // why, each text once
	Err     error    `json:"-"`                // all of Errors, for errors.Is
}

// Err returns all failures, each under its stage, or nil.
func (r Report) Err() error {
	var all []error
	for _, s := range r.Stages {
		if s.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.Name, s.Err))
		}
	}
	return errors.Join(all...)
}

// Stage returns the report of a stage; one that did not run has only its name.
func (r Report) Stage(name string) StageReport {
	for _, s := range r.Stages {
		if s.Name == name {
			return s
		}
	}
	return StageReport{Name: name}
}
