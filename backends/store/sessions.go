// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Sessions keeps conversations: an append-only log of messages for each session, the
// session's state beside it, and blobs. A session belongs to a partition; two users may
// use one session id. The empty id is the session of turns that name none.
type Sessions interface {
	// Append adds messages at the end, wholly or not at all. It gives each the next
	// sequence number (from 1 on, gapless), and creates the session if need be. A message
	// whose id the session holds already is skipped. A zero Time becomes the time of the call.
	Append(ctx context.Context, p backends.Partition, session string, a *Append) (*Session, error)

	// Session returns the session's state, or ErrNotFound.
	Session(ctx context.Context, p backends.Partition, session string) (*Session, error)

	// Read returns messages in order. The log of an unknown session is empty.
	Read(ctx context.Context, p backends.Partition, session string, r Range) ([]Entry, error)

	// Update changes the session's state by compare-and-swap. It returns ErrConflict if
	// the version, the summary, the token or the lease differs from the expected one, and
	// ErrNotFound for an unknown session.
	Update(ctx context.Context, p backends.Partition, u *SessionUpdate) (*Session, error)

	// List returns sessions in the order in which they began. A list of all partitions may go
	// from one to the next; the order then holds within each. The cost of a page is
	// independent of the number of sessions. Sessions that begin during a listing come last.
	List(ctx context.Context, q SessionQuery) (*SessionPage, error)

	// EraseMessages erases messages of a session by their sequence numbers, and returns how many it
	// erased. Their entries stay, marked Erased: they keep id, turn, time, role, agent and Done,
	// and lose their content. The session's title and summary go too, since they may repeat it. An
	// erasure raises the version. For an unknown session the count is 0.
	EraseMessages(ctx context.Context, p backends.Partition, session string, seqs ...int64) (int, error)

	// Delete removes a session, its messages and its blobs. Deleting an unknown session
	// is harmless.
	Delete(ctx context.Context, p backends.Partition, session string) error

	// Epoch returns the name of the partition's epoch. Only a Drop changes it, for the next
	// [KeepEpochs]; then the name of before the first drop returns. It begins with an id of
	// the storage and a dot. Apply, Append, Update, PutBlob and EraseMessages with a context
	// that holds another epoch of p are ErrForgotten while the drop is known: see [Begin].
	Epoch(ctx context.Context, p backends.Partition) (string, error)

	Blobs
}

// Blobs keeps bytes beside a session: text that was taken out of its context, turns that
// can be resumed. They end with the session, when it expires or is deleted. Blobs that
// were put before the session began wait for its first Append, however long, and belong
// to it from then on.
type Blobs interface {
	// PutBlob stores data under a name that is unique in the session, over the data that
	// is there. Nil data removes it. The session may begin later.
	PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error
	// GetBlob returns the data, or ErrNotFound.
	GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error)
	// ListBlobs returns the session's blobs whose names begin with prefix, without their
	// data, in the order of the bytes of their names. The empty prefix lists all; another
	// must be a legal name. An expired session has no blobs, and an unknown one only its
	// early ones. A cursor is valid for the prefix of its listing. Blobs may come and go
	// during a listing: every remaining one is returned once, a new one if its name comes
	// after the names already returned. A page may be short or empty and still have a
	// Next.
	ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page Page) (*BlobPage, error)
	// BlobSessions lists the ids of the sessions that have blobs, also of sessions that
	// have yet to begin, in any order. A page may be short or empty and still have a
	// Next.
	BlobSessions(ctx context.Context, p backends.Partition, page Page) (*IDPage, error)
}

// BlobInfo describes a blob without its data.
type BlobInfo struct {
	Name string
	Size int64 // of the data, in bytes
}

// BlobPage is a page of blobs.
type BlobPage struct {
	Blobs []BlobInfo
	Next  string // empty on the last page
}

