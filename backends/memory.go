// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/google/uuid"
)

// Memory is one thing that is remembered. A Memory handed out is the caller's
// own copy.
type Memory struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// WhenToUse is the situation in which Text helps; it is indexed with Text. A fact has up to
	// eight words here, by which people would ask for it. Each counts half of a word of Text.
	WhenToUse string `json:"when_to_use,omitempty"`

	// Standing says that the memory applies to every question: how to answer, a name, a limit
	// such as an allergy, a present home. Notes show it under "About the user".
	Standing bool `json:"standing,omitempty"`
	// Delicate says that the memory is shown only where a question is about it: a diagnosis, a
	// belief, money, another person's secret. It wins over Standing.
	Delicate bool `json:"delicate,omitempty"`

	// Scope is where the memory was learnt. The partition that holds it follows
	// from the scope and the kind.
	Scope    Scope          `json:"scope"`
	Metadata map[string]any `json:"metadata,omitempty"` // JSON values, the caller's own

	// Quality is the judged worth of the memory, 0 to 1; nil before a judgement. A
	// similarity never overwrites it.
	Quality *float64 `json:"quality,omitempty"`

	Observed    time.Time `json:"observed,omitzero"`    // when it was said or seen
	Valid       time.Time `json:"valid,omitzero"`       // from when it holds in the world; zero: since Observed
	Invalidated time.Time `json:"invalidated,omitzero"` // when it ended: superseded or retracted
	Created     time.Time `json:"created,omitzero"`     // when it was stored
	Updated     time.Time `json:"updated,omitzero"`     // when it last changed; for an ended memory, when it ended
	Expires     time.Time `json:"expires,omitzero"`     // from then on it is hidden from all answers; zero: never

	Origin Origin `json:"origin,omitzero"`

	// Supersedes is the id of the memory that this one replaced, SupersededBy the id of
	// its successor: together they are the chain of a fact.
	Supersedes   string `json:"supersedes,omitempty"`
	SupersededBy string `json:"superseded_by,omitempty"`

	// Version is the version of the partition at which the memory last changed.
	Version int64 `json:"version,omitempty"`
}

// Active reports whether the memory still holds: it was neither superseded nor retracted.
func (m *Memory) Active() bool { return m.SupersededBy == "" && m.Invalidated.IsZero() }

// Clone returns a deep copy of m. It shares only the values of Metadata of other types
// than []any and map[string]any.
func (m *Memory) Clone() Memory {
	c := *m
	c.Metadata, _ = cloneJSON(m.Metadata).(map[string]any)
	c.Origin.MessageIDs, c.Origin.Users, c.Origin.Evidence = slices.Clone(m.Origin.MessageIDs), slices.Clone(m.Origin.Users), slices.Clone(m.Origin.Evidence)
	if m.Quality != nil {
		q := *m.Quality
		c.Quality = &q
	}
	return c
}

// cloneJSON returns a deep copy of a JSON value, such as metadata, and keeps its type.
func cloneJSON(v any) any {
	switch x := v.(type) {
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for k, e := range x {
			c[k] = cloneJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = cloneJSON(e)
		}
		return c
	}
	return v
}

// CameFrom reports whether a memory has words of a user: its own user, or one of several
// whose words it was made from.
func (m *Memory) CameFrom(user string) bool {
	return user != "" && (m.Scope.UserID == user || slices.Contains(m.Origin.Users, user))
}

// From returns the users for whom [Memory.CameFrom] is true.
func (m *Memory) From() []string {
	if m.Scope.UserID == "" || slices.Contains(m.Origin.Users, m.Scope.UserID) {
		return slices.Clone(m.Origin.Users)
	}
	return append([]string{m.Scope.UserID}, m.Origin.Users...)
}

// Since returns the start of the memory's validity: Valid, else when it was said, else
// when it was stored.
func (m *Memory) Since() time.Time {
	for _, t := range []time.Time{m.Valid, m.Observed} {
		if !t.IsZero() {
			return t
		}
	}
	return m.Created
}

// Expired reports whether the memory's time is over at now.
func (m *Memory) Expired(now time.Time) bool { return !m.Expires.IsZero() && !now.Before(m.Expires) }

// MetaReflect is a key in Metadata for an object. A plan of package reflection sets it on a
// memory that it changed: the plan's id (plan), its operation (op) and the state before
// (was).
const MetaReflect = "reflect"

