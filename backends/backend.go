// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"

	"github.com/cloudwego/eino/schema"
)

// Backend turns what happens into memories and finds them again. It is the one
// interface that the hooks, the modes and the tools know.
//
// All methods are safe for concurrent use. The backend validates scopes. A scope must
// name a partition, else the error is [ErrNoScope].
type Backend interface {
	// Search returns the memories that answer the query, best first. A search without a
	// match returns an empty response and a nil error. Scope, Query, TopK, Threshold, Kinds, Filter
	// and Beside must be obeyed. A time that cannot be searched is ErrInvalid.
	Search(ctx context.Context, r *SearchRequest) (*SearchResponse, error)

	// Add learns from messages. The response reports the outcome item by item. An error
	// alone means that nothing was stored; the call may be repeated. A response beside the
	// error means that a part is stored: repeat the same call under its key.
	Add(ctx context.Context, r *AddRequest) (*AddResponse, error)

	// Close waits for work in progress and frees what the backend opened itself. A store
	// that was passed in stays open.
	Close(ctx context.Context) error
}

// Manager is implemented by backends that let a caller look at memories and change them
// one by one. Every call stays in the partition that its scope names: an id of another
// partition is [ErrNotFound].
type Manager interface {
	// Get returns one memory, active or ended, or [ErrNotFound].
	Get(ctx context.Context, r *GetRequest) (*Memory, error)
	// List returns memories in the order of the request, in pages.
	List(ctx context.Context, r *ListRequest) (*ListResponse, error)
	// Update changes one memory in place and keeps its former text in the history. A new text
	// treats the turn that taught the former one as Delete does.
	Update(ctx context.Context, r *UpdateRequest) (*Memory, error)
	// Delete removes one memory. Its history still answers. Searches and learning skip the words
	// of the turn that taught it from then on; other memories of that turn stay.
	Delete(ctx context.Context, r *DeleteRequest) error
	// DeleteAll removes what the request matches and returns how many. Their histories stay.
	// A request without a Filter erases everything: it is Forget, where the backend is a
	// [Forgetter].
	DeleteAll(ctx context.Context, r *DeleteAllRequest) (int, error)
	// History returns the events of a memory, oldest first, along the whole chain of its
	// predecessors and successors.
	History(ctx context.Context, r *HistoryRequest) ([]Event, error)
}

// AlwaysLearner is implemented by backends that learn from every reply in every mode, as
// ReMe does. Others learn only where the mode records turns.
type AlwaysLearner interface{ AlwaysLearns() bool }

// SearchRequest asks for memories.
type SearchRequest struct {
	Scope Scope  `json:"scope"` // Required. Names the partition.
	Query string `json:"query"` // Required. Natural language; blank finds nothing.

	TopK      int     `json:"top_k,omitempty"`     // Optional. Defaults to 5; at most 1000.
	Threshold float64 `json:"threshold,omitempty"` // Optional. Hits with a lower Score are left out. Defaults to 0: all hits stay.
	Kinds     []Kind  `json:"kinds,omitempty"`     // Optional. Defaults to all kinds.
	Filter    *Filter `json:"filter,omitempty"`    // Optional. Further conditions.

	AsOf time.Time `json:"as_of,omitzero"` // Optional. Search what held at that time. Defaults to now.
	// KnownAt is the time of belief: the search leaves out what was stored later, and includes
	// what was superseded or retracted later. With AsOf it returns the belief of that time about
	// AsOf. An edited text appears as it is now. Optional. Defaults to now.
	KnownAt           time.Time `json:"known_at,omitzero"`
	IncludeSuperseded bool      `json:"include_superseded,omitempty"` // Optional. Also what has ended.
	IncludeExpired    bool      `json:"include_expired,omitempty"`    // Optional. Also what expired and still waits for the sweep.

	// Diversity, from 0 to 1, moves hits back that say the same as earlier ones. A hit counts
	// 1-Diversity of how well it answers, less Diversity of its likeness to the most similar hit
	// before it. The first hit stays. Optional. Defaults to 0: by the answers alone.
	Diversity float64 `json:"diversity,omitempty"`
	// NoModel skips the Rewriter and the Reranker of the ranking, for a search that must be
	// quick and cheap. Optional. Defaults to false.
	NoModel bool `json:"no_model,omitempty"`

	// Beside are memories from outside the partition, such as recent words that wait for
	// learning. The search ranks them by words among the stored ones. Optional.
	Beside []Memory `json:"beside,omitempty"`

	// Context is what the user said before in this conversation, oldest first. A Query such as
	// "and a cheaper one?" depends on it: there the words of Context join the query with less
	// weight. Optional.
	Context []string `json:"context,omitempty"`
	// Brief asks for the parts of a note that are independent of the query. One is
	// [SearchResponse].Standing. The other is all active memories behind the hits, where they
	// take at most so many estimated tokens (see [SearchResponse].Whole). A backend that does
	// not know Brief leaves both empty. Optional. Defaults to 0: the hits alone. Below 0:
	// Standing alone.
	Brief int `json:"brief,omitempty"`
}

