// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

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
func Export(ctx context.Context, s Store, p backends.Partition, w io.Writer) (done TransferCount, _ error) {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	x := &walk{ctx: ctx, s: s, owner: p, err: p.Validate()}
	put := func(l *line) error {
		*done.counter(l)++
		return lines.Encode(l)
	}
	x.lines(p, put)
	x.others(func(p backends.Partition) { x.lines(p, put) })
	if x.err == nil && x.ok(lines.Encode(&line{End: &done})) {
		x.err = out.Flush()
	}
	if x.err != nil {
		x.err = fmt.Errorf("exporting %s: %w", p, x.err)
	}
	return done, x.err
}