// OpMerge is the op of MetaReflect for a duplicate: its successor says the same.
const OpMerge = "merge"

// maxInferences is how many steps of inference Stands follows.
const maxInferences = 8

// Stands reports whether a memory holds now, and with it everything that it was inferred
// from (see [KindTraits].Inferred). A merged memory counts as the one that it was merged
// into. held returns the memory with an id, or nil.
func (m *Memory) Stands(now time.Time, held func(id string) *Memory) bool {
	return m.stands(now, held, maxInferences)
}

func (m *Memory) stands(now time.Time, held func(id string) *Memory, steps int) bool {
	if !m.Active() || m.Expired(now) || steps == 0 {
		return false
	}
	return !m.Kind.Traits().Inferred || !slices.ContainsFunc(m.Origin.Evidence, func(id string) bool {
		e := held(id)
		for range maxInferences {
			if e == nil || e.SupersededBy == "" || !e.Merged() {
				break
			}
			e = held(e.SupersededBy)
		}
		return e == nil || !e.stands(now, held, steps-1)
	})
}

// Merged reports whether a plan of package reflection hid the memory behind a duplicate.
func (m *Memory) Merged() bool {
	mark, _ := m.Metadata[MetaReflect].(map[string]any)
	return mark["op"] == OpMerge
}

// Kind says what sort of thing a memory is.
type Kind string

// The kinds of memory.
const (
	KindFact      Kind = "fact"      // one statement that holds until superseded
	KindEpisode   Kind = "episode"   // what was said, as it was said
	KindTask      Kind = "task"      // experience from a task's trajectory
	KindPersonal  Kind = "personal"  // an observation about a person
	KindTool      Kind = "tool"      // how a tool behaves and is best used
	KindProcedure Kind = "procedure" // what an agent did, step by step
	KindInsight   Kind = "insight"   // what several memories together show
	KindSkill     Kind = "skill"     // a procedure that proved itself, or has yet to
	KindDocument  Kind = "document"  // a passage of a document
	KindCore      Kind = "core"      // a core block of package core
)

// KindTraits says how a search finds memories of a kind. The zero value stands for a kind
// outside the table: a program's own. Words search all of [Memory.WhenToUse] and Text;
// the traits say what else holds.
type KindTraits struct {
	// InPrompt memories are always in the prompt. Searches and embeddings leave them out,
	// and package core alone changes them.
	InPrompt bool
	// Timeless memories ignore the day of their observation. Questions about experience
	// ask for a task, and the numbers of a date would match a task's.
	Timeless bool
	// Named memories have the name of their subject in WhenToUse. It is embedded in front
	// of the text. Else WhenToUse is the situation in which the memory helps, and is
	// embedded alone: a question resembles it more than the advice.
	Named bool
	// Keywords stand in WhenToUse and only repeat the text. The text alone is embedded, their
	// words count half, and memories that differ in keywords alone are duplicates.
	Keywords bool
	// Experience memories come from the work of agents, and live in a workspace: [Join]
	// gives them to its second backend.
	Experience bool
	// Inferred memories hold as long as all of their Origin.Evidence does: see [Memory.Stands].
	Inferred bool
}

// kinds is the one place that says how a kind is found. A new kind is a constant above and
// a row here.
var kinds = map[Kind]KindTraits{
	KindFact:      {Keywords: true},
	KindEpisode:   {},
	KindTask:      {Timeless: true, Experience: true},
	KindPersonal:  {Keywords: true},
	KindTool:      {Timeless: true, Named: true, Experience: true},
	KindProcedure: {Timeless: true},
	KindInsight:   {Timeless: true, Inferred: true},
	KindSkill:     {Timeless: true, Experience: true},
	KindDocument:  {Timeless: true},
	KindCore:      {InPrompt: true},
}

// Traits returns how memories of the kind are found.
func (k Kind) Traits() KindTraits { return kinds[k] }

