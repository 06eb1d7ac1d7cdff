// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// OwnerSession is the Owner of a block that belongs to the scope's session, of its user,
// else of its agent.
const OwnerSession backends.PartitionKind = "session"

const (
	defaultLimit   = 2000 // runes
	maxLimit       = 100_000
	maxBlocks      = 64
	maxName        = 64   // bytes
	maxDescription = 1000 // runes
)

// Block is the definition of one block. It is part of the configuration, which the agent only
// reads.
type Block struct {
	// Name has letters a to z, digits and underscores, at most 64, and is unique.
	// Required.
	Name string
	// Description tells the model which facts belong into the block; at most 1000 runes.
	// Optional.
	Description string
	// Owner is the kind of owner: callers who share the owner share the text. It is
	// backends.PartitionUser (with every agent and in every session), backends.PartitionAgent
	// (one text for all users: keep facts about a user out of it), backends.PartitionWorkspace
	// or [OwnerSession]. Optional. Defaults to the user.
	Owner backends.PartitionKind
	// Limit is the most runes that the text may have, at most 100000. Optional. Defaults
	// to 2000.
	Limit int
	// Initial is the text of a block until its first write. Optional.
	Initial string
	// ReadOnly blocks are shown to the agent, and only Set changes them.
	ReadOnly bool
	// View returns the text that a user's block shows instead of a stored one. Such a block is
	// ReadOnly, and Set refuses it too. The text is truncated to Limit runes. Optional.
	View func(ctx context.Context, s backends.Scope) (string, error)
}

// complete fills in the defaults. It returns ErrInvalid for a block that is illegal or that
// clashes with the others.
func (b *Block) complete(others []Block) error {
	b.Owner = cmp.Or(b.Owner, backends.PartitionUser)
	b.Limit, b.ReadOnly = cmp.Or(b.Limit, defaultLimit), b.ReadOnly || b.View != nil
	b.Initial = breaks(b.Initial)
	notOfName := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	var fault string
	switch {
	case b.Name == "" || len(b.Name) > maxName || strings.ContainsFunc(b.Name, notOfName):
		fault = fmt.Sprintf("a name is 1 to %d letters a to z, digits and underscores", maxName)
	case b.Owner != backends.PartitionUser && b.Owner != backends.PartitionAgent && b.Owner != backends.PartitionWorkspace && b.Owner != OwnerSession:
		fault = fmt.Sprintf("owner %q: use user, agent, workspace or session", b.Owner)
	case b.Limit < 1 || b.Limit > maxLimit:
		fault = fmt.Sprintf("limit %d: 1 to %d runes", b.Limit, maxLimit)
	case utf8.RuneCountInString(b.Description) > maxDescription:
		fault = fmt.Sprintf("a description has at most %d runes", maxDescription)
	case !utf8.ValidString(b.Initial) || utf8.RuneCountInString(b.Initial) > b.Limit:
		fault = fmt.Sprintf("its initial text is UTF-8 of at most %d runes, its limit", b.Limit)
	case slices.ContainsFunc(others, func(o Block) bool { return o.Name == b.Name }):
		fault = "the name is taken"
	case b.View != nil && b.Owner != backends.PartitionUser:
		fault = "a View is of a user's block"
	default:
		return nil
	}
	return fmt.Errorf("core: block %q: %w: %s", b.Name, backends.ErrInvalid, fault)
}

// Config lists the blocks and says where they are kept. [New] copies it.
type Config struct {
	Records store.Records // Required. Stays the caller's.

	// Blocks are shown in this order. Required: 1 to 64. A block that is later left out
	// disappears from the prompt and keeps its text in the store.
	Blocks []Block

	// Tools says that the agent has core_memory_append and core_memory_replace (see
	// toolkit.New), so that Message asks it to use them. Optional. Defaults to
	// false.
	Tools bool

	// Redact removes secrets from a text before an edit is made with it. It must be safe for
	// concurrent use. Optional. Defaults to redact.Text.
	Redact func(text string) string

	Language backends.Language // Optional. Of the fixed texts of Message; LanguageAuto is English.
	Clock    backends.Clock    // Optional. Defaults to backends.SystemClock.
}

// Blocks reads and edits core blocks. It is immutable and safe for concurrent use; one value
// serves any number of users, agents and sessions. There is nothing to close.
type Blocks struct {
	config Config
	text   *phrases
}