// Append is what one call adds to a session.
type Append struct {
	Entries []Entry
	Scope   backends.Scope // the session's scope; kept with it at its creation
	TTL     time.Duration  // Optional. The session ends so long after its last append. Defaults to never.

	// Learnt marks the entries as material that teaches nothing, such as records that a
	// program keeps for itself. If all entries before them were learnt from, the
	// watermark moves past them in the same write, and the session stays idle. Otherwise
	// they wait until the watermark moves past them. Skipped entries have no effect.
	// Optional.
	Learnt bool
}

// Entry is one message of a session's log.
type Entry struct {
	Seq int64 `json:"seq"` // assigned by Append
	backends.Message
	AgentID string `json:"agent_id,omitempty"` // the agent that the turn was with
	UserID  string `json:"user_id,omitempty"`  // the user of the entry, in an agent's or a workspace's partition
	// Done marks the last message of a turn. The turn is complete up to it.
	Done   bool `json:"done,omitempty"`
	Tokens int  `json:"tokens,omitempty"` // the estimated size, as counted by the caller
	// Erased marks an entry whose message was erased: its Message has only a role.
	Erased bool `json:"erased,omitempty"`
}

// Erase returns the entry as [Sessions].EraseMessages leaves it.
func (e Entry) Erase() Entry {
	e.Message.Message = &schema.Message{Role: e.Role}
	e.Erased, e.Tokens = true, 0
	return e
}

// Range chooses messages by sequence number: After < seq <= Upto, at most Limit of them.
// Upto 0 is the end. Last chooses the newest Limit of the range, still in order; the
// default is the oldest. Limit 0 is 1000; 10,000 is the most.
type Range struct {
	After, Upto int64
	Limit       int
	Last        bool
}

// Size returns the limit with its default and maximum applied.
func (r Range) Size() int {
	if r.Limit <= 0 {
		return 1000
	}
	return min(r.Limit, 10_000)
}

// Session is the state of a session.
type Session struct {
	Partition backends.Partition `json:"partition"`
	ID        string             `json:"id"`
	Scope     backends.Scope     `json:"scope"`
	Version   int64              `json:"version"`         // rises with every Append and Update
	Title     string             `json:"title,omitempty"` // a name for people
	LastSeq   int64              `json:"last_seq"`
	Tokens    int64              `json:"tokens"` // the sum over its messages

	// Watermark is the sequence number up to which the log was learnt from. It only
	// rises.
	Watermark int64 `json:"watermark"`

	Summary     string `json:"summary,omitempty"` // of the messages up to SummaryUpto
	SummaryUpto int64  `json:"summary_upto,omitempty"`

	Lease    Lease     `json:"lease,omitzero"`
	Retry    Retry     `json:"retry,omitzero"`
	Failures []Failure `json:"failures,omitempty"`

	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires,omitzero"` // from then on the session is gone; zero: never
}

// Pending reports whether the log holds messages to learn from.
func (s *Session) Pending() bool { return s.LastSeq > s.Watermark }

// Lease is the right of one owner to consolidate a session. Token is a fencing token: it
// rises with every change of owner, and stores refuse a write under an older one. A new
// one is the time in microseconds since 1970, or the last one's successor if that is
// more. So a session that was deleted and begun anew has tokens of its own.
type Lease struct {
	Owner   string    `json:"owner,omitempty"` // empty: free
	Token   int64     `json:"token"`
	Expires time.Time `json:"expires,omitzero"`

	For time.Duration `json:"for,omitzero"` // how long it was granted for
	// Doubted is the time, by another owner's clock, when that owner first met an Expires
	// that is not [Lease.Plausible].
	Doubted time.Time `json:"doubted,omitzero"`
}

// longOver is how long a lease may be over before its end becomes doubtful.
const longOver = 12 * time.Hour

