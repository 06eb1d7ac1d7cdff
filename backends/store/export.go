// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/einomem/einomem/backends"
)

// exportVersion is the version of the format of [Export].
const exportVersion = 1

// line is a line of an export. One of its fields is set.
type line struct {
	// Partition begins the content of a partition. Share marks a partition that is not
	// the user's own: the lines hold only what came from the user.
	Partition *backends.Partition `json:"partition,omitempty"`
	Share     bool                `json:"share,omitempty"`
	Version   int                 `json:"export_version,omitempty"`
	Embedding *Embedding          `json:"embedding,omitempty"` // the space of the vectors in it

	Memory  *backends.Memory `json:"memory,omitempty"`
	Vector  []byte           `json:"vector,omitempty"` // of the memory, in base64
	Deleted string           `json:"deleted,omitempty"`
	Events  []backends.Event `json:"events,omitempty"` // of the memory or the deleted one, oldest first

	Session *Session  `json:"session,omitempty"`
	Message *Entry    `json:"message,omitempty"` // of the session before it
	Blob    *blobLine `json:"blob,omitempty"`

	End *TransferCount `json:"end,omitempty"` // the last line: the counts of all lines before it
}

type blobLine struct {
	Session string `json:"session"`
	Name    string `json:"name"`
	Data    []byte `json:"data"`
}

// counter returns the counter of a line's kind; nil for the end and for an unknown line.
func (n *TransferCount) counter(l *line) *int {
	switch {
	case l.Partition != nil:
		return &n.Partitions
	case l.Memory != nil:
		return &n.Records
	case l.Deleted != "":
		return &n.Deleted
	case l.Session != nil:
		return &n.Sessions
	case l.Message != nil:
		return &n.Messages
	case l.Blob != nil:
		return &n.Blobs
	}
	return nil
}

// Export writes all data of a user, an agent or a workspace: one JSON object a line.
// [Import] reads it into any store. The export of a user has their partition, and from every
// workspace and agent of the namespace the data that came from this user alone.
//
// The first line of a partition is {"partition", "export_version", "embedding"}; "share"
// marks a part of a partition. Then come {"memory", "vector", "events"} in the order of their
// changes; {"deleted", "events"} for deleted memories; {"session"}, followed by a {"message"}
// for each of its log; and {"blob"}. Memories, events, sessions and messages have the fields
// of the types of packages backends and store. The last line is {"end"}, with counts; an
// export that lacks it was cut off.
//
// Stop all writers first: each page has the state of its own reading, and a memory that
// changes meanwhile is written once. ErrConflict if the partition is dropped meanwhile.
// Export holds a page of the store at a time, however slowly w takes it.
func Export(ctx context.Context, s Store, p backends.Partition, w io.Writer) (TransferCount, error) {
	return export(ctx, s, p, w, true)
}

// export writes a partition, and for a user the shares if they are asked for.
func export(ctx context.Context, s Store, p backends.Partition, w io.Writer, shares bool) (TransferCount, error) {
	out := bufio.NewWriter(w)
	x := &exporter{holdings: holdings{ctx, s, p}, out: json.NewEncoder(out)}
	x.out.SetEscapeHTML(false)
	err := p.Validate()
	if err == nil {
		err = x.partition(p)
	}
	if err == nil && shares {
		err = x.others(x.partition)
	}
	if err == nil {
		err = x.out.Encode(&line{End: &x.done})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		err = fmt.Errorf("exporting %s: %w", p, err)
	}
	return x.done, err
}

// exporter is a call of Export. It writes the data that a Forget would erase.
type exporter struct {
	holdings
	out   *json.Encoder
	heads []*line // of the partition and the session, until their first content is written
	done  TransferCount
}

func (x *exporter) write(l *line) error {
	lines := append(x.heads, l)
	x.heads = nil
	for _, l := range lines {
		*x.done.counter(l)++
		if err := x.out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// alone reports whether data of a partition came from this user alone.
func (x *exporter) alone(p backends.Partition, users []string) bool {
	return p == x.p || slices.Equal(users, []string{x.p.ID})
}

// partition writes the user's data in a partition. Their own partition is named even if it is
// empty.
func (x *exporter) partition(p backends.Partition) error {
	err := x.eachRecord(p, func(space *Embedding) error {
		x.heads = nil
		head := &line{Partition: &p, Share: p != x.p, Version: exportVersion, Embedding: space}
		if p == x.p {
			return x.write(head)
		}
		x.heads = []*line{head}
		return nil
	}, func(r *Record) error {
		if !x.alone(p, r.From()) {
			return nil
		}
		events, err := x.s.History(x.ctx, p, r.ID)
		if err != nil {
			return err
		}
		return x.write(&line{Memory: &r.Memory, Vector: r.Vector, Events: events})
	})
	if err != nil {
		return err
	}
	err = x.deleted(p, func(id string, events []backends.Event) error {
		if slices.ContainsFunc(events, func(e backends.Event) bool { return !x.alone(p, e.Users) }) {
			return nil
		}
		return x.write(&line{Deleted: id, Events: events})
	})
	if err == nil {
		err = x.eachSession(p, func(s Session) error { return x.session(p, s) })
	}
	if err != nil || p != x.p {
		return err
	}
	return Each(func(page Page) (*IDPage, error) { return x.s.BlobSessions(x.ctx, p, page) }, x.blobs)
}

// session writes a session; from a session of several users, the messages of the user.
func (x *exporter) session(p backends.Partition, s Session) error {
	if p == x.p || s.Scope.UserID == x.p.ID {
		if err := x.write(&line{Session: &s}); err != nil {
			return err
		}
		return x.eachEntry(p, s.ID, func(e *Entry) error { return x.write(&line{Message: e}) })
	}
	outer := x.heads
	x.heads = append(outer, &line{Session: &Session{Partition: p, ID: s.ID, Scope: s.Scope}, Share: true})
	err := x.eachEntry(p, s.ID, func(e *Entry) error {
		if e.Erased || e.UserID != x.p.ID {
			return nil
		}
		own := *e
		own.Seq = 0 // the numbers between them belong to others
		return x.write(&line{Message: &own})
	})
	if x.heads != nil { // the user has no message here
		x.heads = outer
	}
	return err
}

// blobs writes the blobs of a session.
func (x *exporter) blobs(session string) error {
	return x.eachBlob(x.p, session, func(b BlobInfo) error {
		data, err := x.s.GetBlob(x.ctx, x.p, session, b.Name)
		if err != nil {
			return err
		}
		return x.write(&line{Blob: &blobLine{session, b.Name, data}})
	})
}
