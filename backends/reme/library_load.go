// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// LoadRequest asks for a load.
type LoadRequest struct {
	// Scope names the collection to load into: see [Library]. Required. Defaults to the scope of
	// the context.
	Scope backends.Scope
	// Merge keeps the stored memories and replaces the ones whose id is loaded. Optional. By
	// default a load replaces everything that a [Library] reads there, as ReMe does.
	Merge bool
}

// LoadResponse says what a load changed.
type LoadResponse struct {
	Loaded  int            `json:"loaded"`  // memories stored
	Removed int            `json:"removed"` // earlier memories that the load lacks
	Usage   backends.Usage `json:"usage"`
}

// Load reads memories, one a line, and stores all of them in one write, with vectors from the
// embedder if there is one. After an error the collection is as before. Only if the store did not
// answer (ErrUnavailable, or a context that ended) may it hold the whole load. The error says so:
// repeat the load.
//
// A load takes up to 100,000 memories ([store.MaxBatch]), counting the ones that it removes. More
// is ErrInvalid: split the file, or load it into several workspaces.
//
// Other causes of ErrInvalid are an unreadable line, which the error numbers, and a memory of a
// kind that is never found there. An empty input is ErrInvalid, too, unless Merge is set.
// ErrConflict: others changed memories that the load removes, again and again. ErrDimension: the
// remaining memories have vectors of another model; [Backend.ReembedAll] makes them anew.
func (l *Library) Load(ctx context.Context, r *LoadRequest, in io.Reader) (*LoadResponse, error) {
	r = cmp.Or(r, &LoadRequest{})
	c, err := l.collection(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, c, r, func(ld *load) error { return ld.read(ctx, in) })
}

// load stores what read adds to a load.
func (l *Library) load(ctx context.Context, c *collection, r *LoadRequest, read func(*load) error) (_ *LoadResponse, err error) {
	defer work.Recover("reme", &err)
	ctx, err = l.keep.Begin(ctx, c.caller)
	if err != nil {
		return nil, err
	}
	ld := &load{Library: l, collection: c, request: r, ids: map[string]int{}}
	if err = read(ld); err == nil {
		err = ld.write(ctx)
	}
	if err != nil {
		state := "nothing was changed"
		if ld.unanswered {
			state = "the store did not answer: nothing was changed, or everything was loaded; repeat the load"
		}
		return nil, fmt.Errorf("reme: loading into %s (%s): %w", c.partition, state, err)
	}
	ld.out.Loaded = len(ld.records)
	return &ld.out, nil
}

// load is one call of Load or Copy.
type load struct {
	*Library
	*collection
	request    *LoadRequest
	records    []*store.Record
	ids        map[string]int // lines, by the stored ids
	space      *store.Embedding
	unanswered bool // the store may have carried out the write
	out        LoadResponse
}

// write stores the records with their vectors.
func (ld *load) write(ctx context.Context) error {
	if len(ld.records) == 0 {
		if ld.request.Merge {
			return nil
		}
		return fmt.Errorf("%w: the input holds no memory; Library.Delete empties a workspace", backends.ErrInvalid)
	}
	err := ld.keep.Allow(ctx, backends.OpAdd, ld.caller, ld.partition, nil)
	for some := range slices.Chunk(ld.records, embeddedAtOnce) {
		if err != nil {
			return err
		}
		ld.space, err = ld.keep.Embed(ctx, some, &ld.out.Usage)
	}
	if err != nil {
		return err
	}
	return store.OnConflict(ctx, func() error { return ld.store(ctx) })
}

// embeddedAtOnce is how many memories the embedder gets at once.
const embeddedAtOnce = 100

// maxLine is the longest readable line, in bytes: more than the longest text takes with every byte
// of it escaped.
const maxLine = 8 * store.MaxText