// SearchResponse is the answer to a [SearchRequest].
type SearchResponse struct {
	Hits []Hit `json:"hits"` // best first
	// Standing are the memories that always apply, in a stable order, where the request has a
	// Brief. They may be among the Hits as well. Delicate memories are left out.
	Standing []Hit `json:"standing,omitempty"`
	// Whole says that Hits has every active memory: first the ones that answer the query, then
	// the others with Score 0, newest first. A delicate memory is in it only where it answers the query.
	Whole bool `json:"whole,omitempty"`
	// Degraded names the parts that failed, took too long or were skipped while the search
	// still answered. The ranking is lexical if the embedder failed, and the query is the
	// original if the rewriter failed. A failure of the reranker keeps the order before it.
	// ErrDimension: the stored vectors are of another model until ReembedAll runs. Nil: all
	// parts worked.
	Degraded error `json:"-"`
}

// AddRequest asks a backend to learn.
type AddRequest struct {
	Scope    Scope     `json:"scope"`             // Required. Names the partition.
	Messages []Message `json:"messages"`          // Required unless Documents are given. Oldest first.
	Context  []Message `json:"context,omitempty"` // Optional. The messages before, which explain Messages. Only Messages are learnt from.
	// Documents are passages to be found and cited, as Eino's loaders and splitters return them:
	// with Kind [KindDocument]. Each has a source in its metadata ([MetaSource], else the
	// loaders' own key, else its ID), and replaces the stored passages of that source. Optional.
	Documents []*schema.Document `json:"documents,omitempty"`

	Verbatim     bool           `json:"verbatim,omitempty"`     // Optional. Store the words as they are and call no model.
	Kind         Kind           `json:"kind,omitempty"`         // Optional. The kind to learn, or to store Verbatim, where a backend has several kinds.
	Metadata     map[string]any `json:"metadata,omitempty"`     // Optional. Kept with each memory. JSON values.
	Expires      time.Time      `json:"expires,omitzero"`       // Optional. When the memories end. Defaults to never.
	Instructions string         `json:"instructions,omitempty"` // Optional. Points for the model to look for; they precede the configured instructions.
	Author       string         `json:"author,omitempty"`       // Optional. The writer, for Origin.Author. Defaults to the model's name, or "verbatim".

	// IdempotencyKey makes a repeated call harmless: the call only returns the first
	// response again. Optional. Empty by default; equal memories are recognised all the
	// same.
	IdempotencyKey string `json:"idempotency_key,omitempty"`

	// Confirm is asked before a known memory is retracted, before one message supersedes more
	// than three memories, and before a note of an AuthorAgent supersedes anything. In the
	// last case its "no" fails the call with ErrDeclined. Optional. Defaults to the backend's
	// own.
	Confirm Confirm `json:"-"`

	// Checkpoint is written in the same atomic batch as the memories, when they
	// live in the partition of the session it names. Optional.
	Checkpoint *Checkpoint `json:"-"`
}

