// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Mode says what a load does with what the workspace holds.
type Mode string

// The modes.
const (
	// Replace makes the workspace hold what is loaded and nothing else, as a load of
	// ReMe does. Core blocks, sessions and the log of tool calls stay.
	Replace Mode = ""
	// Merge adds what is loaded; memories with the id of a loaded one are replaced.
	Merge Mode = "merge"
	// Add adds what is loaded; memories with the id of a loaded one stay as they are.
	Add Mode = "add"
)

// LoadRequest asks for a load.
type LoadRequest struct {
	Scope backends.Scope // Required. Names the workspace. Defaults to that of the context.
	Mode  Mode           // Optional. Defaults to Replace.
	// File is the name of the file in Config.Dir, for LoadFile. Optional. Defaults to
	// [FileName] of the workspace.
	File string
	// WithoutVectors leaves out vectors that come along. Optional.
	WithoutVectors bool
	Progress       Progress // Optional. Defaults to that of the Config.
}

// LoadResponse tells what became of a load.
type LoadResponse struct {
	Loaded  int // memories that were stored
	Removed int // memories that were there before and are not among those loaded
	// Skipped are memories that were left out: with Add those that were there, and
	// lines without an id that say the same as one before.
	Skipped int
	Usage   backends.Usage
	// Staged tells that there was too much for one write.
	Staged bool
	// Committed tells, with an error, that a staged load was decided but not finished:
	// Resume, or the next load, finishes it.
	Committed bool
}

// Load reads memories, one a line, into a workspace: all of them, or with an error
// none, and the workspace is as it was. See the package comment for the formats, and
// for what searches see of a load that is staged.
//
// With Replace an input without memories is ErrInvalid and leaves the workspace as it
// was; Delete empties one. Errors name the line. ErrConflict: another load of the
// workspace is under way.
func (l *Library) Load(ctx context.Context, r *LoadRequest, in io.Reader) (*LoadResponse, error) {
	if r == nil {
		r = &LoadRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("library: loading workspace %s (it is as it was): %w: nothing to read from", at.partition.ID, backends.ErrInvalid)
	}
	return l.load(ctx, at, r, newReader(in, l.location, 0))
}

// loading is one load under way.
type loading struct {
	*Library
	at      *place
	request *LoadRequest
	source  source
	tell    Progress
	out     LoadResponse

	seen     map[[16]byte]int // the lines of the ids met, by their hashes
	tools    map[[16]byte]int // the lines of the ids that memories of tools had there
	read     int
	vectors  vectorUse
	embedded *store.Embedding // the space of the vectors that are stored
	doubt    bool             // the last write was not answered
}

func (l *Library) load(ctx context.Context, at *place, r *LoadRequest, from source) (*LoadResponse, error) {
	switch r.Mode {
	case Replace, Merge, Add:
	default:
		return nil, fmt.Errorf("library: %w: mode %q: use Replace, Merge or Add", backends.ErrInvalid, r.Mode)
	}
	ld := &loading{Library: l, at: at, request: r, source: from, tell: l.reporter(r.Progress), seen: map[[16]byte]int{}, tools: map[[16]byte]int{}}
	err := ld.run(ctx)
	if err != nil {
		return &ld.out, fmt.Errorf("library: loading workspace %s (%s): %w", at.partition.ID, ld.state(), err)
	}
	return &ld.out, nil
}

// state says, for an error, what became of the workspace.
func (ld *loading) state() string {
	switch {
	case ld.out.Committed:
		return "the load is decided but not finished: call Resume, or load again"
	case ld.doubt:
		return "it is as it was or loaded whole, the store did not say: load again"
	}
	return "it is as it was"
}

// bytesAtOnce is up to how much input is loaded in one write.
const bytesAtOnce = 16 << 20

func (ld *loading) run(ctx context.Context) error {
	records, err := ld.gather(ctx, ld.oneBatch+1, bytesAtOnce)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	whole := err != nil
	if len(records) == 0 && whole {
		return ld.nothing()
	}
	if _, err := ld.settle(ctx, ld.at); err != nil {
		return err
	}
	if whole && len(records) <= ld.oneBatch {
		done, err := ld.atOnce(ctx, records)
		if done || err != nil {
			return err
		}
	}
	return ld.stage(ctx, records, whole)
}

// nothing is what becomes of an input without memories.
func (ld *loading) nothing() error {
	if ld.request.Mode != Replace {
		return nil
	}
	return fmt.Errorf("%w: the input holds no memory: to empty the workspace call Delete", backends.ErrInvalid)
}

// gather reads records until there are so many, or so many bytes of them. io.EOF
// tells, beside them, that they are the last.
func (ld *loading) gather(ctx context.Context, most, bytes int) ([]*store.Record, error) {
	var out []*store.Record
	for size := 0; len(out) < most && size < bytes; {
		e, err := ld.source.next(ctx)
		if err != nil {
			ld.tell(ld.read, max(ld.source.total(), ld.read), StageRead)
			return out, err
		}
		if err := ld.adopt(ld.at, e); err != nil {
			return nil, err
		}
		fresh, err := ld.first(e)
		if err != nil {
			return nil, err
		}
		if ld.read++; ld.read%tellEvery == 0 {
			ld.tell(ld.read, ld.source.total(), StageRead)
		}
		if fresh {
			out, size = append(out, e.record), size+e.size
		}
	}
	return out, ctx.Err()
}

// tellEvery is after how many memories a Progress is told.
const tellEvery = 100

// first reports whether the entry is the first with its id; a second one is an
// error, unless neither had one. ReMe could come to have two memories of one tool: the
// first is the one that tool memory finds by its name, others are kept as they are.
func (ld *loading) first(e *entry) (bool, error) {
	key := hashOf(e.record.ID)
	before, twice := ld.seen[key]
	if m := &e.record.Memory; m.Kind == backends.KindTool && e.given != "" && e.given != m.ID {
		own := hashOf(e.given)
		if line, met := ld.tools[own]; met {
			before, twice = line, true
		} else if ld.tools[own] = e.line; twice {
			restoreID(m)
			m.ID, key = e.given, own
			before, twice = ld.seen[key]
		}
	}
	if !twice {
		if ld.seen[key] = e.line; e.nameless {
			ld.seen[key] = -e.line
		}
		return true, nil
	}
	if e.nameless && before < 0 {
		ld.out.Skipped++
		return false, nil
	}
	what := "id " + e.record.ID
	if e.record.Kind == backends.KindTool {
		what = fmt.Sprintf("tool %q (of which a workspace has one memory)", e.record.WhenToUse)
	}
	return false, fmt.Errorf("line %d: %w: %s stands on line %d already: remove one of them", e.line, backends.ErrInvalid, what, max(before, -before))
}

// hashOf is an id as it is remembered: short, whatever the id is.
func hashOf(id string) (out [16]byte) {
	sum := sha256.Sum256([]byte(id))
	copy(out[:], sum[:])
	return out
}
