// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// TransferOptions say what [Transfer] copies.
type TransferOptions struct {
	Namespace  string               // Optional. Whose partitions are copied. Defaults to backends.DefaultNamespace.
	Partitions []backends.Partition // Optional. Copies these instead of all partitions of Namespace.

	// Progress is called after every write, with the partition that is copied and the
	// counts so far. Optional.
	Progress func(p backends.Partition, done TransferCount)
}

// TransferCount counts what a [Transfer] wrote. What the target held already does not
// count.
type TransferCount struct {
	Partitions int // those that are complete in the target now
	Records    int // memories, with their vectors and histories
	Deleted    int // deleted memories whose histories were copied
	Sessions   int
	Messages   int
	Blobs      int
}

// Transfer copies partitions from one store to another, of any kind: memories with
// their vectors and histories, the histories of deleted memories, sessions with their
// logs, and blobs. Memories, messages and sessions keep their order, and all fields
// but those named below are as in the source.
//
// Stop the agents first: nothing may write to a partition while it is copied. The
// error is ErrConflict if the target holds anything that the source does not, or if
// the source changes meanwhile; nothing in the target is overwritten. To continue a
// transfer that was interrupted, call it again: it writes what is missing, and
// nothing once the copy is complete. One call at a time may copy a partition.
//
// These stay behind: leases (a worker acquires a new one), idempotency keys (let
// retries finish first: a batch repeated on the target is applied there), tombstones,
// and of sessions the Version, Created and Updated. The versions of memories keep
// their order; those that share one in the source may have different ones.
//
// Transfer reads page by page and writes batches of at most a thousand memories. A
// batch that one Apply wrote is held in memory as a whole, because no page splits it.
// To copy partitions in parallel, call it for each.
func Transfer(ctx context.Context, from, to Store, o *TransferOptions) (TransferCount, error) {
	t := &transfer{ctx: ctx, from: from, to: to}
	if o != nil {
		t.options = *o
	}
	if t.options.Partitions != nil {
		err := t.partitions(t.options.Partitions)
		return t.done, err
	}
	namespace := cmp.Or(t.options.Namespace, backends.DefaultNamespace)
	err := eachPage(func(page Page) (string, error) {
		out, err := from.Partitions(ctx, namespace, page)
		if err != nil {
			return "", err
		}
		return out.Next, t.partitions(out.Partitions)
	})
	return t.done, err
}

// transfer is a call of Transfer.
type transfer struct {
	ctx      context.Context
	from, to Store
	options  TransferOptions
	p        backends.Partition // the one that is copied now
	done     TransferCount
}

func (t *transfer) partitions(all []backends.Partition) error {
	for _, t.p = range all {
		for _, step := range []func() error{t.checkRecords, t.checkSessions, t.checkBlobs, t.records, t.deleted, t.sessions, t.blobs} {
			if err := step(); err != nil {
				return fmt.Errorf("transfer %s: %w", t.p, err)
			}
		}
		t.done.Partitions++
	}
	return nil
}

// wrote adds to a count and reports it.
func (t *transfer) wrote(count *int, n int) {
	*count += n
	if t.options.Progress != nil {
		t.options.Progress(t.p, t.done)
	}
}

// differs is the error for something that source and target do not have in common.
func (t *transfer) differs(what string, name string) error {
	return fmt.Errorf("%w: %s %q is not the same in source and target: stop all writers and repeat; "+
		"if nothing in the target is needed, drop the partition there first", backends.ErrConflict, what, name)
}

// transferPage is how many things are read and written together.
const transferPage = 1000

// eachPage calls read for one page after another. It returns the next cursor.
func eachPage(read func(Page) (string, error)) error {
	for page := (Page{Limit: transferPage}); ; {
		next, err := read(page)
		if err != nil || next == "" {
			return err
		}
		page.Cursor = next
	}
}

