// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Import reads what [Export] wrote, from whichever store, into another: the same memories,
// histories, sessions and blobs in the same order, under the same ids. What the store holds
// already stays as it is; it is ErrConflict if it differs. Leases, idempotency keys and
// tombstones are not in an export: see [Transfer].
//
// whose says whose export it must be; the zero partition takes anybody's. Besides their own
// partition only parts of workspaces and agents of the namespace are written, and in these
// only what is the user's: a line that names another user there is ErrInvalid. Each
// partition of the stream is passed to [ImportOptions].Open first.
//
// ErrInvalid names the line that is no line of such an export; an export that was cut off is
// ErrInvalid too, with what came before it imported. After an error repeat the call: it
// writes what is missing.
func Import(ctx context.Context, s Store, whose backends.Partition, r io.Reader, o *ImportOptions) (TransferCount, error) {
	i := &importer{to: s, whose: whose}
	if o != nil {
		i.ImportOptions = *o
	}
	err := i.all(ctx, r)
	return i.done, err
}

// ImportOptions say what an [Import] may write. Nil is the zero value.
type ImportOptions struct {
	// Open is called with each partition that a line names, before anything in it is read
	// or written. Its error ends the import, and names the line. Optional. Defaults to all.
	Open func(ctx context.Context, p backends.Partition) error
}

// importer is a call of Import. Memories and messages are written by the page.
type importer struct {
	ImportOptions
	ctx   context.Context
	to    Store
	whose backends.Partition
	dry   bool // write nothing: what is missing differs
	done  TransferCount

	found   TransferCount // what the lines held
	ended   bool
	p       backends.Partition
	space   *Embedding // of the vectors
	records []Mutation // that are not written yet
	session *Session   // whose log is read
	whole   bool       // it is in the export as a whole
	pending []Entry    // of its messages, that are not written yet
}

// all reads an export.
func (i *importer) all(ctx context.Context, r io.Reader) error {
	i.ctx = ctx
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		switch {
		case len(text) == 0 && errors.Is(err, io.EOF) && i.ended:
			return nil
		case len(text) == 0 && errors.Is(err, io.EOF):
			err = fmt.Errorf("%w: the last line is missing: the export was cut off", backends.ErrInvalid)
		case err == nil, errors.Is(err, io.EOF):
			err = i.read(text)
		}
		if err != nil {
			return fmt.Errorf("import, line %d: %w", n, err)
		}
	}
}

func (i *importer) read(text []byte) error {
	l := &line{}
	if err := json.Unmarshal(text, l); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	count := i.found.counter(l)
	switch {
	case i.ended:
		return fmt.Errorf("%w: it stands behind the end", backends.ErrInvalid)
	case l.Partition == nil && i.found.Partitions == 0:
		return fmt.Errorf("%w: the first line names no partition: it is no export", backends.ErrInvalid)
	case count != nil:
		*count++
	case l.End == nil:
		return fmt.Errorf("%w: it holds nothing of an export", backends.ErrInvalid)
	}
	if l.Memory == nil && l.Message == nil {
		if err := i.flush(); err != nil {
			return err
		}
	}
	switch {
	case l.Partition != nil:
		return i.partition(l)
	case l.Memory != nil:
		err := cmp.Or(i.own("memory "+l.Memory.ID, l.Memory.From()...), i.ownEvents(l.Memory.ID, l.Events))
		if err != nil {
			return err
		}
		return i.memory(Restore(l.Memory.ID, &Record{Memory: *l.Memory, Vector: l.Vector}, l.Events))
	case l.Deleted != "":
		if err := i.ownEvents(l.Deleted, l.Events); err != nil {
			return err
		}
		return i.deleted(l.Deleted, l.Events)
	case l.Session != nil:
		i.session, i.whole = l.Session, !l.Share
		if l.Share { // several users'
			l.Session.Scope.UserID = ""
			return nil
		}
		return i.own("session "+l.Session.ID, l.Session.Scope.UserID)
	case l.Message != nil:
		return i.message(l.Message)
	case l.Blob != nil:
		return i.blob(l.Blob)
	case i.found != *l.End:
		return fmt.Errorf("%w: it says %+v, and the lines before it hold %+v", backends.ErrInvalid, *l.End, i.found)
	}
	i.ended = true
	return nil
}

// partition begins the partition of the user, or a part of another one.
func (i *importer) partition(l *line) error {
	first := i.found.Partitions == 1
	i.p, i.space = *l.Partition, l.Embedding
	if first && i.whose == (backends.Partition{}) {
		i.whose = i.p
	}
	switch {
	case l.Version != exportVersion:
		return fmt.Errorf("%w: it is of version %d, and this code reads version %d", backends.ErrInvalid, l.Version, exportVersion)
	case first && i.p != i.whose, !first && (!l.Share || i.p.Namespace != i.whose.Namespace || i.p.Kind == backends.PartitionUser):
		return fmt.Errorf("%w: %s is not of the export of %s", backends.ErrInvalid, i.p, i.whose)
	}
	i.done.Partitions++
	err := i.p.Validate()
	if err == nil && i.Open != nil {
		err = i.Open(i.ctx, i.p)
	}
	return err
}

