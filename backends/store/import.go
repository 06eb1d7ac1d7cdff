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
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// Import reads an [Export] of any store into another store: the same memories, histories,
// sessions and blobs in the same order, under the same ids. Data that the store already
// holds stays as it is; a difference is ErrConflict. An export leaves out leases,
// idempotency keys and tombstones: see [Transfer].
//
// whose names the owner of the export; the zero partition takes any owner. Import writes
// their own partition, and the user's part of workspaces and agents in the namespace. A
// line of another user in such a part is ErrInvalid. Each partition of the stream is passed
// to [ImportOptions].Open first, and begins with its present epoch. A person who was
// forgotten may be imported anew, and one who is forgotten meanwhile is ErrForgotten.
//
// The store assigns all numbers anew. Versions follow the order of the lines. Events have
// none, because they happened elsewhere. Messages get the next numbers of the store's log.
//
// ErrInvalid names the first line that is out of place in such an export. An export that was
// cut off is ErrInvalid too, and the lines before the cut are imported. After an error
// repeat the call: it writes the missing rest. Import holds one line at a time, and some
// megabytes beside the longest line.
func Import(ctx context.Context, s Store, whose backends.Partition, r io.Reader, o *ImportOptions) (TransferCount, error) {
	i := &importer{to: s, whose: whose, ImportOptions: *cmp.Or(o, &ImportOptions{})}
	err := i.all(ctx, r)
	return i.done, err
}

// ImportOptions say what an [Import] may write. Nil is the zero value.
type ImportOptions struct {
	// Open is called with each partition that a line names, before its content is read or
	// written. An error ends the import, and names the line. Optional. Defaults to all.
	Open func(ctx context.Context, p backends.Partition) error
	// Memory changes a memory and its history to the form that a write would have stored,
	// or refuses it. The mutation m is a Restore, and space the space of its vector, nil
	// without one. It must keep its own result as it is. Optional. Defaults to the
	// original.
	Memory func(ctx context.Context, p backends.Partition, m *Mutation, space *Embedding) error
	// Message does the same for an entry of a log. Optional. Defaults to the original.
	Message func(ctx context.Context, p backends.Partition, e *Entry) error
	// Learn keeps pending messages of the source pending, so that they are learnt from.
	// The default teaches nothing from an imported session. Optional.
	Learn   bool
	MaxLine int // Optional. Of a line, in bytes. Defaults to 32 MiB; a longer one is ErrInvalid.
}

// Admitting returns o with admit before o.Memory. o may be nil.
func (o *ImportOptions) Admitting(admit func(context.Context, backends.Partition, *Mutation, *Embedding) error) *ImportOptions {
	out := *cmp.Or(o, &ImportOptions{})
	then := out.Memory
	out.Memory = func(ctx context.Context, p backends.Partition, m *Mutation, space *Embedding) error {
		err := admit(ctx, p, m, space)
		if err == nil && then != nil {
			err = then(ctx, p, m, space)
		}
		return err
	}
	return &out
}

const (
	defaultLine = 32 << 20
	heldBytes   = 1 << 20 // of lines that are written together
)

// importer is a call of Import. Memories and messages are written by the page.
type importer struct {
	ImportOptions
	ctx   context.Context
	to    Store
	whose backends.Partition
	dry   bool // write nothing: missing data is a difference
	done  TransferCount

	found   TransferCount // the content of the lines
	ended   bool
	p       backends.Partition
	space   *Embedding // of the vectors
	held    int        // bytes of the pending lines
	records []Mutation // the pending records
	session *Session   // the session that is being read
	whole   bool       // the export has the session as a whole
	seq     int64      // of the session's last message
	pending []Entry    // the pending messages of the session
}

// all reads an export.
func (i *importer) all(ctx context.Context, r io.Reader) error {
	i.ctx, i.MaxLine = ctx, cmp.Or(i.MaxLine, defaultLine)
	in := bufio.NewScanner(r)
	in.Buffer(nil, i.MaxLine)
	var err error
	n := 1
	for err == nil && in.Scan() && in.Err() == nil { // a stream that fails ends in the middle of a line
		if err = i.read(in.Bytes()); err == nil {
			n++
		}
	}
	switch err = cmp.Or(err, in.Err()); {
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("%w: longer than %d bytes: see ImportOptions.MaxLine", backends.ErrInvalid, i.MaxLine)
	case err == nil && !i.ended:
		err = fmt.Errorf("%w: the last line is missing: the export was cut off", backends.ErrInvalid)
	}
	if err != nil {
		err = fmt.Errorf("import, line %d: %w", n, err)
	}
	return err
}

