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
}

// TransferCount counts what a [Transfer] wrote. What the target held already does not
// count.
type TransferCount struct {
	Partitions int `json:"partitions"` // those that are complete in the target now
	Records    int `json:"records"`    // memories, with their vectors and histories
	Deleted    int `json:"deleted"`    // deleted memories whose histories were copied
	Sessions   int `json:"sessions"`
	Messages   int `json:"messages"`
	Blobs      int `json:"blobs"`
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
	namespace := cmp.Or(t.options.Namespace, backends.DefaultNamespace)
	err := each(func(page Page) ([]backends.Partition, string, error) {
		if t.options.Partitions != nil {
			return t.options.Partitions, "", nil
		}
		out, err := from.Partitions(ctx, namespace, page)
		if err != nil {
			return nil, "", err
		}
		return out.Partitions, out.Next, nil
	}, t.partition)
	return t.done, err
}

// transfer is a call of Transfer. Each of its steps makes sure that to has something of
// from: it compares what is there and writes what is missing. A dry run writes nothing:
// something missing is an error. So a dry run from the target to the source proves that
// the target holds a part of the source.
type transfer struct {
	ctx      context.Context
	from, to Store
	history  func(id string) ([]backends.Event, error) // of a memory of from
	dry      bool
	options  TransferOptions
	p        backends.Partition // the one that is copied now
	done     TransferCount
}

func (t *transfer) partition(p backends.Partition) error {
	t.p = p
	check := *t
	check.from, check.to, check.dry = t.to, t.from, true
	for _, of := range []*transfer{t, &check} {
		of.history = func(id string) ([]backends.Event, error) { return of.from.History(of.ctx, p, id) }
	}
	for _, step := range []func() error{
		check.records, check.deleted, check.sessions, check.blobs, t.records, t.deleted, t.sessions, t.blobs,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("transfer %s: %w", p, err)
		}
	}
	t.done.Partitions++
	return nil
}

// write adds n things to the target and to a count.
func (t *transfer) write(what, name string, count *int, n int, do func() error) error {
	if t.dry {
		return t.differs(what, name)
	}
	if err := do(); err != nil {
		return err
	}
	*count += n
	return nil
}

// differs is the error for something that source and target do not have in common.
func (t *transfer) differs(what, name string) error {
	return fmt.Errorf("%w: %s %q is not the same in source and target: stop all writers and repeat; "+
		"if nothing in the target is needed, drop the partition there first", backends.ErrConflict, what, name)
}

// same compares two values as stores write them.
func same(a, b any) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

// transferPage is how many things are read and written together.
const transferPage = 1000

// each calls do for what list returns, page by page with the next cursor.
func each[T any](list func(Page) ([]T, string, error), do func(T) error) error {
	for page := (Page{Limit: transferPage}); ; {
		all, next, err := list(page)
		if err != nil {
			return err
		}
		for i := range all {
			if err := do(all[i]); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		page.Cursor = next
	}
}

// records copies memories with their histories, oldest change first.
func (t *transfer) records() error {
	for cursor := ""; ; {
		set, err := t.from.Changes(t.ctx, t.p, cursor)
		if err != nil {
			return err
		}
		gone, err := t.to.Get(t.ctx, t.p, set.Removed...)
		if err != nil {
			return err
		}
		if set.Reset || len(gone) > 0 { // it changes while it is read
			return t.differs("partition", t.p.String())
		}
		for some := range slices.Chunk(set.Records, transferPage) {
			if err := t.restore(some, set.Embedding); err != nil {
				return err
			}
		}
		if cursor = set.Cursor; !set.More {
			return nil
		}
	}
}

// restore copies the records that the other store does not hold. Those that it does
// must be the same but for their versions.
func (t *transfer) restore(records []Record, space *Embedding) error {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	have, err := t.to.Get(t.ctx, t.p, ids...)
	if err != nil {
		return err
	}
	b := &Batch{Embedding: space}
	for i := range records {
		r := &records[i]
		if len(have) > 0 && have[0].ID == r.ID {
			have[0].Version = r.Version
			if !same(have[0], r) {
				return t.differs("memory", r.ID)
			}
			have = have[1:]
			continue
		}
		events, err := t.history(r.ID)
		if err != nil {
			return err
		}
		b.Mutations = append(b.Mutations, Restore(r.ID, r, events))
	}
	return t.apply("memory", b, &t.done.Records)
}

// apply restores what is missing.
func (t *transfer) apply(what string, b *Batch, count *int) error {
	if len(b.Mutations) == 0 {
		return nil
	}
	return t.write(what, b.Mutations[0].ID, count, len(b.Mutations), func() error {
		_, err := t.to.Apply(t.ctx, t.p, b)
		return err
	})
}

// deleted copies the histories of deleted memories.
func (t *transfer) deleted() error {
	for page := (Page{Limit: transferPage}); ; {
		ids, err := t.from.Deleted(t.ctx, t.p, page)
		if err != nil {
			return err
		}
		b := &Batch{}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids.IDs))) {
			events, err := t.history(id)
			if err == nil {
				err = t.restoreDeleted(b, id, events)
			}
			if err != nil {
				return err
			}
		}
		if err := t.apply("history of memory", b, &t.done.Deleted); err != nil || ids.Next == "" {
			return err
		}
		page.Cursor = ids.Next
	}
}

