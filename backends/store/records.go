// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
)

// Records keeps memories.
type Records interface {
	// Apply carries out one batch on one partition, wholly or not at all, and returns
	// once it is durable. Every batch with a change raises the partition's version: by
	// one, unless it restores.
	Apply(ctx context.Context, p backends.Partition, b *Batch) (*Applied, error)

	// Get returns the existing records with the given ids, in the order of the ids,
	// whether active, ended or expired.
	Get(ctx context.Context, p backends.Partition, ids ...string) ([]Record, error)

	// Changes returns the changes since cursor, oldest first; an empty cursor means
	// everything. Unknown partitions are empty. Every search calls it first, so an answer
	// without changes must be cheap.
	Changes(ctx context.Context, p backends.Partition, cursor string) (*ChangeSet, error)

	// History returns the events of one memory, oldest first, also after the memory was
	// deleted. The history of an unknown id is empty.
	History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error)

	// Deleted lists the ids of deleted memories that have a history, in any order. An id
	// may come more than once. A page may be short or empty and still have a Next.
	Deleted(ctx context.Context, p backends.Partition, page Page) (*IDPage, error)

	// Drop erases the partition: records, history, idempotency keys, sessions, messages
	// and blobs. Cursors of before see a Reset. The partition's epoch ends: only its name
	// and the name of its new epoch stay, for [KeepEpochs].
	Drop(ctx context.Context, p backends.Partition) (DropCount, error)

	// Fence protects p from late writes with words of a forgotten partition. It makes the calls to
	// p that [Sessions].Epoch names return ErrForgotten if their context holds an ended epoch of the
	// partition of. A store may refuse them even without it. Call it after the Drop, and before the
	// erasure in p.
	Fence(ctx context.Context, p, of backends.Partition) error

	// Partitions lists the partitions of a namespace that hold data. A page may be short
	// or empty and still have a Next. An illegal namespace is ErrInvalid, by [backends.Partition].Validate.
	Partitions(ctx context.Context, namespace string, page Page) (*PartitionPage, error)
}

// Record is a memory as a store keeps it: with the vector for searches.
type Record struct {
	backends.Memory
	// Vector is the encoded embedding. Stores keep its bytes; package recall writes and
	// reads them. Empty when no embedder was configured.
	Vector []byte
}

// Embedding names the space in which a partition's vectors live.
type Embedding struct {
	Model string `json:"model"` // the embedding model's name
	Dim   int    `json:"dim"`
}

// Batch is what Apply carries out atomically.
type Batch struct {
	Mutations []Mutation

	// Key makes the batch idempotent. If the partition knows the key, the batch is
	// skipped and the call returns the first results with Replayed set. A batch that
	// fails leaves its key unused. Keys are kept for at least 30 days, and have at most
	// MaxID bytes. Optional.
	Key string

	// Embedding declares the space of the vectors in the batch. The first one becomes the
	// partition's. Another one later is ErrDimension, unless Reembed is set, which
	// replaces it.
	Embedding *Embedding
	Reembed   bool

	// Session updates a session of the same partition in the same write. If the version
	// or the token is out of date, the whole batch fails with ErrConflict.
	Session *SessionUpdate
}

// Op is the operation of a mutation.
type Op string

// The operations. See the constructors of [Mutation].
const (
	OpPut       Op = "put"
	OpSupersede Op = "supersede"
	OpRetract   Op = "retract"
	OpDelete    Op = "delete"
	OpIncrement Op = "increment"
	OpRestore   Op = "restore"
	OpErase     Op = "erase"
)

// Mutation is one change of one record. Stores set Version, and set Created and
// Updated where they are zero; every other field is stored as given.
type Mutation struct {
	Op     Op
	ID     string  // the record that is superseded, retracted, deleted, incremented, restored or erased
	Record *Record // for OpPut, OpSupersede and OpRestore: the record to write

	// Expect is the version that the existing record must have, else ErrConflict: 0 is
	// any, -1 requires a new id (for OpPut).
	Expect int64

	At    time.Time // for OpRetract: when it ended; zero means now
	Field string    // for OpIncrement: the Metadata key
	Delta float64   // for OpIncrement; an absent value counts as 0

	Events []backends.Event // for OpRestore: the history, oldest first

	// Actor and Role go into the history: they name the author of the change. So do the
	// session and the messages that taught the change. All are optional.
	Actor, Role string
	Session     string
	Messages    []string
}

