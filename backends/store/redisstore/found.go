// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// found is what a plan is made from. Its parts may have been read at different
// moments: the commit compares them all.
type found struct {
	inc       string // empty: the partition does not exist
	version   int64
	spaceText string
	space     *store.Embedding
	records   map[string]*store.Record // without vectors
	known     string                   // what T:idem holds under the batch's field
	state     *session                 // nil: none
}

func (f *found) record(id string) (*store.Record, error) { return f.records[id], nil }

// session returns the session if it exists and is not expired.
func (f *found) session(now time.Time) *store.Session {
	if f.state == nil || f.state.expired(now) {
		return nil
	}
	return &f.state.Session
}

// hmgetChunk is how many fields are asked for with one command.
const hmgetChunk = 1000

// read reads with one round trip all that the batch's plan rests on.
func (a *applier) read(ctx context.Context) (*found, error) {
	ids := plan.Touched(a.batch)
	var meta *redis.SliceCmd
	var known *redis.StringCmd
	var records []*redis.SliceCmd
	var state *redis.MapStringStringCmd
	err := a.pipelined(ctx, func(pipe redis.Pipeliner) error {
		meta = pipe.HMGet(ctx, a.keys.meta(), "inc", "ver", "space")
		for some := range slices.Chunk(ids, hmgetChunk) {
			records = append(records, pipe.HMGet(ctx, a.keys.records(), some...))
		}
		known = pipe.HGet(ctx, a.keys.known(), a.field())
		if a.batch.Session != nil {
			state = pipe.HGetAll(ctx, a.keys.session(a.batch.Session.Session).state())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &found{records: make(map[string]*store.Record, len(ids)), known: known.Val()}
	if err := out.readMeta(texts(meta.Val())); err != nil {
		return nil, err
	}
	if err := out.readRecords(ids, records); err != nil {
		return nil, err
	}
	if state != nil {
		out.state, err = readSession(a.p, a.batch.Session.Session, state.Val())
	}
	return out, err
}

func (f *found) readMeta(values []string) (err error) {
	f.inc, f.spaceText = values[0], values[2]
	if values[1] != "" {
		if f.version, err = number(values[1]); err != nil {
			return err
		}
	}
	f.space, err = parseSpace(f.spaceText)
	return err
}

func parseSpace(text string) (*store.Embedding, error) {
	if text == "" {
		return nil, nil
	}
	space := &store.Embedding{}
	return space, decode("embedding", text, space)
}

func (f *found) readRecords(ids []string, answers []*redis.SliceCmd) error {
	for _, answer := range answers {
		for _, v := range answer.Val() {
			id := ids[0]
			ids = ids[1:]
			text, ok := v.(string)
			if !ok {
				continue
			}
			r := &store.Record{}
			if err := readMemory(text, &r.Memory); err != nil {
				return fmt.Errorf("record %q: %w", id, err)
			}
			f.records[id] = r
		}
	}
	return nil
}

// readMemory reads an entry of T:rec.
func readMemory(stamped string, m *backends.Memory) error {
	version, text, err := unstamp("record", stamped)
	if err != nil {
		return err
	}
	if err := decode("record", text, m); err != nil {
		return err
	}
	m.Version = version
	return nil
}

// field is where T:idem remembers the batch: by its key, or for some minutes by
// the nonce of the call.
func (a *applier) field() string {
	if a.batch.Key != "" {
		return "k:" + a.batch.Key
	}
	return "n:" + a.nonce
}

// known returns the results of the batch if it was committed already, by a call
// with the same key, or by this one when its answer was lost. An update is known
// in the same way: what the session holds would not do, others may have updated it
// since.
func (a *applier) known(f *found) (*store.Applied, error) {
	if f.known == "" {
		return nil, nil
	}
	return a.replay(f.known, f.session(a.now()))
}

func (a *applier) replay(known string, current *store.Session) (*store.Applied, error) {
	version, text, err := unstamp("results", known)
	if err != nil {
		return nil, err
	}
	nonce, results, _ := strings.Cut(text, " ")
	out := &store.Applied{Version: version, Replayed: nonce != a.nonce}
	if a.batch.Session != nil {
		out.Session = current
	}
	if a.update {
		if err := stillHolds(a.batch.Session, current); err != nil {
			return nil, err
		}
	}
	return out, decode("results", results, &out.Results)
}

// stillHolds looks at what became of a session since an update of it whose answer was
// lost: it may be gone, and the lease that was acquired may be another's, whose token
// must never get into wrong hands.
func stillHolds(u *store.SessionUpdate, current *store.Session) error {
	switch {
	case current == nil:
		return fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	case u.Acquire != nil && current.Lease.Owner != u.Acquire.Owner:
		return fmt.Errorf("session %q: %w: the lease was acquired, ended, and is another's", u.Session, backends.ErrConflict)
	}
	return nil
}
