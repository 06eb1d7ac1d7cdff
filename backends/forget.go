// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"slices"
	"time"
)

// Forgetter is implemented by backends that can erase what is held of a person.
type Forgetter interface {
	// Forget erases everything of whom the scope names: of a user their partition, with the
	// sessions, turns that wait, archives, core blocks, histories and vectors in it, and what
	// came from them in every workspace and agent of the namespace; without a user the
	// agent's own partition; with a workspace alone the workspace.
	//
	// What began before is refused with [ErrForgotten] when it comes to write, in every
	// process; what begins afterwards is new. An error leaves a part: repeat the call. The
	// receipt says what is gone, also beside an error.
	Forget(ctx context.Context, r *ForgetRequest) (*Receipt, error)
}

// ForgetRequest says whom to forget, and which part.
type ForgetRequest struct {
	Scope Scope `json:"scope"`          // Required. Its SessionID does not count: see Part.
	Part  *Part `json:"part,omitempty"` // Optional. Defaults to everything.
}

// Part is a part of what a user said, of one session or of all: with what was learnt from
// it, and what may repeat it, such as the summaries and archives of its sessions and the
// histories of memories that were deleted. A fact that a forgotten one had replaced holds
// again. Sessions and messages that are not there are no error.
type Part struct {
	Session  *string   `json:"session,omitempty"`  // Optional. Only this session. Alone it is the whole session, which is deleted.
	Messages []string  `json:"messages,omitempty"` // Optional. Only these messages of Session, or turns, by their ids in the log.
	From     time.Time `json:"from,omitzero"`      // Optional. Only what was said from then on.
	To       time.Time `json:"to,omitzero"`        // Optional. Only what was said before.
}

// Receipt says what a [Forgetter] erased.
type Receipt struct {
	Partition Partition `json:"partition"` // whose
	Erased              // in that partition
	// Elsewhere is what came from the user in workspaces and agents.
	Elsewhere []Share `json:"elsewhere,omitempty"`
	// Places counts what is gone from where things are kept beside the stores: see [Place].
	Places map[string]int `json:"places,omitempty"`
	// Checked says what was read again afterwards, and held nothing of it.
	Checked []string `json:"checked,omitempty"`
	// Outside says what only an operator can do: copies that the store cannot reach.
	Outside []string `json:"outside,omitempty"`
}

// Join adds what another store erased of the same person.
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

// Gone returns the ids of the memories that were erased one by one, in all partitions. It does
// not travel over a network.
func (r *Receipt) Gone() []string {
	gone := slices.Clone(r.IDs)
	for i := range r.Elsewhere {
		gone = append(gone, r.Elsewhere[i].IDs...)
	}
	return gone
}

// Place is where something of people is kept beside the stores: files, results of jobs.
type Place struct {
	Name string // on receipts
	// Forget erases what the place has of the person, and of the memories that are gone, and
	// returns how many things that were. It runs after the stores erased theirs, also after a
	// failure, and has to bear being repeated.
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
	Memories int `json:"memories"` // with those that were deleted before and had a history
	Sessions int `json:"sessions"` // whole ones
	Messages int `json:"messages"`
	Blobs    int `json:"blobs"`

	IDs []string `json:"-"` // of Memories, as far as they were erased one by one: see [Receipt.Gone]
}

// Share is what is gone from a partition of others.
type Share struct {
	Partition Partition `json:"partition"`
	Erased
}
