// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"strings"

	"github.com/einomem/einomem/backends"
)

// Report is what Verify or Repair found.
type Report struct {
	Partition backends.Partition // zero in a report on the registry
	Looked    Looked
	Total     int // problems found, listed or not
	Fixed     int // of those, what Repair has put right

	// Leftovers counts what is of no use and harms nobody, and what Repair removes:
	// index entries of sessions that have expired, or list entries of partitions that
	// were dropped. They are no problems.
	Leftovers int

	// Problems are the first 1,000 of Total.
	Problems []Problem
}

// Looked counts what was there to look at.
type Looked struct {
	Records    int
	Vectors    int
	Deleted    int // tombstones
	Histories  int
	Keys       int // of idempotency, those of batches without a key included
	Sessions   int
	Messages   int
	Blobs      int
	Partitions int // in a report on the registry: partitions found by their keys
}

// Problem is one thing that is not as it should be.
type Problem struct {
	Key   string // the key on the server
	ID    string // of the record, session or entry; empty when it is the whole key
	What  string // what is wrong
	Fix   string // what Repair does about it; empty: nothing, What says the way out
	Fixed bool   // Repair has done it
}

// OK reports whether nothing is wrong, or nothing any more.
func (r *Report) OK() bool { return r.Total == r.Fixed }

// maxProblems bounds the list of a report.
const maxProblems = 1000

func (r *Report) add(p Problem) {
	r.Total++
	if p.Fixed {
		r.Fixed++
	}
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, p)
	}
}

// Verify compares what a partition holds with its indexes, reads every text, and
// says what is wrong. It changes nothing, and may run while others write: what
// belongs together is read at one moment. Memory is needed for a page at a time.
// What no index of the partition knows, only [Store.VerifyRegistry] finds.
//
// The error is for what could not be read; problems are in the report.
func (s *Store) Verify(ctx context.Context, p backends.Partition) (*Report, error) {
	return s.inspect(ctx, p, false)
}

func (s *Store) inspect(ctx context.Context, p backends.Partition, fix bool) (*Report, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	i := s.inspector("verify "+p.String(), s.keys(p), fix)
	i.p, i.out.Partition = p, p
	if err := i.all(ctx); err != nil {
		return nil, err
	}
	return i.out, nil
}

// inspector looks through one partition and, if fix is set, repairs it.
type inspector struct {
	*Store
	p     backends.Partition
	keys  keys
	doing string
	fix   bool
	out   *Report
}

func (s *Store) inspector(doing string, k keys, fix bool) *inspector {
	return &inspector{Store: s, keys: k, doing: doing, fix: fix, out: &Report{}}
}

// all makes the passes. The version comes first, as the others rest on it, the
// index on the server's side after the records that it follows.
func (i *inspector) all(ctx context.Context) error {
	sound, err := i.types(ctx)
	if err != nil || !sound {
		return err
	}
	for _, pass := range []func(context.Context) error{
		i.count, i.meta, i.records, i.changed, i.vectors, i.history, i.known, i.knownAt, i.sessions, i.near, i.registered,
	} {
		if err := pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// try runs a step of the inspection, again if it fails for a passing reason.
func (i *inspector) try(ctx context.Context, step func() error) error {
	return i.do(ctx, i.doing, step)
}

// finding is what was found of one thing, and how it is mended.
type finding struct {
	id       string // by which the thing is looked at again
	problems []Problem
	leftover bool
	looked   Looked   // what it adds to the report's
	mend     *mending // nil: nothing is done
}

func (f *finding) add(key, what, fix string) {
	f.problems = append(f.problems, Problem{Key: key, ID: f.id, What: strings.Join(strings.Fields(what), " "), Fix: fix})
}

// looks is how often a thing is looked at that changes before it is mended.
const looks = 8

// settle looks at things and mends what it finds. What others have changed in
// between is looked at again.
func (i *inspector) settle(ctx context.Context, ids []string, look func(context.Context, []string) ([]*finding, error)) error {
	for n := 1; len(ids) > 0; n++ {
		var found []*finding
		err := i.try(ctx, func() (err error) {
			found, err = look(ctx, ids)
			return err
		})
		if err != nil {
			return err
		}
		done, err := i.mend(ctx, found)
		if err != nil {
			return err
		}
		ids = nil
		for at, f := range found {
			if i.fix && f.mend != nil && !done[at] && n < looks {
				ids = append(ids, f.id)
				continue
			}
			i.note(f, done[at])
		}
	}
	return nil
}

// note enters a finding into the report.
func (i *inspector) note(f *finding, done bool) {
	if f.leftover {
		i.out.Leftovers++
	}
	i.out.Looked.Sessions += f.looked.Sessions
	i.out.Looked.Messages += f.looked.Messages
	i.out.Looked.Blobs += f.looked.Blobs
	for _, p := range f.problems {
		p.Fixed = done && p.Fix != ""
		i.out.add(p)
	}
}