// MustNotExist is the Expect of a put that creates.
const MustNotExist int64 = -1

// Put writes r, over the record with its id if there is one: the event is added or updated.
// A zero Created takes the value of the record before. A put with the same text counts as
// updated and leaves the history as it is, with two exceptions. A new Supersedes adds an
// event that names it. So does a put that changes whether the record is active: one that
// ends it is superseded or retracted there.
func Put(r *Record) Mutation { return Mutation{Op: OpPut, Record: r} }

// Supersede writes r and hides the record with the given id behind it. The old one keeps
// its text and gets SupersededBy and Invalidated (r.Valid, else r.Observed, else now); r
// gets Supersedes. It returns ErrConflict if the old record is missing or has ended
// already. The history of the old record gets the event superseded. The history of the
// new one gets added or updated, with its Supersedes.
func Supersede(id string, r *Record) Mutation {
	return Mutation{Op: OpSupersede, ID: id, Record: r}
}

// Retract ends the record at a time, and leaves it without a successor. It returns
// ErrConflict if the record is missing. A record that has ended already stays as it is.
func Retract(id string, at time.Time) Mutation { return Mutation{Op: OpRetract, ID: id, At: at} }

// Delete removes the record. Its history stays. Deleting a missing record is harmless,
// unless Expect is set.
func Delete(id string) Mutation { return Mutation{Op: OpDelete, ID: id} }

// Erase removes the record and its history, or the history of a deleted one: only its id
// stays, among the deletions. It counts as deleted even if both were missing. In the same
// batch a Restore may then write a record with another history.
func Erase(id string) Mutation { return Mutation{Op: OpErase, ID: id} }

// Increment adds delta to a number in the record's Metadata, atomically. It returns
// ErrConflict if the record is missing or the value is of another type. It counts as
// updated, and leaves the history as it is.
func Increment(id, field string, delta float64) Mutation {
	return Mutation{Op: OpIncrement, ID: id, Field: field, Delta: delta}
}

// Restore writes the memory with the given id as another store held it, with its history; a
// nil r restores the history of a deleted one. It returns ErrConflict if the record exists.
// Every field is stored as given but Version, which becomes the partition's next one, so
// records keep the order in which they are restored. An event keeps its Version where that
// is one of the partition's. See [Import].
func Restore(id string, r *Record, events []backends.Event) Mutation {
	return Mutation{Op: OpRestore, ID: id, Record: r, Events: events}
}

// Applied is the result of a batch.
type Applied struct {
	Version  int64    // the partition's version after the batch
	Results  []Result // one for each mutation
	Replayed bool     // the key was known: version and results are the first call's
	Session  *Session // the session after the update, if there was one; Replayed: as it is now
}

// Result is the outcome of one mutation.
type Result struct {
	ID    string           `json:"id"`    // of the record written, retracted, deleted, incremented, restored or erased
	Event backends.Outcome `json:"event"` // empty when the record stayed as it was
	Value float64          `json:"value,omitempty"`
}

// ChangeSet is a page of changes. Apply it in order: if Reset, discard all records of the
// partition; then put Records, then remove Removed. A Reset answers a cursor from before a drop,
// once; the empty cursor gets none. If More, call again with Cursor, else keep Cursor for the next
// time. A page holds whole batches, unless a batch restored.
type ChangeSet struct {
	Version   int64 // the partition's version that the page reaches
	Reset     bool
	Records   []Record // written or changed: superseded ones too, ids once a page
	Removed   []string // deleted
	Cursor    string
	More      bool
	Embedding *Embedding // nil until the first vector
}

// IDPage is a page of ids.
type IDPage struct {
	IDs  []string
	Next string // empty on the last page
}