// own returns ErrInvalid for what is not the user's in a part of another partition.
func (i *importer) own(what string, users ...string) error {
	if i.p == i.whose || slices.Equal(users, []string{i.whose.ID}) {
		return nil
	}
	return fmt.Errorf("%w: %s is not of %s, whose export it is", backends.ErrInvalid, what, i.whose)
}

// ownEvents is own for a history.
func (i *importer) ownEvents(id string, events []backends.Event) (err error) {
	for n := range events {
		err = cmp.Or(err, i.own("the history of memory "+id, events[n].Users...))
	}
	return err
}

func (i *importer) memory(m Mutation) error {
	if i.records = append(i.records, m); len(i.records) < transferPage {
		return nil
	}
	return i.restore()
}

func (i *importer) message(e *Entry) error {
	if i.session == nil {
		return fmt.Errorf("%w: a message before any session", backends.ErrInvalid)
	}
	if err := i.own("message "+e.ID, cmp.Or(e.UserID, i.session.Scope.UserID)); err != nil {
		return err
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

// append writes the messages that are pending, but for those that the store has: they must
// be the same.
func (i *importer) append() error {
	s, entries := i.session, i.pending
	i.pending = nil
	have, err := i.to.Session(i.ctx, i.p, s.ID)
	none := errors.Is(err, backends.ErrNotFound)
	if none {
		have, err = &Session{}, nil
	}
	if err == nil && i.whole && len(entries) > 0 {
		var there []Entry
		there, err = i.to.Read(i.ctx, i.p, s.ID, Range{After: entries[0].Seq - 1, Upto: entries[len(entries)-1].Seq})
		if len(there) > 0 && !same(there, entries[:len(there)]) {
			return differs("log of session", s.ID)
		}
		entries = entries[len(there):]
	}
	switch {
	case err != nil, len(entries) == 0 && !none:
		return err
	case i.dry:
		return differs("session", s.ID)
	}
	learnt := len(entries) == 0 || i.learnt(&entries[0])
	after, err := i.to.Append(i.ctx, i.p, s.ID, &Append{Entries: entries, Scope: s.Scope, Learnt: learnt})
	if err != nil {
		return err
	}
	i.done.Messages += int(after.LastSeq - have.LastSeq)
	if none {
		i.done.Sessions++
	}
	return nil
}

// flush writes what is pending, and ends the session that was read.
func (i *importer) flush() error {
	if err := i.restore(); err != nil || i.session == nil {
		return err
	}
	s := i.session
	err := i.append() // also of a session without messages
	i.session = nil
	if err != nil || !i.whole {
		return err
	}
	have, err := i.to.Session(i.ctx, i.p, s.ID)
	if err != nil {
		return err
	}
	source, target := s, have
	if i.dry {
		source, target = have, s
	}
	missing := same(settings(target), settings(&Session{ID: s.ID})) // they are written last
	switch {
	case target.Watermark != min(target.LastSeq, source.Watermark) || !i.dry && target.LastSeq != source.LastSeq:
		return differs("session", s.ID)
	case same(settings(target), settings(source)), i.dry && missing:
		return nil
	case !missing:
		return differs("session", s.ID)
	}
	_, err = i.to.Update(i.ctx, i.p, settings(source))
	return err
}

// restore writes the records that are pending, but for those that the store holds: they
// must be the same but for their versions.
func (i *importer) restore() error {
	all := i.records
	if i.records = nil; len(all) == 0 {
		return nil
	}
	ids := make([]string, len(all))
	for n := range all {
		ids[n] = all[n].ID
	}
	have, err := i.to.Get(i.ctx, i.p, ids...)
	if err != nil {
		return err
	}
	b := &Batch{Embedding: i.space}
	for _, m := range all {
		if len(have) == 0 || have[0].ID != m.ID {
			b.Mutations = append(b.Mutations, m)
			continue
		}
		if have[0].Version = m.Record.Version; !same(have[0], m.Record) {
			return differs("memory", m.ID)
		}
		have = have[1:]
	}
	return i.apply(b, &i.done.Records)
}

// apply restores what is missing.
func (i *importer) apply(b *Batch, count *int) error {
	if len(b.Mutations) == 0 {
		return nil
	}
	if i.dry {
		return differs("memory", b.Mutations[0].ID)
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
	case errors.Is(err, backends.ErrNotFound) && !i.dry:
		i.done.Blobs++
		return i.to.PutBlob(i.ctx, i.p, b.Session, b.Name, b.Data)
	case errors.Is(err, backends.ErrNotFound), err == nil && !bytes.Equal(b.Data, have):
		return differs("blob", b.Name)
	}
	return err
}

// differs is the error for something that the store holds in another form.
func differs(what, name string) error {
	return fmt.Errorf("%s %q: %w: source and target are not the same: stop all writers and repeat; "+
		"if nothing in the target is needed, drop the partition there first", what, name, backends.ErrConflict)
}

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