// eachRecords calls do for all records of a partition, some at a time, oldest change
// first.
func (t *transfer) eachRecords(s Store, do func(some []Record, set *ChangeSet) error) error {
	return eachPage(func(page Page) (string, error) {
		set, err := s.Changes(t.ctx, t.p, page.Cursor)
		if err != nil {
			return "", err
		}
		gone, err := t.to.Get(t.ctx, t.p, set.Removed...)
		if err != nil {
			return "", err
		}
		if set.Reset || len(gone) > 0 {
			return "", t.differs("partition", t.p.String())
		}
		for some := range slices.Chunk(set.Records, transferPage) {
			if err := do(some, set); err != nil {
				return "", err
			}
		}
		if !set.More {
			return "", nil
		}
		return set.Cursor, nil
	})
}

// lacking returns those of the records that the store does not hold. Others must be
// the same but for their versions.
func (t *transfer) lacking(s Store, records []Record) ([]Record, error) {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	have, err := s.Get(t.ctx, t.p, ids...)
	if err != nil {
		return nil, err
	}
	var out []Record
	for i := range records {
		switch {
		case len(have) == 0 || have[0].ID != records[i].ID:
			out = append(out, records[i])
		case !sameRecord(records[i], have[0]):
			return nil, t.differs("memory", records[i].ID)
		default:
			have = have[1:]
		}
	}
	return out, nil
}

func sameRecord(a, b Record) bool {
	a.Version, b.Version = 0, 0
	return bytes.Equal(a.Vector, b.Vector) && same(a.Memory, b.Memory)
}

// same compares two values as stores write them.
func same(a, b any) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

func (t *transfer) checkRecords() error {
	return t.eachRecords(t.to, func(some []Record, _ *ChangeSet) error {
		others, err := t.lacking(t.from, some)
		if err == nil && len(others) > 0 {
			err = t.differs("memory", others[0].ID)
		}
		return err
	})
}

func (t *transfer) records() error {
	return t.eachRecords(t.from, func(some []Record, set *ChangeSet) error {
		todo, err := t.lacking(t.to, some)
		if err != nil || len(todo) == 0 {
			return err
		}
		b := &Batch{Embedding: set.Embedding}
		for i := range todo {
			events, err := t.from.History(t.ctx, t.p, todo[i].ID)
			if err != nil {
				return err
			}
			b.Mutations = append(b.Mutations, Restore(todo[i].ID, &todo[i], events))
		}
		if _, err := t.to.Apply(t.ctx, t.p, b); err != nil {
			return err
		}
		t.wrote(&t.done.Records, len(todo))
		return nil
	})
}

// deleted copies the histories of deleted memories.
func (t *transfer) deleted() error {
	return eachPage(func(page Page) (string, error) {
		ids, err := t.from.Deleted(t.ctx, t.p, page)
		if err != nil {
			return "", err
		}
		b := &Batch{}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids.IDs))) {
			events, err := t.from.History(t.ctx, t.p, id)
			if err != nil {
				return "", err
			}
			have, err := t.to.History(t.ctx, t.p, id)
			switch {
			case err != nil:
				return "", err
			case len(have) == 0:
				b.Mutations = append(b.Mutations, Restore(id, nil, events))
			case !same(have, events):
				return "", t.differs("history", id)
			}
		}
		if len(b.Mutations) == 0 {
			return ids.Next, nil
		}
		if _, err := t.to.Apply(t.ctx, t.p, b); err != nil {
			return "", err
		}
		t.wrote(&t.done.Deleted, len(b.Mutations))
		return ids.Next, nil
	})
}

func (t *transfer) eachSession(s Store, do func(*Session) error) error {
	return eachPage(func(page Page) (string, error) {
		out, err := s.List(t.ctx, SessionQuery{Partition: &t.p, Page: page})
		if err != nil {
			return "", err
		}
		for i := range out.Sessions {
			if err := do(&out.Sessions[i]); err != nil {
				return "", err
			}
		}
		return out.Next, nil
	})
}

