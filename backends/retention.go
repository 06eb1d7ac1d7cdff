// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"
)

// Retention says what a backend erases when its time is over. Nothing is erased without
// one. What goes is erased as if it had never been stored: with its history and its vector.
//
// Several processes with the same Retention share one sweep: each looks at the partitions
// that no other looked at of late, and each memory is erased once. When a process is killed,
// the others do what it had not come to; the partition that it was at waits for the next
// sweep.
//
// Sessions end by the TTL of package working, not by rules.
type Retention struct {
	// Rules are applied in their order; a memory goes by the first that it meets. They
	// hold for users, agents and workspaces. Required. If one of them has UnusedFor or
	// AtMost, it is counted how often each memory is shown to a model: see [Memory.Uses].
	Rules []RetentionRule

	// Namespaces are those that are swept. Optional. Defaults to [DefaultNamespace] alone.
	Namespaces []string
	// Every is how often a partition is looked at in the background. Optional. Defaults to
	// 24 hours; below 0 never: then the backend's Retain does all. At least a minute.
	Every time.Duration
	// OnSweep is called after each sweep of a namespace in the background with what this
	// process erased. Failures are reported to the backend's OnError, or logged. Optional.
	OnSweep func(ctx context.Context, r *RetainReport)
}

// RetentionRule says which memories go. Zero fields forbid nothing; at least one is set.
// Core blocks always stay.
type RetentionRule struct {
	Kinds []Kind // Optional. Defaults to all kinds, whichever backend stored them.

	// OlderThan is how long a memory is kept after it was stored, whether it still holds
	// or not. Optional.
	OlderThan time.Duration

	// EndedFor is how long a memory is kept after it was superseded, retracted or expired.
	// What was said and taught nothing that still holds goes with the memory that it
	// taught: it would be found again as if it held. Words that say the same elsewhere
	// stay; a rule for KindEpisode with OlderThan reaches those. Optional.
	EndedFor time.Duration

	// UnusedFor is how long a memory that holds is kept without being shown to a model,
	// stored or changed. Time counts from the first sweep of its partition on, since
	// nothing was counted before. Optional.
	UnusedFor time.Duration

	// AtMost is how many memories of each of the kinds that still hold a partition keeps:
	// the least used, and of those the oldest, go. Optional.
	AtMost int
}

// UseCounter is implemented by backends that count uses: see [Retention].
type UseCounter interface {
	// Used reports that hits were shown to a model on behalf of the scope. It returns at
	// once: counts are stored once a minute, and by Close. Those that are not stored when
	// the process is killed, or that the store does not take then, are lost.
	Used(ctx context.Context, s Scope, hits []Hit)
}

// RetainRequest says where a Retention is applied.
type RetainRequest struct {
	Namespace string // Optional. Whose partitions are looked at. Defaults to [DefaultNamespace].
	DryRun    bool   // Report what would go, and erase nothing.

	// Progress is called after each partition with the report so far, which it must not
	// keep, from the caller's goroutine. Optional.
	Progress func(p Partition, r *RetainReport)
}

// RetainReason says by which part of a rule a memory goes.
type RetainReason string

// The reasons.
const (
	RetainOlder   RetainReason = "older"   // RetentionRule.OlderThan
	RetainEnded   RetainReason = "ended"   // RetentionRule.EndedFor, with what taught it
	RetainUnused  RetainReason = "unused"  // RetentionRule.UnusedFor
	RetainSurplus RetainReason = "surplus" // RetentionRule.AtMost
)

// RetainReport counts what a [Retention] erased, or in a dry run would erase.
type RetainReport struct {
	Namespace  string               `json:"namespace"`
	DryRun     bool                 `json:"dry_run,omitempty"`
	Partitions int                  `json:"partitions"` // looked at
	Memories   int                  `json:"memories"`   // looked at
	Erased     map[RetainReason]int `json:"erased,omitempty"`
	// Items are the first [MaxRetainItems] of what a dry run found.
	Items []RetainItem `json:"items,omitempty"`
}

// MaxRetainItems is how many [RetainReport].Items there are at most.
const MaxRetainItems = 1000

// RetainItem is a memory that would go.
type RetainItem struct {
	Partition Partition    `json:"partition"`
	ID        string       `json:"id"`
	Kind      Kind         `json:"kind"`
	Reason    RetainReason `json:"reason"`
}

// The keys of [Memory].Metadata in which uses are counted, by backends that do: see
// [Retention]. Counting raises the memory's Version, but neither changes Updated nor adds to
// the history.
const (
	MetaUses    = "uses"     // how often the memory was shown to a model: a number
	MetaLastUse = "last_use" // when it was shown last, in RFC 3339
)

// Uses returns how often the memory was shown to a model, and when last, by [MetaUses] and
// [MetaLastUse]: 0 and the zero time where uses are not counted.
func (m *Memory) Uses() (n int, last time.Time) {
	count, _ := m.Metadata[MetaUses].(float64)
	text, _ := m.Metadata[MetaLastUse].(string)
	last, _ = time.Parse(time.RFC3339, text)
	return int(count), last
}