// Plausible reports whether the end of the lease can be real by the clock that says now. An
// end that is further away than the lease is long, or more than twelve hours ago, comes
// from a clock that jumped. It may be this one or the owner's. For then decides whether the
// owner lives: a live owner renews the lease within that time.
func (l *Lease) Plausible(now time.Time) bool {
	left := l.Expires.Sub(now)
	return l.For == 0 || -longOver <= left && left <= l.For
}

// Retry says when a consolidation that failed is retried.
type Retry struct {
	Attempts int       `json:"attempts"`         // tries that an outage ended are left out
	Since    time.Time `json:"since,omitzero"`   // when the first try failed
	After    time.Time `json:"after,omitzero"`   // the earliest time of the next try
	Reason   string    `json:"reason,omitempty"` // of the last try
	// Upto is the end of the stretch after the watermark that is being tried. It is
	// written before the try, so a worker that repeats it after a crash tries the same
	// stretch under the same idempotency key.
	Upto int64 `json:"upto,omitempty"`
	// Whole is the end of a longer stretch that failed too often. The stretch up to Upto
	// is a part of it: the worker searches for the message that spoils it.
	Whole int64 `json:"whole,omitempty"`
	// InDoubt says that a try of the stretch began and left no outcome: it may have been
	// learnt from. It must not be divided.
	InDoubt bool `json:"in_doubt,omitempty"`
	// OverBudget says that the stretch waits for the next day, because the partition has spent
	// the day's budget for learning.
	OverBudget bool `json:"over_budget,omitempty"`
}

// Failure is a stretch of the log that resisted learning. Its messages stay in the log.
type Failure struct {
	From     int64     `json:"from"` // the first sequence number
	Upto     int64     `json:"upto"` // the last
	Attempts int       `json:"attempts"`
	Reason   string    `json:"reason"`
	Time     time.Time `json:"time"`
}

// SessionUpdate changes a session's state. Nil fields stay as they are.
type SessionUpdate struct {
	Session string

	Version int64 // Optional. The version expected. Defaults to any.
	Token   int64 // Optional. The token of a lease that must be held and current. Defaults to any.
	// Summarised is the SummaryUpto expected: a summary that continues another one is
	// refused once there is a third. Appends leave it as it is. Optional. Defaults to
	// any.
	Summarised *int64

	Acquire *Acquire // acquire or renew the lease
	Release bool     // release the lease of Token

	Title       *string // UTF-8 of at most 256 runes, free of control characters; the empty one removes it
	Watermark   *int64  // only rises: a lower value leaves it as it is
	Summary     *string
	SummaryUpto *int64
	Retry       *Retry
	Failures    *[]Failure
	Expires     *time.Time // the zero time clears it
}

// Acquire asks for a session's lease. A lease that is free or expired is granted; so is
// the owner's own, which keeps its token. Else the error is ErrConflict. Another owner's
// lease with an end that is not [Lease.Plausible] is granted after it was doubted for its
// own length. The first Acquire by an Update notes Doubted, the only change that comes
// with an ErrConflict.
type Acquire struct {
	Owner string
	For   time.Duration
}

// SessionQuery chooses sessions.
type SessionQuery struct {
	Partition *backends.Partition // Optional. Defaults to all partitions.
	Pending   bool                // only those with messages to learn from
	Page      Page
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions []Session
	Next     string // empty on the last page
}

// Validate returns ErrInvalid for an update that is illegal for every store.
func (u *SessionUpdate) Validate() error {
	if u == nil {
		return fmt.Errorf("%w: no update", backends.ErrInvalid)
	}
	if err := ValidateSession(u.Session); err != nil {
		return err
	}
	if u.Acquire != nil && (u.Acquire.Owner == "" || u.Acquire.For <= 0) {
		return fmt.Errorf("lease: %w: needs an owner and a duration", backends.ErrInvalid)
	}
	if u.Release && u.Token == 0 {
		return fmt.Errorf("lease: %w: a release needs its token", backends.ErrInvalid)
	}
	if u.Title != nil {
		return validateTitle(*u.Title)
	}
	return nil
}
