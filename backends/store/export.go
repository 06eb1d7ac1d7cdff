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

// line is a line of an export: one of its fields.
type line struct {
	// Partition begins what a partition holds. Of others than the person's own it is what
	// came from the person: Share.
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

	End *TransferCount `json:"end,omitempty"` // the last line: what stands before it
}

type blobLine struct {
	Session string `json:"session"`
	Name    string `json:"name"`
	Data    []byte `json:"data"`
}

// Export writes all that a store holds of a user, an agent or a workspace: one JSON object a
// line, which [Import] reads into any store. Of a user that is their partition and, of every
// workspace and agent of the namespace, what came from them and from no other user.
//
// The first line of a partition is {"partition", "export_version", "embedding"}; "share" says
// that it is a part. Then come {"memory", "vector", "events"} in the order of their
// changes; {"deleted", "events"} for memories that were deleted; {"session"}, followed by
// a {"message"} for each of its log; and {"blob"}. Memories, events, sessions and messages
// have the fields of the types of packages backends and store. The last line is {"end"},
// with counts: without it the export is cut off.
//
// Nothing should write meanwhile: each page is as it was when it was read.
func Export(ctx context.Context, s Store, p backends.Partition, w io.Writer) (TransferCount, error) {
	out := bufio.NewWriter(w)
	x := &export{holdings: holdings{ctx, s, p}, out: json.NewEncoder(out)}
	x.out.SetEscapeHTML(false)
	err := x.whole(x.others)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		err = fmt.Errorf("exporting %s: %w", p, err)
	}
	return x.done, err
}

// export is a call of Export. It writes what a Forget would erase.
type export struct {
	holdings
	out  *json.Encoder
	head *line // of the partition, until something of it is written
	done TransferCount
}

// whole writes the partition, then what is more, and the end.
func (x *export) whole(more ...func(do func(backends.Partition) error) error) error {
	err := x.p.Validate()
	if err == nil {
		err = x.partition(x.p)
	}
	for _, others := range more {
		if err == nil {
			err = others(x.partition)
		}
	}
	if err == nil {
		err = x.out.Encode(&line{End: &x.done})
	}
	return err
}

func (x *export) write(count *int, l *line) error {
	*count++
	if err := x.begin(); err != nil {
		return err
	}
	return x.out.Encode(l)
}

// alone reports whether what is in a partition came from the person and from no other.
func (x *export) alone(p backends.Partition, users []string) bool {
	return p == x.p || slices.Equal(users, []string{x.p.ID})
}

// begin writes the head of the partition, once.
func (x *export) begin() error {
	head := x.head
	if x.head = nil; head == nil {
		return nil
	}
	return x.write(&x.done.Partitions, head)
}

func (x *export) partition(p backends.Partition) error {
	x.head = &line{Partition: &p, Share: p != x.p, Version: exportVersion}
	if err := x.memories(p); err != nil {
		return err
	}
	if p == x.p { // it is named even if it holds nothing
		if err := x.begin(); err != nil {
			return err
		}
	}
	if err := x.deleted(p, func(id string, events []backends.Event) error {
		if slices.ContainsFunc(events, func(e backends.Event) bool { return !x.alone(p, e.Users) }) {
			return nil
		}
		return x.write(&x.done.Deleted, &line{Deleted: id, Events: events})
	}); err != nil {
		return err
	}
	if err := x.sessions(p); err != nil || p != x.p {
		return err
	}
	return x.eachBlobSession(p, func(session string) error {
		return x.eachBlob(p, session, func(name string) error {
			data, err := x.s.GetBlob(x.ctx, p, session, name)
			if err != nil {
				return err
			}
			return x.write(&x.done.Blobs, &line{Blob: &blobLine{session, name, data}})
		})
	})
}

// memories writes the memories of a partition page by page.
func (x *export) memories(p backends.Partition) error {
	seen := map[string]bool{}
	again := func(id string) bool { return seen[id] }
	for cursor := ""; ; {
		set, err := x.s.Changes(x.ctx, p, cursor)
		if err != nil {
			return err
		}
		if set.Reset || slices.ContainsFunc(set.Removed, again) || slices.ContainsFunc(set.Records, func(r Record) bool { return seen[r.ID] }) {
			return fmt.Errorf("%w: %s changes while it is read: stop all writers and repeat", backends.ErrConflict, p)
		}
		if x.head != nil {
			x.head.Embedding = set.Embedding
		}
		for i := range set.Records {
			r := &set.Records[i]
			if seen[r.ID] = true; !x.alone(p, r.From()) {
				continue
			}
			events, err := x.s.History(x.ctx, p, r.ID)
			if err == nil {
				err = x.write(&x.done.Records, &line{Memory: &r.Memory, Vector: r.Vector, Events: events})
			}
			if err != nil {
				return err
			}
		}
		if cursor = set.Cursor; !set.More {
			return nil
		}
	}
}

func (x *export) sessions(p backends.Partition) error {
	return x.eachSession(p, func(s Session) error {
		whole, begun := p == x.p || s.Scope.UserID == x.p.ID, false
		if whole {
			if err := x.write(&x.done.Sessions, &line{Session: &s}); err != nil {
				return err
			}
		}
		return x.eachEntry(p, s.ID, func(e *Entry) error {
			if !whole && (e.Erased || e.UserID != x.p.ID) {
				return nil
			}
			if !whole && !begun {
				begun = true
				if err := x.write(&x.done.Sessions, &line{Session: &Session{Partition: p, ID: s.ID, Scope: s.Scope}, Share: true}); err != nil {
					return err
				}
			}
			out := *e
			if !whole {
				out.Seq = 0 // what stands between them is others'
			}
			return x.write(&x.done.Messages, &line{Message: &out})
		})
	})
}