// PartitionPage is a page of partitions.
type PartitionPage struct {
	Partitions []backends.Partition
	Next       string // empty on the last page
}

// PartitionQuery asks for partitions of a namespace: for a kind, which may be empty, whose id has
// a part. The letters A to Z of the part match either case.
type PartitionQuery struct {
	Namespace string
	Kind      backends.PartitionKind
	Part      string
	Page      Page
}

// Finder is implemented by stores that find and count without a walk through all partitions.
type Finder interface {
	// FindPartitions is [Records].Partitions for the partitions that match.
	FindPartitions(ctx context.Context, q PartitionQuery) (*PartitionPage, error)
	// CountFacts counts the active memories of the kinds fact and personal in a namespace.
	CountFacts(ctx context.Context, namespace string) (int64, error)
}

// maxDim is the largest dimension of a vector.
const maxDim = 1 << 16

// MaxBatch is the largest number of mutations in a batch.
const MaxBatch = 100_000

// Validate returns ErrInvalid for a batch that is illegal for every store. Stores call it
// first.
func (b *Batch) Validate() error {
	if b == nil {
		return fmt.Errorf("%w: no batch", backends.ErrInvalid)
	}
	if len(b.Mutations) > MaxBatch {
		return fmt.Errorf("batch of %d mutations: %w: at most %d", len(b.Mutations), backends.ErrInvalid, MaxBatch)
	}
	if b.Key != "" {
		if err := ValidateID("idempotency key", b.Key); err != nil {
			return err
		}
	}
	for i := range b.Mutations {
		if err := b.Mutations[i].validate(); err != nil {
			return fmt.Errorf("mutation %d (%s): %w", i, b.Mutations[i].Op, err)
		}
	}
	if b.Embedding != nil && (b.Embedding.Dim <= 0 || b.Embedding.Dim > maxDim || b.Embedding.Model == "") {
		return fmt.Errorf("embedding %+v: %w: needs a model and a dimension of at most %d", *b.Embedding, backends.ErrInvalid, maxDim)
	}
	if b.Session != nil {
		return b.Session.Validate()
	}
	return nil
}

func (m *Mutation) validate() error {
	switch m.Op {
	case OpPut, OpSupersede:
		if m.Record == nil {
			return fmt.Errorf("%w: no record", backends.ErrInvalid)
		}
		if m.Op == OpSupersede && (m.ID == "" || m.ID == m.Record.ID) {
			return fmt.Errorf("%w: superseding needs the id of another record", backends.ErrInvalid)
		}
		return validateRecord(m.Record)
	case OpRestore:
		return m.validateRestore()
	case OpRetract, OpDelete, OpIncrement, OpErase:
		if m.ID == "" {
			return fmt.Errorf("%w: no id", backends.ErrInvalid)
		}
		if m.Op == OpIncrement && (m.Field == "" || math.IsNaN(m.Delta) || math.IsInf(m.Delta, 0)) {
			return fmt.Errorf("%w: needs a field and a finite number", backends.ErrInvalid)
		}
	default:
		return fmt.Errorf("%w: unknown operation", backends.ErrInvalid)
	}
	return nil
}

func (m *Mutation) validateRestore() error {
	if err := ValidateID("record", m.ID); err != nil {
		return err
	}
	for i := range m.Events {
		e := &m.Events[i]
		if e.MemoryID != m.ID {
			return fmt.Errorf("record %s: %w: an event of record %q", m.ID, backends.ErrInvalid, e.MemoryID)
		}
		for _, text := range []string{e.Old, e.New} {
			if err := validateText("event of record "+m.ID, text); err != nil {
				return err
			}
		}
	}
	switch {
	case m.Record == nil && len(m.Events) == 0:
		return fmt.Errorf("record %s: %w: neither a record nor events to restore", m.ID, backends.ErrInvalid)
	case m.Record == nil:
		return nil
	case m.Record.ID != m.ID:
		return fmt.Errorf("record %s: %w: the record's id is %q", m.ID, backends.ErrInvalid, m.Record.ID)
	}
	return validateRecord(m.Record)
}