// read reads all lines with text.
func (ld *load) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var err error
	line := 0
	for err == nil && in.Scan() {
		line++
		text := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\xef\xbb\xbf"))) // a byte order mark
		if len(text) > 0 {
			err = cmp.Or(ctx.Err(), ld.line(text, line))
		}
	}
	if err == nil && in.Err() != nil {
		line, err = line+1, in.Err()
	}
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("%w: longer than %d bytes", backends.ErrInvalid, maxLine)
	}
	if err != nil {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// line reads one line.
func (ld *load) line(text []byte, line int) error {
	m, err := parseLine(text, ld.zone)
	if err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	return ld.add(ld.caller, m, line)
}

// add makes a memory one of the collection, and in a workspace one of the named user.
func (ld *load) add(user backends.Scope, m *backends.Memory, line int) error {
	err := ld.accepts(m.Kind)
	if err == nil && strings.TrimSpace(m.Text+m.WhenToUse) == "" && len(m.Metadata) == 0 {
		err = errors.New("a memory that says nothing: remove the line")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	ld.adopt(user, m)
	if err := ld.identify(m, line); err != nil {
		return err
	}
	r := &store.Record{Memory: *m}
	if err := (&store.Batch{Mutations: []store.Mutation{store.Put(r)}}).Validate(); err != nil {
		return err
	}
	if ld.records = append(ld.records, r); len(ld.records) > store.MaxBatch {
		return fmt.Errorf("%w: more than %d memories: split the file, or load it into several workspaces", backends.ErrInvalid, store.MaxBatch)
	}
	return nil
}

// adopt makes a memory one of the partition, which is new there, and redacts it. In a workspace it
// belongs to the user who loads it, if the caller is one.
func (ld *load) adopt(user backends.Scope, m *backends.Memory) {
	keep, p := ld.keep.For(ld.partition.Kind), ld.partition
	m.Version, m.Scope.Namespace = 0, p.Namespace
	switch p.Kind {
	case backends.PartitionUser:
		m.Scope.UserID = p.ID
	case backends.PartitionAgent:
		m.Scope.UserID, m.Scope.AgentID = "", p.ID
	default:
		m.Scope.Workspace = p.ID
		if user.UserID != "" {
			m.Scope.UserID, m.Scope.SessionID = user.UserID, user.SessionID
			m.Origin.Session, m.Origin.Users = user.SessionID, nil
		}
	}
	m.Text, m.WhenToUse, m.Origin.Author = keep.Redact(m.Text), keep.Redact(m.WhenToUse), keep.Redact(m.Origin.Author)
	m.Metadata, _ = keep.RedactJSON(m.Metadata).(map[string]any)
	if m.Created.IsZero() {
		m.Created = ld.keep.Stamps(1)
	}
	if m.Updated.IsZero() {
		m.Updated = m.Created
	}
}

// identify gives a memory the id for the store. Tool memory finds the memory of a tool by an id of
// its own. ReMe can have several memories of one tool: the first one gets that id, the others keep
// theirs. A memory without an id gets one that follows from its text.
func (ld *load) identify(m *backends.Memory, line int) error {
	if tool := strings.TrimSpace(m.WhenToUse); m.Kind == backends.KindTool && tool != "" {
		if id := keeper.ContentID(ld.partition, m.Kind, tool); ld.ids[id] == 0 {
			m.ID = id
		}
	}
	if m.ID == "" {
		m.ID = keeper.ContentID(ld.partition, m.Kind, m.WhenToUse, m.Text)
	}
	if first := ld.ids[m.ID]; first != 0 {
		return fmt.Errorf("%w: the id %.80q, or without one the text, stands on line %d already: remove one of them", backends.ErrInvalid, m.ID, first)
	}
	ld.ids[m.ID] = line
	return nil
}

// loadActor names the library in the history of a memory.
const loadActor = "library"

// store replaces the stored memories of the collection by the records. ErrConflict: another call,
// such as a load, changed a memory to remove.
func (ld *load) store(ctx context.Context) error {
	held, err := ld.keep.All(ctx, ld.partition)
	if err != nil {
		return err
	}
	b := &store.Batch{Embedding: ld.space}
	stays := false
	for _, m := range held {
		op := backends.OpUpdate
		switch {
		case ld.ids[m.ID] != 0:
		case ld.request.Merge || !slices.Contains(ld.kinds, m.Kind):
			stays = true
			continue
		default:
			op = backends.OpDelete
			remove := store.Delete(m.ID)
			remove.Expect = m.Version
			b.Mutations = append(b.Mutations, remove)
		}
		if err := ld.keep.Allow(ctx, op, ld.caller, ld.partition, m); err != nil {
			return err
		}
	}
	removed := len(b.Mutations)
	for _, r := range ld.records {
		put := store.Put(r)
		put.Role = r.Origin.Role
		b.Mutations = append(b.Mutations, put)
	}
	if len(b.Mutations) > store.MaxBatch {
		return fmt.Errorf("%w: %d memories to store and %d to remove, at most %d together: delete the workspace first, or Merge",
			backends.ErrInvalid, len(ld.records), removed, store.MaxBatch)
	}
	for i := range b.Mutations {
		b.Mutations[i].Actor = loadActor
	}
	b.Reembed = ld.space != nil && !stays
	_, err = ld.keep.Store().Apply(ctx, ld.partition, b)
	ld.out.Removed = removed
	ld.unanswered = errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if errors.Is(err, backends.ErrDimension) {
		err = fmt.Errorf("%w: call Backend.ReembedAll first", err)
	}
	return err
}
