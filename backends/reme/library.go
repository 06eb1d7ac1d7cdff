// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
)

// Library reads and writes ReMe's libraries, files of one memory a line, and copies,
// lists and deletes workspaces. See the package comment for the format. It is safe for
// concurrent use, also by processes that share a store.
//
// A scope with a Workspace names the task and tool memories of the workspace. Any other scope names
// the personal memories of its user, else of its agent. Memories of other kinds, such as core
// blocks and mem0's facts, stay outside; only Delete reaches them.
type Library struct {
	zone *time.Location
	keep *keeper.Keeper
}

// collection is the scope of a call: the memories of some kinds in one partition.
type collection struct {
	caller    backends.Scope
	partition backends.Partition
	kinds     []backends.Kind
}

// collection returns the collection that a scope names. A zero scope stands for the scope of the
// context.
func (l *Library) collection(ctx context.Context, s backends.Scope) (*collection, error) {
	s, p, err := l.keep.Resolve(ctx, s, partitionOf)
	c := &collection{caller: s, partition: p, kinds: []backends.Kind{backends.KindPersonal}}
	if p.Kind == backends.PartitionWorkspace {
		c.kinds = []backends.Kind{backends.KindTask, backends.KindTool}
	}
	return c, err
}

// partitionOf returns the partition that a scope names: see [Library].
func partitionOf(s backends.Scope) (backends.Partition, error) {
	if s.Workspace == "" && s.UserID+s.AgentID != "" {
		return s.Speaker()
	}
	return keeper.Workspace(s)
}

// accepts returns an error for a kind of memory that searches of this collection miss.
func (c *collection) accepts(kind backends.Kind) error {
	switch {
	case slices.Contains(c.kinds, kind):
		return nil
	case kind == backends.KindPersonal:
		return errors.New("a personal memory, which nothing finds in a workspace: load it with a Scope of its user and no Workspace")
	case kind == backends.KindTask, kind == backends.KindTool:
		return fmt.Errorf("a %s memory, which only searches of a workspace find: load it with a Scope that has a Workspace", kind)
	}
	return fmt.Errorf("a memory of kind %.40q: a library has task, personal and tool memories", kind)
}

// DumpRequest asks for a dump.
type DumpRequest struct {
	// Scope names the memories to dump: see [Library]. Required. Defaults to the scope of the
	// context.
	Scope backends.Scope
}

// DumpResponse says what a dump wrote.
type DumpResponse struct {
	Memories int `json:"memories"`
	LeftOut  int `json:"left_out"` // superseded, retracted and expired memories
}

// Dump writes the current memories, as they are at one moment, in the order of storing. Each is one
// line, with the members of ReMe's format. After an error w may hold a part of them.
// [Backend.Export] writes all members of a memory.
func (l *Library) Dump(ctx context.Context, r *DumpRequest, w io.Writer) (*DumpResponse, error) {
	r = cmp.Or(r, &DumpRequest{})
	c, err := l.collection(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	all, err := l.keep.All(ctx, c.partition)
	if err != nil {
		return nil, err
	}
	out, lines := &DumpResponse{}, bufio.NewWriter(w)
	for _, m := range all {
		switch {
		case !slices.Contains(c.kinds, m.Kind):
		case !m.Active() || m.Expired(l.keep.Now()):
			out.LeftOut++
		default:
			out.Memories++
			line, err := l.Encode(m, c.partition.ID)
			if err = errors.Join(ctx.Err(), err); err != nil {
				return nil, fmt.Errorf("reme: dumping %s: memory %s: %w", c.partition, m.ID, err)
			}
			_, _ = lines.Write(append(line, '\n')) // Flush returns its error
		}
	}
	if err := lines.Flush(); err != nil {
		return nil, fmt.Errorf("reme: dumping %s: %w", c.partition, err)
	}
	return out, nil
}

// CopyRequest asks for a copy of a workspace.
type CopyRequest struct {
	From, To backends.Scope // Required, both: a scope of the context is ignored.
	Merge    bool           // Optional. As in LoadRequest.
}

// Copy loads the memories of one workspace into another, as they are at one moment, past ones
// included. Ids stay, except for tools: their ids are made of the workspace and the tool. It
// returns the errors of [Library.Load]. An empty workspace is ErrInvalid.
func (l *Library) Copy(ctx context.Context, r *CopyRequest) (*LoadResponse, error) {
	if r == nil || r.From.IsZero() || r.To.IsZero() {
		return nil, fmt.Errorf("reme: %w: Copy takes no scope from the context: name From and To", backends.ErrNoScope)
	}
	from, err := l.collection(ctx, r.From)
	if err != nil {
		return nil, fmt.Errorf("copying from: %w", err)
	}
	to, err := l.collection(ctx, r.To)
	if err != nil {
		return nil, fmt.Errorf("copying to: %w", err)
	}
	if from.partition == to.partition {
		return nil, fmt.Errorf("reme: %w: copying %s onto itself", backends.ErrInvalid, from.partition)
	}
	held, err := l.keep.All(ctx, from.partition)
	if err != nil {
		return nil, fmt.Errorf("reme: copying %s: %w", from.partition, err)
	}
	return l.load(ctx, to, &LoadRequest{Merge: r.Merge}, func(ld *load) error {
		for i, m := range held {
			if slices.Contains(from.kinds, m.Kind) {
				c := m.Clone()
				if err := ld.add(backends.Scope{}, &c, i+1); err != nil { // it stays whose it was
					return fmt.Errorf("memory %s: %w", m.ID, err)
				}
			}
		}
		return nil
	})
}

// Delete erases the workspace that the scope names, and returns how many memories it removed. It
// ignores the scope of the context. Everything in the workspace goes: memories of all kinds, their
// histories, core blocks, sessions and the log of tool calls. [Backend.DeleteAll] removes memories
// and keeps their histories. Personal memories outside of workspaces stay.
func (l *Library) Delete(ctx context.Context, s backends.Scope) (int, error) {
	if s.IsZero() {
		return 0, fmt.Errorf("reme: %w: Delete takes no scope from the context: name the workspace", backends.ErrNoScope)
	}
	s, p, err := l.keep.Resolve(ctx, s, keeper.Workspace)
	if err == nil {
		err = l.keep.Allow(ctx, backends.OpDelete, s, p, nil)
	}
	if err != nil {
		return 0, err
	}
	dropped, err := l.keep.Store().Drop(ctx, p)
	if err != nil {
		return 0, fmt.Errorf("reme: deleting %s: %w", p, err)
	}
	return dropped.Records, nil
}