// Origin says where a memory comes from.
type Origin struct {
	Session    string   `json:"session,omitempty"`     // the session that taught it
	Turn       string   `json:"turn,omitempty"`        // the turn that taught it
	MessageIDs []string `json:"message_ids,omitempty"` // the messages that taught it
	Role       string   `json:"role,omitempty"`        // who said it: user, assistant, tool
	Speaker    string   `json:"speaker,omitempty"`     // the name of who said it, when messages carry one
	Author     string   `json:"author,omitempty"`      // who wrote it down: a model, "verbatim", "agent"
	Source     string   `json:"source,omitempty"`      // the source that the speaker repeats: "tool NAME", "document NAME"; empty: own words
	// Users are those whose words a memory of a workspace has, beside Scope.UserID. Other
	// users never see them.
	Users []string `json:"users,omitempty"`
	// Evidence are the ids of the memories, in the same partition, that this one was made
	// from. If one of them is forgotten, this one is, too.
	Evidence []string `json:"evidence,omitempty"`
}

// The sources by which a memory is trusted: [Memory.Trust] returns one of them, and so does
// the field trust of a [Filter].
const (
	TrustOwn      = "own"      // a user said it
	TrustTool     = "tool"     // a tool returned it
	TrustDocument = "document" // it stands in a document, or in text that was pasted or quoted
	TrustOther    = "other"    // an assistant said it, several did, a program wrote it down, or the source is unknown
)

// Trust returns the source of a memory's words.
func (m *Memory) Trust() string {
	switch of, _, _ := strings.Cut(m.Origin.Source, " "); {
	case of == TrustTool || of == TrustDocument:
		return of
	case m.Kind == KindDocument:
		return TrustDocument
	case m.Kind == KindTool, m.Origin.Role == string(schema.Tool):
		return TrustTool
	case m.Origin.Role == string(schema.User):
		return TrustOwn
	}
	return TrustOther
}

// AuthorAgent is the Author of the notes that an agent makes with its add_memory tool.
const AuthorAgent = "agent"

// Message is one message of a conversation as memory keeps it: an Eino message with an
// identity and a time. The Eino message is shared: its receiver must leave it unchanged.
type Message struct {
	ID   string    `json:"id"`   // unique in its session
	Turn string    `json:"turn"` // the turn it belongs to: a user's input and all that answers it
	Time time.Time `json:"time"` // when it was said; zero means now
	*schema.Message
}

// Hit is a memory found by a search.
type Hit struct {
	Memory
	// Score is on an absolute scale from 0 to 1 and comparable between queries. Hits have
	// another order: see package recall.
	Score float64    `json:"score"`
	Parts ScoreParts `json:"parts"`
	// Passage is the matching part of a Text of over 400 characters. It has whole sentences, some
	// 240 to 400 characters, with an ellipsis where the Text goes on. Empty: the Text is shorter.
	Passage string `json:"passage,omitempty"`

	Before *Memory   `json:"before,omitempty"` // the memory that it replaced, if any
	Ended  time.Time `json:"ended,omitzero"`   // when its statement ended; zero: it holds
}

// ScoreParts are the parts that decide a hit's place.
type ScoreParts struct {
	Lexical float64 `json:"lexical"`          // share of the lexical score that the query could attain
	Vector  float64 `json:"vector"`           // cosine of query and memory, at least 0
	Rerank  float64 `json:"rerank,omitempty"` // the reranker's score, when one ran
	// Signals are the amounts that each signal added to Lexical, on its scale; a negative
	// amount was subtracted. Package recall lists their names.
	Signals map[string]float64 `json:"signals,omitempty"`
}

// SignalStates is the name of the signal that takes off from a hit that states nothing, such as
// a question.
const SignalStates = "states"

// MergeHits merges two answers and keeps the order of each, which may differ from the
// order of the scores. A hit counts as much as the best score among itself and the hits
// behind it.
func MergeHits(a, b []Hit) []Hit {
	out := make([]Hit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if best(a) >= best(b) {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return slices.Concat(out, a, b)
}

func best(hits []Hit) float64 {
	score := 0.0
	for i := range hits {
		score = max(score, hits[i].Score)
	}
	return score
}

// Clock returns the time. Every stored time comes from one, so tests are exact. A nil
// Clock in a configuration means [SystemClock]. It must be safe for concurrent use.
type Clock func() time.Time

// SystemClock is the wall clock in UTC, cut to microseconds so that a time read
// back from any store equals the time written.
func SystemClock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// IDSource makes ids that are unique across processes. A nil IDSource in a
// configuration means [NewID]. It must be safe for concurrent use.
type IDSource func() string

// NewID returns a UUID version 7 (RFC 9562): unique, and ordered by time.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil { // the system's source of randomness failed
		return uuid.NewString()
	}
	return id.String()
}
