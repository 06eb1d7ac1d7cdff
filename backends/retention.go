// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"
)

// Retention says which memories a backend erases when their time is over. The default is
// to keep everything. An erased memory leaves no trace: it goes with its history and its
// vector.
//
// Several processes with the same Retention share one sweep. Each takes the partitions that
// were not swept of late, and each memory is erased once. After a process is killed, the
// others do the rest of its sweep; its current partition waits for the next sweep.
//
// Sessions end by the TTL of package working, outside the rules.
type Retention struct {
	// Rules are applied in their order; a memory goes by the first rule that it meets.
	// They hold for users, agents and workspaces. Required. A rule with UnusedFor or
	// AtMost makes the backend count how often a model is shown each memory: see
	// [Memory.Uses].
	Rules []RetentionRule

	// Namespaces are swept. Optional. Defaults to [DefaultNamespace] alone.
	Namespaces []string
	// Every is the interval of the background sweep of a partition. Optional. Defaults to
	// 24 hours, at least a minute. Below 0 the background sweep is off: then the backend's
	// Retain does all.
	Every time.Duration
	// OnSweep is called after each background sweep of a namespace with a report of this
	// process's work. Failures go to the backend's OnError, or to the log. Optional.
	OnSweep func(ctx context.Context, r *RetainReport)
}

// RetentionRule says which memories go. A zero field sets no limit; at least one is set.
// Core blocks always stay.
type RetentionRule struct {
	Kinds []Kind // Optional. Defaults to all kinds, whichever backend stored them.

	// OlderThan is how long a memory, active or ended, is kept after it was stored.
	// Optional.
	OlderThan time.Duration

	// EndedFor is how long a memory is kept after it was superseded, retracted or expired.
	// The words that taught it go with it, unless they taught something that still holds:
	// a search would find them again as if they held. Equal words elsewhere stay; a rule
	// for KindEpisode with OlderThan reaches those. Optional.
	EndedFor time.Duration

	// UnusedFor is how long an active memory is kept after it was last shown to a model,
	// stored or changed. Time counts from the first sweep of its partition on, since
	// counting begins there. Optional.
	UnusedFor time.Duration

	// AtMost is the most active memories of each of the kinds that a partition keeps. The
	// least used go first, and among those the oldest. Optional.
	AtMost int
}

// UseCounter is implemented by backends that count uses: see [Retention].
type UseCounter interface {
	// Used reports that a model was shown the hits on behalf of the scope. It returns at
	// once: counts are stored once a minute, and by Close. Counts are lost if the process
	// is killed before, or if the store refuses them then.
	Used(ctx context.Context, s Scope, hits []Hit)
}

// RetainRequest says where to apply a Retention.
type RetainRequest struct {
	Namespace string // Optional. The namespace of the partitions. Defaults to [DefaultNamespace].
	DryRun    bool   // Report what would go, and erase nothing.

	// Progress is called after each partition with the report so far, from the caller's
	// goroutine. The report is valid during the call alone. Optional.
	Progress func(p Partition, r *RetainReport)
}

// RetainReason is the part of a rule by which a memory goes.
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
	// Items are the first 1,000 finds of a dry run.
	Items []RetainItem `json:"items,omitempty"`
}

// RetainItem is a memory that would go.
type RetainItem struct {
	Partition Partition    `json:"partition"`
	ID        string       `json:"id"`
	Kind      Kind         `json:"kind"`
	Reason    RetainReason `json:"reason"`
}

// The keys of [Memory].Metadata for the counts of uses, in backends that count: see
// [Retention]. A count raises the memory's Version, but leaves Updated and the history as
// they are.
const (
	MetaUses    = "uses"     // how often the memory was shown to a model: a number
	MetaLastUse = "last_use" // when it was shown last, in RFC 3339
)

// Uses returns how often a model was shown the memory, and when last, by [MetaUses] and
// [MetaLastUse]. Both are zero in a backend that does not count.
func (m *Memory) Uses() (n int, last time.Time) {
	count, _ := m.Metadata[MetaUses].(float64)
	text, _ := m.Metadata[MetaLastUse].(string)
	last, _ = time.Parse(time.RFC3339, text)
	return int(count), last
}
