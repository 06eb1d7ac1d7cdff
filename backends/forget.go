// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"slices"
	"time"
)

// Forgetter is implemented by backends that can erase the data of a person.
type Forgetter interface {
	// Forget erases everything of the owner that the scope names. For a user this is the
	// whole partition, with its sessions, pending turns, archives, core blocks, histories and
	// vectors. It is also everything from the user in each workspace and agent of the
	// namespace. For an agent without a user it is the agent's own partition; for a workspace
	// alone the workspace.
	//
	// A write of work that began before is refused with [ErrForgotten], in every process;
	// later work is new. An error leaves a part: repeat the call. The receipt says what is
	// gone, also beside an error.
	Forget(ctx context.Context, r *ForgetRequest) (*Receipt, error)
}

// ForgetRequest says whom to forget, and which part.
type ForgetRequest struct {
	Scope Scope `json:"scope"`          // Required. Its SessionID is ignored: see Part.
	Part  *Part `json:"part,omitempty"` // Optional. Defaults to everything.
}

// Part is a part of a user's words, of one session or of all. It includes the memories
// learnt from them and everything that may repeat them, such as summaries, archives and
// histories of deleted memories. A fact that a forgotten one had replaced holds again.
// Unknown sessions and messages are ignored.
type Part struct {
	Session  *string   `json:"session,omitempty"`  // Optional. Only this session. Alone it is the whole session, which is then deleted.
	Messages []string  `json:"messages,omitempty"` // Optional. Only these messages of Session, or turns, by their ids in the log.
	From     time.Time `json:"from,omitzero"`      // Optional. Only what was said from then on.
	To       time.Time `json:"to,omitzero"`        // Optional. Only what was said before.
}

// Receipt says what a [Forgetter] erased.
type Receipt struct {
	Partition Partition `json:"partition"` // the owner's
	Erased              // in that partition
	// Elsewhere is what came from the user in workspaces and agents.
	Elsewhere []Share `json:"elsewhere,omitempty"`
	// Places counts what is gone from outside the stores: see [Place].
	Places map[string]int `json:"places,omitempty"`
	// Checked lists what was read again afterwards and is free of it.
	Checked []string `json:"checked,omitempty"`
	// Outside lists work for an operator: copies beyond the store's reach.
	Outside []string `json:"outside,omitempty"`
}

// Join adds what another store erased for the same person.
func (r *Receipt) Join(other *Receipt) {
	r.Partition = other.Partition
	r.add(other.Erased)
	for _, share := range other.Elsewhere {
		at := slices.IndexFunc(r.Elsewhere, func(s Share) bool { return s.Partition == share.Partition })
		if at < 0 {
			r.Elsewhere = append(r.Elsewhere, share)
			continue
		}
		r.Elsewhere[at].add(share.Erased)
	}
	for place, n := range other.Places {
		r.Count(place, n)
	}
	r.Checked, r.Outside = union(r.Checked, other.Checked), union(r.Outside, other.Outside)
}

// Count adds what is gone from a place.
func (r *Receipt) Count(place string, n int) {
	if r.Places == nil {
		r.Places = map[string]int{}
	}
	r.Places[place] += n
}

// Gone returns the ids of the memories that were erased one by one, in all partitions. The ids
// stay in this process: JSON leaves them out.
func (r *Receipt) Gone() []string {
	gone := slices.Clone(r.IDs)
	for i := range r.Elsewhere {
		gone = append(gone, r.Elsewhere[i].IDs...)
	}
	return gone
}

// Place keeps data of people outside the stores: files, results of jobs.
type Place struct {
	Name string // on receipts
	// Forget erases the data of the person in this place, and of the memories that are gone.
	// It returns the number of things it erased. It runs after the stores, also after a
	// failure, and must bear being repeated.
	Forget func(ctx context.Context, r *ForgetRequest, gone *Receipt) (int, error)
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

func (e *Erased) add(other Erased) {
	e.Memories, e.Sessions = e.Memories+other.Memories, e.Sessions+other.Sessions
	e.Messages, e.Blobs = e.Messages+other.Messages, e.Blobs+other.Blobs
	e.IDs = append(e.IDs, other.IDs...)
}

// Erased counts what is gone from one partition.
type Erased struct {
	Memories int `json:"memories"` // also deleted ones that still had a history
	Sessions int `json:"sessions"` // whole ones
	Messages int `json:"messages"`
	Blobs    int `json:"blobs"`

	IDs []string `json:"-"` // of Memories, where they were erased one by one: see [Receipt.Gone]
}

// Share counts what is gone from a partition of others.
type Share struct {
	Partition Partition `json:"partition"`
	Erased
}
