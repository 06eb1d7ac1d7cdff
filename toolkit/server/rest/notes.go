// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/work"
)

const (
	notesOf      = 20   // notes for each person
	notesPersons = 1000 // persons with notes
)

// Notes keeps the notes that the last replies of this process got, 20 for each of the 1000 most
// recent persons. Give its Record to the middleware:
//
//	notes := rest.NewNotes(nil)
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend, OnNote: notes.Record})
//	handler, err := rest.New(&rest.Config{Memory: mem, Notes: notes})
//
// It is safe for concurrent use.
type Notes struct {
	clock backends.Clock
	mu    sync.Mutex
	last  *lru.Cache[backends.Partition, []note]
}

// note is the note of one reply.
type note struct {
	Time    time.Time      `json:"time"`
	Session string         `json:"session,omitempty"`
	Query   string         `json:"query"`
	Text    string         `json:"text"` // the model's text; empty if nothing fitted
	Hits    []backends.Hit `json:"hits"` // the hits of Text, with their scores
}

// NewNotes returns empty notes. A nil clock is backends.SystemClock.
func NewNotes(clock backends.Clock) *Notes {
	last, _ := lru.New[backends.Partition, []note](notesPersons) // it fails for a size below 1
	return &Notes{clock: work.Clock(clock), last: last}
}

// Record keeps a note. It is for the field OnNote of the middleware's configuration.
func (n *Notes) Record(_ context.Context, shown hooks.Note) {
	p, err := shown.Scope.Speaker()
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old, _ := n.last.Get(p)
	old = append(slices.Clone(old), note{n.clock(), shown.Scope.SessionID, shown.Query, shown.Text, orEmpty(shown.Hits)})
	n.last.Add(p, old[max(0, len(old)-notesOf):])
}

// of returns the notes of a partition, the newest first.
func (n *Notes) of(p backends.Partition) []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	notes, _ := n.last.Get(p)
	notes = slices.Clone(notes)
	slices.Reverse(notes)
	return orEmpty(notes)
}

// forget is the Forget of a backends.Place: it drops the notes of a person, and notes of others
// that show erased memories.
func (n *Notes) forget(_ context.Context, _ *backends.ForgetRequest, gone *backends.Receipt) (dropped int, _ error) {
	ids := map[string]bool{}
	for _, id := range gone.Gone() {
		ids[id] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.last.Keys() {
		notes, _ := n.last.Peek(p)
		kept := slices.DeleteFunc(slices.Clone(notes), func(of note) bool {
			return p == gone.Partition || slices.ContainsFunc(of.Hits, func(h backends.Hit) bool { return ids[h.ID] })
		})
		if dropped += len(notes) - len(kept); len(kept) < len(notes) {
			n.last.Add(p, kept)
		}
	}
	n.last.Remove(gone.Partition)
	return dropped, nil
}
