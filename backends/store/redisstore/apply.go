// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: apply: %w", err)
	}
	a := &applier{Store: s, p: p, keys: s.keys(p), batch: b, nonce: newNonce()}
	return a.run(ctx, fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p))
}

// applier carries out one batch, or one update of a session.
type applier struct {
	*Store
	p      backends.Partition
	keys   keys
	batch  *store.Batch // with a Session alone, and update set, it is an update
	update bool
	nonce  string // the same for every repeat, so one alone is committed
}

// run plans and commits until the outcome is certain.
func (a *applier) run(ctx context.Context, doing string) (*store.Applied, error) {
	return on(ctx, a.Store, a.p, "", doing, func() (out *store.Applied, err error) {
		err = a.registered(ctx, a.p, func(made string) (wanted []string, err error) {
			out, wanted, err = a.try(ctx, made)
			return wanted, err
		})
		return out, err
	})
}

// longestWait bounds the pause after a commit that went stale because of another.
const longestWait = 8 * time.Millisecond

// try reads, plans and commits, again whenever another commit came in between. If
// registry entries must come first, it returns their lists.
func (a *applier) try(ctx context.Context, made string) (*store.Applied, []string, error) {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, longestWait) {
		before, err := a.read(ctx)
		if err != nil {
			return nil, nil, err
		}
		if before.known != "" {
			out, err := a.replay(before.known, before.session(a.now()))
			if err == nil {
				err = a.confirm(ctx, a.keys.meta())
			}
			return out, nil, err
		}
		c, err := a.plan(before)
		if err != nil {
			return nil, nil, cmp.Or(a.entire(ctx), err)
		}
		out, wanted, err := a.commit(ctx, c, made)
		if out != nil && err == nil && c.refused != nil {
			return nil, nil, c.refused
		}
		if out != nil || len(wanted) > 0 || err != nil {
			return out, wanted, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(rand.N(wait)):
		}
	}
}

// entire returns an error if records were lost that the plan took as missing. The script
// checks the planned ones.
func (a *applier) entire(ctx context.Context) error {
	return a.readRecords(ctx, a.p, func(redis.Pipeliner) {})
}

// snapshot is the state that a plan is made from. Its parts may have been read at
// different moments: the commit compares them all.
type snapshot struct {
	inc       string // empty: the partition is new
	version   int64
	spaceText string
	space     *store.Embedding
	records   map[string]*store.Record // without vectors
	known     string                   // the value of the batch's field in T:idem
	state     *session                 // nil: none
}

func (f *snapshot) record(id string) (*store.Record, error) { return f.records[id], nil }

// session returns the session if it exists and is not expired.
func (f *snapshot) session(now time.Time) *store.Session {
	if f.state == nil || plan.Expired(&f.state.Session, now) {
		return nil
	}
	return &f.state.Session
}

// read reads all inputs of the batch's plan with one round trip.
func (a *applier) read(ctx context.Context) (*snapshot, error) {
	ids := plan.Touched(a.batch)
	var meta *redis.SliceCmd
	var known *redis.StringCmd
	var records []*redis.SliceCmd
	var state stateOnServer
	var alive func() error
	err := a.atOnce(ctx, func(pipe redis.Pipeliner) {
		alive = a.begunIn(ctx, a.p).check(ctx, pipe, a.keys, a.now())
		meta = pipe.HMGet(ctx, a.keys.meta(), "inc", "ver", "space")
		for some := range slices.Chunk(ids, hmgetChunk) {
			records = append(records, pipe.HMGet(ctx, a.keys.records(), some...))
		}
		known = pipe.HGet(ctx, a.keys.known(), a.field())
		if a.batch.Session != nil {
			state = readState(ctx, pipe, a.keys, a.batch.Session.Session)
		}
	})
	if err == nil {
		err = alive()
	}
	if err != nil {
		return nil, err
	}
	out := &snapshot{records: make(map[string]*store.Record, len(ids)), known: known.Val()}
	if err := out.readMeta(texts(meta.Val())); err != nil {
		return nil, err
	}
	for i, v := range joined(records) {
		if text, ok := v.(string); ok {
			r := &store.Record{}
			if err := decodeMemory(fmt.Sprintf("record %q", ids[i]), text, &r.Memory); err != nil {
				return nil, err
			}
			out.records[ids[i]] = r
		}
	}
	if a.batch.Session != nil {
		out.state, err = state.session(a.p, a.batch.Session.Session)
	}
	return out, err
}

func (f *snapshot) readMeta(values []string) (err error) {
	f.inc, f.spaceText = values[0], values[2]
	if values[1] != "" {
		if f.version, err = number(values[1]); err != nil {
			return err
		}
	}
	f.space, err = parseSpace(f.spaceText)
	return err
}

// plan decides the effect of the batch on the state that was read.
func (a *applier) plan(before *snapshot) (*commit, error) {
	now := a.now()
	c := &commit{snapshot: before, now: now}
	var err error
	c.plan, err = plan.Batch(a.batch, &plan.Input{Now: now, Next: before.version + 1, Embedding: before.space, Record: before.record})
	if err != nil || a.batch.Session == nil {
		return c, err
	}
	current := before.session(now)
	if current == nil {
		return nil, fmt.Errorf("session %q: %w", a.batch.Session.Session, backends.ErrNotFound)
	}
	c.after, c.refused = plan.Session(a.batch.Session, current, now)
	if c.after == nil || !a.update {
		return c, c.refused
	}
	return c, nil
}

// field is the field of T:idem that remembers the batch: by its key, or for some minutes
// by the nonce of the call.
func (a *applier) field() string {
	if a.batch.Key != "" {
		return "k:" + a.batch.Key
	}
	return "n:" + a.nonce
}

// replay returns the results of a batch that was committed already: by a call with the
// same key, or by this call when its answer was lost. An update is known in the same way,
// since other updates may have changed the session meanwhile.
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
	return out, plan.Decode("results", results, &out.Results)
}

// stillHolds checks a session after an update whose answer was lost. The session may be
// gone. Its lease may have another owner, whose fencing token must stay secret.
func stillHolds(u *store.SessionUpdate, current *store.Session) error {
	switch {
	case current == nil:
		return fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	case u.Acquire != nil && current.Lease.Owner != u.Acquire.Owner:
		return fmt.Errorf("session %q: %w: the lease was acquired, ended, and has another owner", u.Session, backends.ErrConflict)
	}
	return nil
}