// checkSessions lets pass sessions of the target that hold the beginning of the
// source's log, with its settings or with none.
func (t *transfer) checkSessions() error {
	return t.eachSession(t.to, func(have *Session) error {
		want, err := t.from.Session(t.ctx, t.p, have.ID)
		switch {
		case errors.Is(err, backends.ErrNotFound):
			return t.differs("session", have.ID)
		case err != nil:
			return err
		case have.LastSeq > want.LastSeq, have.Watermark != min(have.LastSeq, want.Watermark),
			!same(settings(have), settings(want)) && !same(settings(have), settings(&Session{ID: have.ID})):
			return t.differs("session", have.ID)
		}
		for after := int64(0); after < have.LastSeq; {
			a, err := t.from.Read(t.ctx, t.p, have.ID, Range{After: after, Upto: have.LastSeq, Limit: transferPage})
			if err != nil {
				return err
			}
			b, err := t.to.Read(t.ctx, t.p, have.ID, Range{After: after, Upto: have.LastSeq, Limit: transferPage})
			if err != nil {
				return err
			}
			if len(a) == 0 || !same(a, b) {
				return t.differs("log of session", have.ID)
			}
			after += int64(len(a))
		}
		return nil
	})
}

// settings are what updates set of a session.
func settings(s *Session) *SessionUpdate {
	return &SessionUpdate{Session: s.ID, Title: &s.Title, Summary: &s.Summary, SummaryUpto: &s.SummaryUpto,
		Retry: &s.Retry, Failures: &s.Failures, Expires: &s.Expires}
}

func (t *transfer) sessions() error {
	return t.eachSession(t.from, func(want *Session) error {
		have, err := t.to.Session(t.ctx, t.p, want.ID)
		if errors.Is(err, backends.ErrNotFound) {
			if have, err = t.to.Append(t.ctx, t.p, want.ID, &Append{Scope: want.Scope}); err == nil {
				t.wrote(&t.done.Sessions, 1)
			}
		}
		if err != nil {
			return err
		}
		if err := t.messages(want, have.LastSeq); err != nil || same(settings(have), settings(want)) {
			return err
		}
		_, err = t.to.Update(t.ctx, t.p, settings(want))
		return err
	})
}

// messages appends those after a sequence number. What was learnt from in the source
// is never pending in the target, so that no worker there learns from it again.
func (t *transfer) messages(want *Session, after int64) error {
	for after < want.LastSeq {
		r := Range{After: after, Upto: want.LastSeq, Limit: transferPage}
		learnt := after < want.Watermark
		if learnt {
			r.Upto = want.Watermark
		}
		entries, err := t.from.Read(t.ctx, t.p, want.ID, r)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return t.differs("log of session", want.ID)
		}
		if _, err := t.to.Append(t.ctx, t.p, want.ID, &Append{Entries: entries, Learnt: learnt}); err != nil {
			return err
		}
		after += int64(len(entries))
		t.wrote(&t.done.Messages, len(entries))
	}
	return nil
}

func (t *transfer) eachBlob(s Store, do func(session, name string) error) error {
	return eachPage(func(sessions Page) (string, error) {
		ids, err := s.BlobSessions(t.ctx, t.p, sessions)
		if err != nil {
			return "", err
		}
		for _, id := range ids.IDs {
			err := eachPage(func(page Page) (string, error) {
				blobs, err := s.ListBlobs(t.ctx, t.p, id, "", page)
				if err != nil {
					return "", err
				}
				for _, b := range blobs.Blobs {
					if err := do(id, b.Name); err != nil {
						return "", err
					}
				}
				return blobs.Next, nil
			})
			if err != nil {
				return "", err
			}
		}
		return ids.Next, nil
	})
}

func (t *transfer) checkBlobs() error {
	return t.eachBlob(t.to, func(session, name string) error {
		have, err := t.to.GetBlob(t.ctx, t.p, session, name)
		if err != nil {
			return err
		}
		want, err := t.from.GetBlob(t.ctx, t.p, session, name)
		if errors.Is(err, backends.ErrNotFound) || err == nil && !bytes.Equal(have, want) {
			return t.differs("blob", name)
		}
		return err
	})
}

func (t *transfer) blobs() error {
	return t.eachBlob(t.from, func(session, name string) error {
		if _, err := t.to.GetBlob(t.ctx, t.p, session, name); !errors.Is(err, backends.ErrNotFound) {
			return err // nil: it was copied before
		}
		data, err := t.from.GetBlob(t.ctx, t.p, session, name)
		if err != nil {
			return err
		}
		if err := t.to.PutBlob(t.ctx, t.p, session, name, data); err != nil {
			return err
		}
		t.wrote(&t.done.Blobs, 1)
		return nil
	})
}
