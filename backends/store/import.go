// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
)

// Import reads what [Export] wrote, from whichever store, into another: the same memories,
// histories, sessions and blobs in the same order, under the same ids. What the store holds
// already stays as it is; it is ErrConflict if it differs. Leases, idempotency keys and
// tombstones are not in an export: see [Transfer].
//
// ErrInvalid names the line that is no line of an export; an export that was cut off is
// ErrInvalid too, with what came before it imported. After an error repeat the call: it
// writes what is missing.
func Import(ctx context.Context, s Store, r io.Reader) (TransferCount, error) {
	i := &importer{ctx: ctx, to: s, events: map[string][]backends.Event{}}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if len(text) == 0 && errors.Is(err, io.EOF) {
			if i.end == nil {
				return i.done, fmt.Errorf("import, line %d: %w: the last line is missing: the export was cut off", n, backends.ErrInvalid)
			}
			return i.done, nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = i.read(text)
		}
		if err != nil {
			return i.done, fmt.Errorf("import, line %d: %w", n, err)
		}
	}
}

// importer is a call of Import. Memories and messages are written by the page.
type importer struct {
	ctx  context.Context
	to   Store
	p    backends.Partition
	done TransferCount // what was written

	found   TransferCount               // what the lines held
	space   *Embedding                  // of the vectors
	records []Record                    // that are not written yet,
	events  map[string][]backends.Event // and their histories
	session *Session                    // whose log is read
	whole   bool                        // it is in the export as a whole
	pending []Entry                     // of its messages, that are not written yet
	end     *TransferCount
}

func (i *importer) read(text []byte) error {
	l := &line{}
	if err := json.Unmarshal(text, l); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	switch {
	case i.end != nil:
		return fmt.Errorf("%w: it stands behind the end", backends.ErrInvalid)
	case l.Partition != nil:
		return i.partition(l)
	case i.p == (backends.Partition{}):
		return fmt.Errorf("%w: the first line names no partition: it is no export", backends.ErrInvalid)
	case l.Message != nil:
		return i.message(l.Message)
	case l.Memory != nil:
		return i.memory(&Record{Memory: *l.Memory, Vector: l.Vector}, l.Events)
	}
	if err := i.flush(); err != nil {
		return err
	}
	switch {
	case l.Deleted != "":
		i.found.Deleted++
		return i.deleted(l.Deleted, l.Events)
	case l.Session != nil:
		i.found.Sessions++
		i.session, i.whole = l.Session, !l.Share
		return nil
	case l.Blob != nil:
		i.found.Blobs++
		return i.blob(l.Blob)
	case l.End != nil:
		if i.end = l.End; i.found != *l.End {
			return fmt.Errorf("%w: it says %+v, and the lines before it hold %+v", backends.ErrInvalid, *l.End, i.found)
		}
		return nil
	}
	return fmt.Errorf("%w: it holds nothing of an export", backends.ErrInvalid)
}

func (i *importer) partition(l *line) error {
	if l.Version != exportVersion {
		return fmt.Errorf("%w: it is of version %d, and this code reads version %d", backends.ErrInvalid, l.Version, exportVersion)
	}
	if err := i.flush(); err != nil {
		return err
	}
	i.p, i.space = *l.Partition, l.Embedding
	i.found.Partitions++
	i.done.Partitions++
	return i.p.Validate()
}

func (i *importer) memory(r *Record, events []backends.Event) error {
	i.found.Records++
	i.records = append(i.records, *r)
	if i.events[r.ID] = events; len(i.records) < transferPage {
		return nil
	}
	return i.flush()
}

func (i *importer) message(e *Entry) error {
	i.found.Messages++
	if i.session == nil {
		return fmt.Errorf("%w: a message before any session", backends.ErrInvalid)
	}
	if n := len(i.pending); n == transferPage || n > 0 && i.learnt(e) != i.learnt(&i.pending[0]) {
		if err := i.append(); err != nil {
			return err
		}
	}
	i.pending = append(i.pending, *e)
	return nil
}