// New returns the blocks of a configuration. It returns ErrInvalid where the records are
// missing, the number of blocks is out of bounds, a name occurs twice, or a block is illegal.
func New(cfg *Config) (*Blocks, error) {
	switch {
	case cfg == nil || cfg.Records == nil:
		return nil, fmt.Errorf("core: no Config.Records: %w: pass a store, such as one of sqlitestore.Open", backends.ErrInvalid)
	case len(cfg.Blocks) == 0 || len(cfg.Blocks) > maxBlocks:
		return nil, fmt.Errorf("core: %d blocks: %w: 1 to %d", len(cfg.Blocks), backends.ErrInvalid, maxBlocks)
	}
	if err := cfg.Language.Validate(); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	b := &Blocks{config: *cfg, text: phrasesIn[cfg.Language.For()]}
	b.config.Blocks = slices.Clone(cfg.Blocks)
	for i := range b.config.Blocks {
		if err := b.config.Blocks[i].complete(b.config.Blocks[:i]); err != nil {
			return nil, err
		}
	}
	b.config.Clock = work.Clock(b.config.Clock)
	work.Default(&b.config.Redact, redact.Text)
	return b, nil
}

// OpenBlocks implements [store.BlocksConfig]. Fields that c leaves open come from d. The blocks
// live in the store of the sessions, unless c has Records.
func (c *Config) OpenBlocks(d *store.Common, editable bool) (store.Blocks, error) {
	if c == nil { // a nil pointer in the interface: no blocks
		return nil, nil
	}
	own := *c
	if own.Records == nil {
		var ok bool
		if own.Records, ok = d.Sessions.(store.Records); !ok {
			return nil, fmt.Errorf("core: %w: %T keeps no records: set Config.Core.Records to a store, such as sqlitestore.Open returns", backends.ErrInvalid, d.Sessions)
		}
	}
	work.Default(&own.Redact, d.Redact)
	work.Default(&own.Language, d.Language)
	work.Default(&own.Clock, d.Clock)
	own.Tools = editable
	return New(&own)
}

// Blocks returns the definitions in the configured order, with their defaults.
func (b *Blocks) Blocks() []Block { return slices.Clone(b.config.Blocks) }

// place says where the text of a block is stored for one scope.
type place struct {
	partition backends.Partition
	id        string // of the record
}

// placeOf returns where the scope's text of a block is, and the scope that owns it. A scope that
// lacks the owner is ErrNoScope.
//
// Ids are unique: names have no slash, and the session's id, which may have some, comes last.
// The longest id has 334 bytes.
func placeOf(b *Block, s backends.Scope) (at place, owner backends.Scope, err error) {
	owner.Namespace = s.Namespace
	at.id = "core/" + string(b.Owner) + "/" + b.Name
	switch b.Owner {
	case backends.PartitionAgent:
		owner.AgentID = s.AgentID
	case backends.PartitionWorkspace:
		owner.Workspace = s.Workspace
	case backends.PartitionUser:
		owner.UserID = s.UserID
	default:
		at.id += "/" + s.SessionID
		if owner.SessionID, owner.UserID = s.SessionID, s.UserID; s.UserID == "" {
			owner.AgentID = s.AgentID
		}
		if at.partition, err = s.Speaker(); err == nil && s.SessionID == "" {
			err = fmt.Errorf("%w: set Scope.SessionID", backends.ErrNoScope)
		}
	}
	if b.Owner != OwnerSession {
		at.partition, err = s.Partition(b.Owner)
	}
	if err != nil {
		err = fmt.Errorf("block %q belongs to the %s: %w", b.Name, b.Owner, err)
	}
	return at, owner, err
}

// named returns the scope trimmed, or ErrNoScope where user, agent and workspace are all empty.
func named(s backends.Scope) (backends.Scope, error) {
	s, err := s.Normalize()
	if err == nil && s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		err = fmt.Errorf("%w: set UserID, AgentID or Workspace of the scope", backends.ErrNoScope)
	}
	return s, err
}

// target is the block of a scope.
type target struct {
	*Block
	scope, owner backends.Scope
	place        place
}

// find returns the block of that name.
func (b *Blocks) find(name string, s backends.Scope) (t target, err error) {
	i := slices.IndexFunc(b.config.Blocks, func(known Block) bool { return known.Name == name })
	if i < 0 {
		var known []string
		for _, block := range b.config.Blocks {
			known = append(known, block.Name)
		}
		return t, fmt.Errorf("block %q: %w: the blocks are %s", name, backends.ErrNotFound, strings.Join(known, ", "))
	}
	t.Block = &b.config.Blocks[i]
	if t.scope, err = named(s); err == nil {
		t.place, t.owner, err = placeOf(t.Block, t.scope)
	}
	return t, err
}

// Value is a block with its text for one scope. It is the caller's own.
type Value struct {
	Block   Block
	Text    string
	Shown   string    // Text as models see it: see the package comment
	Size    int       // of Text, in runes
	Version int64     // the version that Set expects; 0: still unwritten, and Text is its Initial
	Updated time.Time // zero where Version is 0

	// Replayed says that the edit's idempotency key was known: nothing was done now.
	Replayed bool
}

