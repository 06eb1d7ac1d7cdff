// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// mostWrites is how many changes one script writes at most, and mostBytes how
	// much it is sent; nearTurn is how long it is to take: everybody waits for it.
	mostWrites = 64
	mostBytes  = 1 << 20
	nearTurn   = 10 * time.Millisecond
	// nearLinks is M of the graph: how many neighbours a node has.
	nearLinks = 16
	// nearBuildEffort is how many candidates for them an insertion looks at.
	nearBuildEffort = 100
	// hashDigits is the length of the hash in an element's name.
	hashDigits = 16
)

// nearWrite is one change of the index.
type nearWrite struct {
	what    string // add, leave, drop: see near_write.lua
	id      string
	version int64 // of the record; 0: deleted
	hash    string
	vector  []byte
}

// nearWrites are the changes of a page on their way to the index.
type nearWrites struct {
	*indexer
	at   *outlook
	next cursor // after the page
	last bool   // there is no page after it
	list []nearWrite
	good int // vectors of the page that could be read
	bad  int // those that could not
}

// read works out what is to be written for records. Of those whose vector is in
// the index already, as when only a counter changed, nothing is.
func (w *nearWrites) read(ctx context.Context, ids []string, versions []int64) error {
	raw, err := w.rawRecords(ctx, w.p, ids, true)
	if err != nil {
		return err
	}
	if raw.inc != w.at.inc {
		return errLost
	}
	raw.keep(versions) // the others come again, with the version that they have now
	records, err := raw.decode()
	if err != nil {
		return err
	}
	fields := make([]string, len(records))
	for i := range records {
		fields[i] = entry(records[i].ID)
	}
	if len(fields) == 0 {
		return nil
	}
	has, err := w.client.HMGet(ctx, w.keys.nearState(), fields...).Result()
	if err != nil {
		return err
	}
	for i := range records {
		write := w.plan(&records[i])
		if now, _ := has[i].(string); now != wanted(&write) {
			w.list = append(w.list, write)
		}
	}
	if w.good == 0 && w.bad >= nearRead/2 {
		return fmt.Errorf("%w: of %d vectors none can be read: they may be of another model: re-embed the partition", backends.ErrUnavailable, w.bad)
	}
	return nil
}

// wanted is what the entry of a record in the state of the index is to be.
func wanted(w *nearWrite) string {
	switch w.what {
	case "add":
		return w.hash
	case "leave":
		return "-" + w.hash
	}
	return ""
}

// plan decides what becomes of a record.
func (w *nearWrites) plan(r *store.Record) nearWrite {
	out := nearWrite{what: "drop", id: r.ID, version: r.Version}
	if !r.Active() || len(r.Vector) == 0 {
		return out
	}
	out.what, out.hash = "leave", hashOf(r.Vector)
	v, err := w.decode(r.Vector)
	if err != nil || len(v) != w.at.space.Dim || !direction(v) {
		w.bad++
		return out
	}
	w.good++
	out.what, out.vector = "add", nearBlob(v)
	return out
}

// hashOf tells one encoded vector from another.
func hashOf(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:hashDigits/2])
}

// entry is the field of the index's state that tells which vector of a memory counts.
func entry(id string) string { return "e:" + id }

// splitElement returns the parts of <hash>:<memory id>.
func splitElement(name string) (hash, id string) {
	hash, id, _ = strings.Cut(name, ":")
	return hash, id
}

// send writes the list. With the end of a page the index has reached the next cursor.
func (w *nearWrites) send(ctx context.Context, end bool) error {
	for len(w.list) > 0 || end {
		some := w.some()
		w.list = w.list[len(some):]
		done := end && len(w.list) == 0
		start := w.now()
		if err := w.write(ctx, some, done); err != nil {
			return err
		}
		w.pace(w.now().Sub(start), len(some))
		if done {
			return nil
		}
	}
	return nil
}

// some is as much of the list as one script writes.
func (w *nearWrites) some() []nearWrite {
	size := 0
	for i := range w.list {
		if size += len(w.list[i].vector); i == w.chunk || i > 0 && size > mostBytes {
			return w.list[:i]
		}
	}
	return w.list
}

// pace makes scripts larger while they are quick, and smaller when they are slow.
func (b *indexer) pace(took time.Duration, n int) {
	switch {
	case took > nearTurn:
		b.chunk = max(1, n/2)
	case took < nearTurn/3:
		b.chunk = min(mostWrites, b.chunk*2)
	}
}

func (w *nearWrites) write(ctx context.Context, some []nearWrite, done bool) error {
	args := []any{w.owner, nearLease.Milliseconds(), w.at.name, w.at.cursor, w.config.Near.quantisation(), nearLinks, nearBuildEffort}
	if done {
		args = append(args, w.next.String(), w.next.version, flag(w.last))
	} else {
		args = append(args, "", "", "")
	}
	for _, c := range some {
		args = append(args, c.what, c.id, c.version, c.hash, c.vector)
	}
	k := w.keys
	reply, err := nearWriteScript.Run(ctx, w.client, []string{k.meta(), k.changed(), k.near(), k.nearState()}, args...).Slice()
	if err != nil {
		return err
	}
	word := texts(reply)
	switch {
	case len(reply) == 3 && word[0] == "ok":
		card, err := number(reply[1])
		if err != nil {
			return err
		}
		live, err := number(reply[2])
		w.at.card, w.at.dead = int(card), int(card-live)
		if done {
			w.at.cursor, w.at.at, w.at.mine = w.next.String(), w.next.version, !w.last
		}
		return err
	case len(reply) == 1 && word[0] == "lost":
		return errLost
	case len(reply) == 2 && word[0] == "failed":
		return fmt.Errorf("indexing a vector: %w", nearRefusal(word[1]))
	}
	return fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
}