// learnt reports whether a message was learnt from. Of a share nothing is to be learnt.
func (i *importer) learnt(e *Entry) bool { return !i.whole || e.Seq <= i.session.Watermark }

// append writes the messages that are pending.
func (i *importer) append() error {
	s := i.session
	a := &Append{Entries: i.pending, Scope: s.Scope, Learnt: len(i.pending) == 0 || i.learnt(&i.pending[0])}
	before, err := i.to.Session(i.ctx, i.p, s.ID)
	if errors.Is(err, backends.ErrNotFound) {
		before, err = &Session{}, nil
		i.done.Sessions++
	}
	if err != nil {
		return err
	}
	after, err := i.to.Append(i.ctx, i.p, s.ID, a)
	if err != nil {
		return err
	}
	i.done.Messages += int(after.LastSeq - before.LastSeq)
	i.pending = i.pending[:0]
	return nil
}

// flush writes what is pending, and ends the session that was read.
func (i *importer) flush() error {
	if len(i.records) > 0 {
		if err := i.restore(i.records, i.space); err != nil {
			return err
		}
		i.records = nil
		clear(i.events)
	}
	s := i.session
	if s == nil {
		return nil
	}
	if err := i.append(); err != nil { // also of a session without messages
		return err
	}
	i.session = nil
	if !i.whole {
		return nil
	}
	have, err := i.to.Session(i.ctx, i.p, s.ID)
	if err != nil {
		return err
	}
	if have.LastSeq != s.LastSeq || have.Watermark != s.Watermark {
		return differs("session", s.ID)
	}
	if u := settings(s); !same(settings(have), u) {
		_, err = i.to.Update(i.ctx, i.p, u)
	}
	return err
}

// restore copies the records that the other store does not hold. Those that it does
// must be the same but for their versions.
func (i *importer) restore(records []Record, space *Embedding) error {
	ids := make([]string, len(records))
	for n := range records {
		ids[n] = records[n].ID
	}
	have, err := i.to.Get(i.ctx, i.p, ids...)
	if err != nil {
		return err
	}
	b := &Batch{Embedding: space}
	for n := range records {
		r := &records[n]
		if len(have) > 0 && have[0].ID == r.ID {
			have[0].Version = r.Version
			if !same(have[0], r) {
				return differs("memory", r.ID)
			}
			have = have[1:]
			continue
		}
		b.Mutations = append(b.Mutations, Restore(r.ID, r, i.events[r.ID]))
	}
	return i.apply(b, &i.done.Records)
}

// apply restores what is missing.
func (i *importer) apply(b *Batch, count *int) error {
	if len(b.Mutations) == 0 {
		return nil
	}
	_, err := i.to.Apply(i.ctx, i.p, b)
	if err == nil {
		*count += len(b.Mutations)
	}
	return err
}

// deleted restores the history of a deleted memory that the store does not hold.
func (i *importer) deleted(id string, events []backends.Event) error {
	have, err := i.to.History(i.ctx, i.p, id)
	switch {
	case err != nil:
		return err
	case len(have) == 0:
		return i.apply(&Batch{Mutations: []Mutation{Restore(id, nil, events)}}, &i.done.Deleted)
	case !same(have, events):
		return differs("history of memory", id)
	}
	return nil
}

func (i *importer) blob(b *blobLine) error {
	have, err := i.to.GetBlob(i.ctx, i.p, b.Session, b.Name)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		i.done.Blobs++
		return i.to.PutBlob(i.ctx, i.p, b.Session, b.Name, b.Data)
	case err == nil && !bytes.Equal(b.Data, have):
		return differs("blob", b.Name)
	}
	return err
}

// differs is the error for something that the store holds in another form.
func differs(what, name string) error { return fmt.Errorf("%s %q: %w", what, name, errDiffers) }

// settings are what updates set of a session.
func settings(s *Session) *SessionUpdate {
	return &SessionUpdate{Session: s.ID, Title: &s.Title, Summary: &s.Summary, SummaryUpto: &s.SummaryUpto,
		Retry: &s.Retry, Failures: &s.Failures, Expires: &s.Expires}
}

// same compares two values as stores write them.
func same(a, b any) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}