func (i *importer) read(text []byte) error {
	l := &line{}
	if !utf8.Valid(text) { // the decoder silently replaces invalid UTF-8
		return fmt.Errorf("%w: not UTF-8", backends.ErrInvalid)
	}
	if err := json.Unmarshal(text, l); err != nil {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	count := i.found.counter(l)
	switch {
	case i.ended:
		return fmt.Errorf("%w: it stands behind the end", backends.ErrInvalid)
	case l.Partition == nil && i.found.Partitions == 0:
		return fmt.Errorf("%w: the first line names no partition: this is not an export", backends.ErrInvalid)
	case count != nil:
		*count++
		return i.take(l, len(text))
	case l.End == nil:
		return fmt.Errorf("%w: it is not a line of an export", backends.ErrInvalid)
	}
	err := i.flush()
	if err == nil && i.found != *l.End {
		err = fmt.Errorf("%w: it says %+v, and the lines before it hold %+v", backends.ErrInvalid, *l.End, i.found)
	}
	i.ended = true
	return err
}

// take imports the content of a line of so many bytes.
func (i *importer) take(l *line, size int) error {
	if l.Memory == nil && l.Message == nil {
		if err := i.flush(); err != nil {
			return err
		}
	}
	i.held += size
	switch {
	case l.Partition != nil:
		return i.partition(l)
	case l.Memory != nil:
		return i.memory(Restore(l.Memory.ID, &Record{Memory: *l.Memory, Vector: l.Vector}, l.Events))
	case l.Deleted != "":
		return i.memory(Restore(l.Deleted, nil, l.Events))
	case l.Session != nil:
		return i.begin(l.Session, !l.Share)
	case l.Message != nil:
		return i.message(l.Message)
	}
	return i.blob(l.Blob)
}

// partition begins the partition of the user, or a part of another one.
func (i *importer) partition(l *line) (err error) {
	first := i.p == (backends.Partition{})
	i.p, i.space = *l.Partition, l.Embedding
	if first && i.whose == (backends.Partition{}) {
		i.whose = i.p
	}
	switch {
	case l.Version != exportVersion:
		return fmt.Errorf("%w: it has version %d, and this code reads version %d", backends.ErrInvalid, l.Version, exportVersion)
	case first && i.p != i.whose, !first && (!l.Share || i.p.Namespace != i.whose.Namespace || i.p.Kind == backends.PartitionUser):
		return fmt.Errorf("%w: %s is not of the export of %s", backends.ErrInvalid, i.p, i.whose)
	}
	i.done.Partitions++
	if err = cmp.Or(i.p.Validate(), (&Batch{Embedding: i.space}).Validate()); err == nil && i.Open != nil {
		err = i.Open(i.ctx, i.p)
	}
	if err == nil {
		i.ctx, err = Begin(i.ctx, i.to, i.p)
	}
	return err
}

// own returns ErrInvalid for another user's data in a part of another partition.
func (i *importer) own(what, id string, users ...string) error {
	if i.p == i.whose || slices.Equal(users, []string{i.whose.ID}) {
		return nil
	}
	return fmt.Errorf("%w: %s %q does not belong to %s, the owner of the export", backends.ErrInvalid, what, id, i.whose)
}

// admit changes a mutation to the form that a write would have stored.
func (i *importer) admit(m *Mutation) error {
	for n := range m.Events {
		m.Events[n].Version = 0
		if err := i.own("the history of memory", m.ID, m.Events[n].Users...); err != nil {
			return err
		}
	}
	if m.Record != nil {
		m.Record.Version = 0
		if err := i.own("memory", m.ID, m.Record.From()...); err != nil {
			return err
		}
	}
	if i.Memory != nil {
		if err := i.Memory(i.ctx, i.p, m, i.space); err != nil {
			return err
		}
	}
	return m.validate()
}

// memory takes a memory, or a deleted one, which is written at once.
func (i *importer) memory(m Mutation) error {
	if err := i.admit(&m); err != nil {
		return err
	}
	if i.records = append(i.records, m); m.Record != nil && len(i.records) < transferPage && i.held < heldBytes {
		return nil
	}
	return i.restore()
}

// flush writes the pending data, and ends the session that was read.
func (i *importer) flush() error {
	err := i.restore()
	if err == nil && i.session != nil {
		err = i.end()
	}
	return err
}

// restore writes the pending records. It skips records that the store holds; those must
// be the same.
func (i *importer) restore() error {
	all, b, wrote := i.records, &Batch{}, i.done
	if i.records, i.held = nil, 0; len(all) == 0 {
		return nil
	}
	held, err := i.holds(all)
	if err != nil {
		return err
	}
	for n := range all {
		m := &all[n]
		if there, ok := held[m.ID]; ok {
			err = i.admit(&there)
			if err != nil || !same(there.Record, m.Record) || m.Record == nil && !same(there.Events, m.Events) {
				return differs("memory", m.ID)
			}
			continue
		}
		if m.Record == nil {
			wrote.Deleted++
		} else if wrote.Records++; len(m.Record.Vector) > 0 {
			b.Embedding = i.space
		}
		b.Mutations = append(b.Mutations, *m)
	}
	switch {
	case len(b.Mutations) == 0:
		return nil
	case i.dry:
		return differs("memory", b.Mutations[0].ID)
	}
	if _, err = i.to.Apply(i.ctx, i.p, b); err == nil {
		i.done = wrote
	}
	return err
}

// holds returns the form in which the store holds memories, or a deleted one, which comes alone.
func (i *importer) holds(all []Mutation) (map[string]Mutation, error) {
	held := map[string]Mutation{}
	if one := &all[0]; one.Record == nil {
		events, err := i.to.History(i.ctx, i.p, one.ID)
		if len(events) > 0 {
			held[one.ID] = Restore(one.ID, nil, events)
		}
		return held, err
	}
	ids := make([]string, len(all))
	for n := range all {
		ids[n] = all[n].ID
	}
	have, err := i.to.Get(i.ctx, i.p, ids...)
	for n := range have {
		held[have[n].ID] = Restore(have[n].ID, &have[n], nil)
	}
	return held, err
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

// differs is the error for data that the store holds in another form.
func differs(what, name string) error {
	return fmt.Errorf("%s %q: %w: source and target are not the same: stop all writers and repeat; "+
		"if nothing in the target is needed, drop the partition there first", what, name, backends.ErrConflict)
}

// same compares two values as stores write them.
func same(a, b any) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}