// Checkpoint marks how far learning has read a session's log.
type Checkpoint struct {
	Session string // the session's id
	Upto    int64  // the sequence number of the last message learnt from
	Token   int64  // the fencing token of the lease under which it was learnt
}

// AddResponse reports the outcome of an [AddRequest].
type AddResponse struct {
	Items []Item `json:"items"`
	Usage Usage  `json:"usage"`
	// Checkpointed reports that the request's Checkpoint was written with the memories.
	// If it is false, the caller writes the Checkpoint itself.
	Checkpointed bool `json:"-"`
	// Replayed says that the idempotency key was known: the response is the first call's.
	Replayed bool `json:"replayed,omitempty"`
	// Queued says that a server has the messages and learns from them later. Items lacks what it
	// will learn. A repeated call with the same IdempotencyKey is queued until it is learnt.
	Queued bool `json:"queued,omitempty"`
}

// Outcome says what happened to a memory, in an [Item] or an [Event].
type Outcome string

// The outcomes. An item is deleted where a new version of a document lacks a passage.
// Unchanged, failed and skipped occur on items alone.
const (
	OutcomeAdded      Outcome = "added"
	OutcomeUpdated    Outcome = "updated"
	OutcomeSuperseded Outcome = "superseded" // another memory took its place: an item has that one, and the old one in Previous
	OutcomeRetracted  Outcome = "retracted"  // it has ended without a successor
	OutcomeDeleted    Outcome = "deleted"    // erased but for its history
	OutcomeUnchanged  Outcome = "unchanged"  // known already
	OutcomeFailed     Outcome = "failed"     // left out of the store: Err says why
	OutcomeSkipped    Outcome = "skipped"    // left out of learning, or left undone, on purpose: Err says why
)

// Item is one memory of an [AddResponse].
type Item struct {
	Outcome  Outcome `json:"outcome"`
	Memory   Memory  `json:"memory"`             // as stored; for OutcomeFailed and OutcomeSkipped as requested
	Previous *Memory `json:"previous,omitempty"` // the memory before the change, for updated and superseded
	Err      error   `json:"-"`                  // for OutcomeFailed and OutcomeSkipped
}

// Op is an action of a call on the memories of a workspace.
type Op string

// The operations that a backend may allow or refuse: see [ErrDenied].
const (
	OpAdd    Op = "add"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
)

// Usage counts the model tokens that a call cost, as the models report them.
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
	Part              string  `json:"part,omitempty"`               // Optional. A part of the text, in any case.
	Newest            bool    `json:"newest,omitempty"`             // Optional. Newest first, by [Memory.Since]. Defaults to the order in which they were stored.
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
	// Erase removes the memory with its history. The words of the turn that taught it go
	// from the log and the memories, as far as the backend's store has them. An erased
	// memory is lost for good. A memory of more than eight messages is ErrInvalid.
	// Optional.
	Erase bool `json:"erase,omitempty"`
}

// DeleteAllRequest removes every memory of a partition that matches; with a nil Filter all
// data of the owner that the scope names.
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
	// Supersedes is the id of the predecessor, on the event by which the memory took its
	// place. So the chain can be followed from either end, even after deletions.
	Supersedes string    `json:"supersedes,omitempty"`
	Actor      string    `json:"actor,omitempty"`
	Users      []string  `json:"users,omitempty"` // the users of [Memory.CameFrom]: hidden from all others
	Role       string    `json:"role,omitempty"`
	Session    string    `json:"session,omitempty"`  // the session that taught the change
	Messages   []string  `json:"messages,omitempty"` // its messages that did; empty: a program or an earlier build made the change
	Time       time.Time `json:"time"`
	Version    int64     `json:"version"` // the partition's version after it; 0: it happened in another store
}

// Report says what a request of several steps did, and its cost.
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
