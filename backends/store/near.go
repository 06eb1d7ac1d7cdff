// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/einomem/einomem/backends"
)

// Near is an optional ability of a store, discovered by assertion: it keeps an
// index of the vectors of a partition on its own side, so that a partition which
// is too large for a process can be searched without its vectors being loaded.
//
// The index is derived: the records are the truth, and the index follows them by
// itself. It is approximate and finds candidates; who asks scores them by the
// vectors of the records, so that a score means the same with and without it.
type Near interface {
	// Count returns how many records the partition holds, active or not.
	Count(ctx context.Context, p backends.Partition) (int, error)

	// Outline is Changes, with records that lack their vectors. A cursor of one
	// is a cursor of the other.
	Outline(ctx context.Context, p backends.Partition, cursor string) (*ChangeSet, error)

	// Vectors returns the encoded vectors of the records with the given ids, in
	// the order asked for, nil where there is none.
	Vectors(ctx context.Context, p backends.Partition, ids ...string) ([][]byte, error)

	// Nearest returns up to q.Limit active records whose vectors are near to
	// q.Vector, the nearest first. Every record of the partition's current version
	// takes part. ErrUnavailable says that the store cannot: the index has to be
	// built first, which then goes on in the background, or, if it is also
	// [errors.ErrUnsupported], its server lacks the ability. Load the partition
	// instead.
	Nearest(ctx context.Context, p backends.Partition, q *NearestQuery) (*Neighbours, error)
}

// NearestQuery is what Nearest looks for.
type NearestQuery struct {
	Vector []float32 // need not be normalised; a zero vector is ErrInvalid
	Limit  int       // how many at most; at least 1
	// Exact compares with every vector of the index instead of walking its graph.
	Exact bool
	// Embedding is the space of Vector. If it is given, and is not that of the
	// partition, the answer is ErrDimension, so that no index is built by a Decode
	// that reads another space. Optional.
	Embedding *Embedding
	// Decode reads an encoded vector of a record, for an index that has to be
	// built or brought up to date. It may be called by other goroutines, and after
	// Nearest has returned: a store may build its index in the background.
	Decode func(encoded []byte) ([]float32, error)
}

// Neighbours is what Nearest found.
type Neighbours struct {
	IDs []string // the nearest first
	// Cosines are those of the index, -1 to 1, in the order of IDs: approximate
	// where the index is quantised.
	Cosines []float64
	Exact   bool // whether every vector of the index was compared
}
