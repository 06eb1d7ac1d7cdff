// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"
)

// Memory is one thing that is remembered. A Memory handed out is the caller's
// own copy.
type Memory struct {
	ID        string `json:"id"`
	Kind      Kind   `json:"kind"`
	Text      string `json:"text"`
	WhenToUse string `json:"when_to_use,omitempty"` // the situation in which Text helps; indexed with it

	// Scope is where the memory was learnt. The partition that holds it follows
	// from the scope and the kind.
	Scope    Scope          `json:"scope"`
	Metadata map[string]any `json:"metadata,omitempty"` // JSON values, the caller's own

	// Quality is the judged worth of the memory, 0 to 1; nil when nobody judged.
	// It is never overwritten by a similarity.
	Quality *float64 `json:"quality,omitempty"`

	Observed    time.Time `json:"observed,omitzero"`    // when it was said or seen
	Valid       time.Time `json:"valid,omitzero"`       // from when it holds in the world; zero: since Observed
	Invalidated time.Time `json:"invalidated,omitzero"` // since when it holds no more: superseded or retracted
	Created     time.Time `json:"created,omitzero"`     // when it was stored
	Updated     time.Time `json:"updated,omitzero"`     // when it was last changed
	Expires     time.Time `json:"expires,omitzero"`     // from then on it is never returned; zero: never

	Origin Origin `json:"origin,omitzero"`

	// Supersedes is the id of the memory that this one replaced, SupersededBy
	// the id of the one that replaced it: the chain of what a fact was before.
	Supersedes   string `json:"supersedes,omitempty"`
	SupersededBy string `json:"superseded_by,omitempty"`

	// Version is the version of the partition at which the memory last changed.
	Version int64 `json:"version,omitempty"`
}

// Active reports whether the memory still holds: neither superseded nor
// retracted.
func (m *Memory) Active() bool { return m.SupersededBy == "" && m.Invalidated.IsZero() }

// Clone returns a copy that shares nothing with m that can be changed. Values of
// Metadata of other types than []any and map[string]any are shared.
func (m *Memory) Clone() Memory {
	c := *m
	c.Metadata, _ = CloneJSON(m.Metadata).(map[string]any)
	c.Origin.MessageIDs = slices.Clone(m.Origin.MessageIDs)
	if m.Quality != nil {
		q := *m.Quality
		c.Quality = &q
	}
	return c
}

// CloneJSON returns a deep copy of a JSON value, such as metadata, and keeps its type.
// Lists and objects of other types than []any and map[string]any are shared.
func CloneJSON(v any) any {
	switch x := v.(type) {
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for k, e := range x {
			c[k] = CloneJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = CloneJSON(e)
		}
		return c
	}
	return v
}

// Expired reports whether the memory's time is over at now.
func (m *Memory) Expired(now time.Time) bool { return !m.Expires.IsZero() && !now.Before(m.Expires) }

// Origin says where a memory comes from.
type Origin struct {
	Session    string   `json:"session,omitempty"`     // the session that taught it
	Turn       string   `json:"turn,omitempty"`        // the turn that taught it
	MessageIDs []string `json:"message_ids,omitempty"` // the messages that taught it
	Role       string   `json:"role,omitempty"`        // who said it: user, assistant, tool
	Speaker    string   `json:"speaker,omitempty"`     // the name of who said it, when messages carry one
	Author     string   `json:"author,omitempty"`      // who wrote it down: a model, "verbatim", "agent"
}

// Message is one message of a conversation as memory keeps it: an Eino message
// with an identity and a time. The Eino message is shared and must not be
// changed by its receiver.
type Message struct {
	ID   string    `json:"id"`   // unique in its session
	Turn string    `json:"turn"` // the turn it belongs to: a user's input and all that answers it
	Time time.Time `json:"time"` // when it was said; zero means now
	*schema.Message
}

// Hit is a memory found by a search.
type Hit struct {
	Memory
	// Score is on an absolute scale from 0 to 1 and comparable between queries.
	// It is not the sort key: see package recall.
	Score   float64    `json:"score"`
	Parts   ScoreParts `json:"parts"`
	Sources []Memory   `json:"sources,omitempty"` // the turns that taught it, when asked for
}

// ScoreParts are the parts that a hit's place was decided by, each 0 to 1.
type ScoreParts struct {
	Lexical float64 `json:"lexical"`          // share of the lexical score that the query could attain
	Vector  float64 `json:"vector"`           // cosine of query and memory, not below 0
	Signals float64 `json:"signals"`          // what the conversation around the memory adds
	Rerank  float64 `json:"rerank,omitempty"` // the reranker's score, when one ran
}
