// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Input is what a batch is planned on.
type Input struct {
	Now time.Time // when the batch is applied, as it is stored

	// Next is the version that the batch raises the partition to, if it changes
	// something. Besides being written it decides one thing: whether an Expect
	// holds of a record that the batch itself changed before.
	Next int64

	// Embedding is the partition's, nil before the first vector.
	Embedding *store.Embedding

	// Record returns a record as the store holds it before the batch, nil when
	// there is none. It is called at most once for each id, and what it returns is
	// not changed. It may leave out the vectors of all records; then a put counts
	// as one with a new vector. An error of it ends the planning.
	Record func(id string) (*store.Record, error)
}

// Plan is what a store has to write, all or nothing. Its records share vectors,
// metadata and message ids with those of the batch and of [Input].Record: encode
// them or copy them, and change none of them.
type Plan struct {
	Results []store.Result // one for each mutation

	// Writes has one entry for each record that the batch changed, in the order of
	// their first changes; a successor comes before the record that it hides. A
	// record that the batch created and deleted again has none: no reader ever knew
	// it.
	Writes []Write

	// Checks has one entry for each record that was read, changed or not, in the
	// order of reading: the plan holds as long as all of them do.
	Checks []Check

	// Events are what the histories get, in order and complete.
	Events []backends.Event

	Embedding *store.Embedding // the partition's from now on; nil: as it was

	// Changed says that mutations or the embedding raise the partition's version.
	// It may be set without any Writes. A session update raises the version too:
	// the store adds that.
	Changed bool
}

// Write is the state of one record after the batch.
type Write struct {
	ID     string
	Record *store.Record // nil: deleted. Its Version is Input.Next
	Old    int64         // the version before the batch; 0: there was no record

	// SameVector says that the vector is as it was: only the memory needs writing.
	// Record.Vector is then what Input.Record gave, and must not be written where
	// that leaves vectors out.
	SameVector bool
}

// Check is a record that a plan was made from.
type Check struct {
	ID      string
	Version int64 // 0: there was no record
}

// Batch plans b, which must be valid and is not changed. The error is ErrDimension
// for another embedding than the partition's, ErrConflict for a mutation that does
// not hold, ErrInvalid for a sum that is infinite; it names the mutation.
func Batch(b *store.Batch, in *Input) (*Plan, error) {
	p := &planner{in: in, drafts: make(map[string]*draft, len(b.Mutations))}
	space, err := declare(b, in.Embedding)
	if err != nil {
		return nil, err
	}
	p.out = Plan{Embedding: space, Changed: space != nil, Results: make([]store.Result, 0, len(b.Mutations))}
	for i := range b.Mutations {
		r, err := p.mutate(&b.Mutations[i])
		if err != nil {
			return nil, fmt.Errorf("mutation %d (%s): %w", i, b.Mutations[i].Op, err)
		}
		p.out.Changed = p.out.Changed || r.Event != ""
		p.out.Results = append(p.out.Results, r)
	}
	p.collect()
	return &p.out, nil
}

// declare compares the batch's embedding with the partition's and returns the new
// one, nil when it stays.
func declare(b *store.Batch, have *store.Embedding) (*store.Embedding, error) {
	switch {
	case b.Embedding == nil, have != nil && *have == *b.Embedding:
		return nil, nil
	case have != nil && !b.Reembed:
		return nil, fmt.Errorf("%w: the partition holds vectors of %s with %d dimensions, the batch those of %s with %d: re-embed the partition",
			backends.ErrDimension, have.Model, have.Dim, b.Embedding.Model, b.Embedding.Dim)
	}
	space := *b.Embedding
	return &space, nil
}

// Touched lists the ids that planning b may read, each once, in the order of the
// mutations, so that a store can read them in one call.
func Touched(b *store.Batch) []string {
	out := make([]string, 0, len(b.Mutations))
	seen := make(map[string]struct{}, len(b.Mutations))
	add := func(id string) {
		if _, ok := seen[id]; !ok {
			seen[id] = struct{}{}
			out = append(out, id)
		}
	}
	for i := range b.Mutations {
		m := &b.Mutations[i]
		if m.Op != store.OpPut {
			add(m.ID)
		}
		if m.Op == store.OpPut || m.Op == store.OpSupersede {
			add(m.Record.ID)
		}
	}
	return out
}