// valueOf returns the value of a block from its record; nil stands for a block still unwritten.
func valueOf(b *Block, r *store.Record) *Value {
	v := &Value{Block: *b, Text: b.Initial}
	if r != nil {
		v.Text, v.Version, v.Updated = r.Text, r.Version, r.Updated
	}
	v.Shown, v.Size = show(v.Text), utf8.RuneCountInString(v.Text)
	return v
}

// Get returns the texts of the blocks for a scope, in the configured order. It leaves out blocks
// whose owner the scope lacks; blocks still unwritten have their Initial. It reads each
// partition once: at most three reads.
//
// A scope that names neither a user, an agent nor a workspace is ErrNoScope.
func (b *Blocks) Get(ctx context.Context, s backends.Scope) (values []Value, err error) {
	defer wrap(&err)
	if s, err = named(s); err != nil {
		return nil, err
	}
	var blocks []*Block
	var places []place
	for i := range b.config.Blocks {
		at, _, err := placeOf(&b.config.Blocks[i], s)
		if errors.Is(err, backends.ErrNoScope) {
			continue
		}
		if err != nil {
			return nil, err
		}
		blocks, places = append(blocks, &b.config.Blocks[i]), append(places, at)
	}
	held, err := b.records(ctx, places...)
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		v := *valueOf(blocks[i], held[at])
		if blocks[i].View != nil {
			shown, err := blocks[i].View(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("block %q: %w", blocks[i].Name, err)
			}
			v = *valueOf(&Block{Initial: text.Truncate(shown, blocks[i].Limit)}, nil)
			v.Block = *blocks[i]
		}
		values = append(values, v)
	}
	return values, nil
}

// Record returns the record of a block as it is stored, and the most runes that its text may
// have. It serves callers that write the block together with other records. A block still
// unwritten has Version 0 and its Initial.
func (b *Blocks) Record(ctx context.Context, s backends.Scope, name string) (r *store.Record, limit int, err error) {
	defer wrap(&err)
	t, err := b.find(name, s)
	if err != nil {
		return nil, 0, err
	}
	held, err := b.records(ctx, t.place)
	if r = held[t.place]; r == nil {
		r = b.record(&t, "", t.Initial)
	}
	return r, t.Limit, err
}

// wrap adds the package's name to an error.
func wrap(err *error) {
	if *err != nil {
		*err = fmt.Errorf("core: %w", *err)
	}
}

// records returns the stored records of the places. It reads each partition once.
func (b *Blocks) records(ctx context.Context, places ...place) (map[place]*store.Record, error) {
	ids := map[backends.Partition][]string{}
	for _, at := range places {
		ids[at.partition] = append(ids[at.partition], at.id)
	}
	held := map[place]*store.Record{}
	for p, ids := range ids {
		records, err := b.config.Records.Get(ctx, p, ids...)
		if err != nil {
			return nil, fmt.Errorf("reading the blocks of %s: %w", p, err)
		}
		for i := range records {
			if r := &records[i]; r.Kind != backends.KindCore {
				return nil, fmt.Errorf("record %s of %s: %w: it is of kind %q, and no core block; delete it", r.ID, p, backends.ErrInvalid, r.Kind)
			}
			held[place{p, records[i].ID}] = &records[i]
		}
	}
	return held, nil
}

// History returns the changes of a block of the scope, oldest first: who changed it, when, and
// the texts before and after. A block still unwritten has an empty history. Blocks of a deleted
// session keep theirs.
func (b *Blocks) History(ctx context.Context, s backends.Scope, name string) (events []backends.Event, err error) {
	defer wrap(&err)
	t, err := b.find(name, s)
	if err != nil {
		return nil, err
	}
	if events, err = b.config.Records.History(ctx, t.place.partition, t.place.id); err != nil {
		return nil, fmt.Errorf("history of block %q: %w", name, err)
	}
	return events, nil
}

// DeleteSession removes the texts of the session's configured blocks in one write. Their history
// still answers. It is for the end of a session: blocks of other owners stay.
//
// A scope that lacks the session, or both user and agent, is ErrNoScope.
func (b *Blocks) DeleteSession(ctx context.Context, s backends.Scope) (err error) {
	defer wrap(&err)
	if s, err = named(s); err != nil {
		return err
	}
	session, _, err := placeOf(&Block{Owner: OwnerSession}, s)
	if err != nil {
		return err
	}
	batch := &store.Batch{}
	for i := range b.config.Blocks {
		if at, _, err := placeOf(&b.config.Blocks[i], s); err == nil && b.config.Blocks[i].Owner == OwnerSession {
			m := store.Delete(at.id)
			m.Actor = actorCaller
			batch.Mutations = append(batch.Mutations, m)
		}
	}
	if len(batch.Mutations) == 0 {
		return nil
	}
	if _, err = b.config.Records.Apply(ctx, session.partition, batch); err != nil {
		return fmt.Errorf("deleting the blocks of a session: %w", err)
	}
	return nil
}
