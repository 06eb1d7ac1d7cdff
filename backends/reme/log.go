// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// logPage is how many messages of a log are read at a time, logPages how often.
const (
	logPage  = 1000
	logPages = 20
)

// ahead is how many messages behind those of a request are looked through for the end
// of its turns: as many as a request has.
const ahead = 200

// ended returns those turns of a request that end in it, each with all that was said
// and done in it. The log gives long turns piece by piece; how they went is asked once,
// at their end.
func (b *Backend) ended(ctx context.Context, s backends.Scope, r *backends.AddRequest) ([]*Turn, error) {
	turns := turnsOf(s, r.Messages)
	if r.Checkpoint == nil { // not from a log
		return turns, nil
	}
	p, err := s.Speaker()
	if err != nil {
		return nil, fmt.Errorf("the checkpoint of nobody's log: %w", err)
	}
	s.SessionID = r.Checkpoint.Session
	next, err := b.store.Read(ctx, p, s.SessionID, store.Range{After: r.Checkpoint.Upto, Limit: ahead})
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	later := turnsOf(s, said(next))
	turns = slices.DeleteFunc(turns, func(t *Turn) bool { return t.among(later) })
	before := turnsOf(s, r.Context)
	for i, t := range turns {
		if t.ID == "" || !t.among(before) && (i > 0 || len(before) > 0) {
			continue
		}
		whole, err := b.turn(ctx, p, s, t.ID, r.Checkpoint.Upto)
		switch {
		case err == nil:
			turns[i] = whole
		case !errors.Is(err, backends.ErrNotFound): // the log is kept in another store
			return nil, err
		}
	}
	return turns, nil
}

// said are the messages of entries, but for those that only mark a turn's end.
func said(entries []store.Entry) []backends.Message {
	var out []backends.Message
	for i := range entries {
		if m := &entries[i].Message; m.Message != nil && !blank(m.Message) {
			out = append(out, *m)
		}
	}
	return out
}

// turn reads a turn from the log of the scope's session, as far as it goes up to a
// message; 0 is the end. The empty id is the newest.
func (b *Backend) turn(ctx context.Context, p backends.Partition, s backends.Scope, id string, upto int64) (*Turn, error) {
	var entries []store.Entry // from the first of the turn on
	var found *Turn
	for range logPages {
		got, err := b.store.Read(ctx, p, s.SessionID, store.Range{Upto: upto, Limit: logPage, Last: true})
		if err != nil {
			return nil, fmt.Errorf("reading the log: %w", err)
		}
		entries = append(got, entries...)
		t, whole := find(s, entries, id)
		if t != nil {
			found = t
		}
		if whole || len(got) < logPage || got[0].Seq == 1 {
			break
		}
		upto = got[0].Seq - 1
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("turn %q of session %q: %w: it is not in the log that the backend's store keeps; turns are logged there by a middleware whose mode records them", id, s.SessionID, backends.ErrNotFound)
}

// find returns the turn, or nil, and whether all of it is among the entries: messages
// of another turn come before it.
func find(s backends.Scope, entries []store.Entry, id string) (t *Turn, whole bool) {
	turns := turnsOf(s, said(entries))
	for i := len(turns) - 1; i >= 0; i-- {
		if turns[i].ID == id || id == "" {
			return turns[i], i > 0
		}
	}
	return nil, false
}