// restoreDeleted adds to a batch the history of a deleted memory that the other store does
// not hold.
func (t *transfer) restoreDeleted(b *Batch, id string, events []backends.Event) error {
	have, err := t.to.History(t.ctx, t.p, id)
	switch {
	case err != nil:
		return err
	case len(have) == 0:
		b.Mutations = append(b.Mutations, Restore(id, nil, events))
	case !same(have, events):
		return t.differs("history of memory", id)
	}
	return nil
}

func (t *transfer) sessions() error {
	h := holdings{t.ctx, t.from, t.p}
	return h.eachSession(t.p, t.session)
}

// session copies a session. The target may hold the beginning of its log, with its
// settings or with none: they are written last.
func (t *transfer) session(s Session) error {
	have, err := t.to.Session(t.ctx, t.p, s.ID)
	if errors.Is(err, backends.ErrNotFound) {
		err = t.write("session", s.ID, &t.done.Sessions, 1, func() (err error) {
			have, err = t.to.Append(t.ctx, t.p, s.ID, &Append{Scope: s.Scope})
			return err
		})
	}
	if err != nil {
		return err
	}
	source, target := &s, have
	if t.dry {
		source, target = have, &s
	}
	if target.Watermark != min(target.LastSeq, source.Watermark) {
		return t.differs("watermark of session", s.ID)
	}
	if err := t.log(&s, have.LastSeq); err != nil {
		return err
	}
	u := settings(source)
	if same(settings(target), u) || t.dry && same(settings(target), settings(&Session{ID: s.ID})) {
		return nil
	}
	return t.write("session", s.ID, &t.done.Sessions, 0, func() error {
		_, err := t.to.Update(t.ctx, t.p, u)
		return err
	})
}

// settings are what updates set of a session.
func settings(s *Session) *SessionUpdate {
	return &SessionUpdate{Session: s.ID, Title: &s.Title, Summary: &s.Summary, SummaryUpto: &s.SummaryUpto,
		Retry: &s.Retry, Failures: &s.Failures, Expires: &s.Expires}
}

// log compares the log of a session with the messages that the other store has, and
// appends the others. What was learnt from is never pending in the target, so that no
// worker there learns from it again.
func (t *transfer) log(s *Session, have int64) error {
	for after := int64(0); after < s.LastSeq; {
		there, learnt := after < have, after < s.Watermark
		r := Range{After: after, Upto: s.LastSeq, Limit: transferPage}
		switch {
		case there:
			r.Upto = min(have, s.LastSeq)
		case learnt:
			r.Upto = s.Watermark
		}
		entries, err := t.from.Read(t.ctx, t.p, s.ID, r)
		var others []Entry
		if err == nil && there {
			others, err = t.to.Read(t.ctx, t.p, s.ID, r)
		}
		switch {
		case err != nil:
			return err
		case len(entries) == 0 || there && !same(entries, others):
			return t.differs("log of session", s.ID)
		case !there:
			err = t.write("log of session", s.ID, &t.done.Messages, len(entries), func() error {
				_, err := t.to.Append(t.ctx, t.p, s.ID, &Append{Entries: entries, Learnt: learnt})
				return err
			})
		}
		if err != nil {
			return err
		}
		after += int64(len(entries))
	}
	return nil
}

func (t *transfer) blobs() error {
	h := holdings{t.ctx, t.from, t.p}
	return h.eachBlobSession(t.p, func(session string) error {
		return h.eachBlob(t.p, session, func(name string) error {
			data, err := t.from.GetBlob(t.ctx, t.p, session, name)
			if err != nil {
				return err
			}
			return t.blob(session, name, data)
		})
	})
}

// eachBlobSession calls do for the sessions that have blobs.
func (h *holdings) eachBlobSession(p backends.Partition, do func(session string) error) error {
	return each(func(page Page) ([]string, string, error) {
		out, err := h.s.BlobSessions(h.ctx, p, page)
		if err != nil {
			return nil, "", err
		}
		return out.IDs, out.Next, nil
	}, do)
}

// eachBlob calls do for the names of a session's blobs.
func (h *holdings) eachBlob(p backends.Partition, session string, do func(name string) error) error {
	return each(func(page Page) ([]BlobInfo, string, error) {
		out, err := h.s.ListBlobs(h.ctx, p, session, "", page)
		if err != nil {
			return nil, "", err
		}
		return out.Blobs, out.Next, nil
	}, func(b BlobInfo) error { return do(b.Name) })
}

func (t *transfer) blob(session, name string, data []byte) error {
	have, err := t.to.GetBlob(t.ctx, t.p, session, name)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return t.write("blob", name, &t.done.Blobs, 1, func() error { return t.to.PutBlob(t.ctx, t.p, session, name, data) })
	case err == nil && !bytes.Equal(data, have):
		return t.differs("blob", name)
	}
	return err
}
