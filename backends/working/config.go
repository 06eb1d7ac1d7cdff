// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
)

// Config configures a [Memory]. It is copied by [New].
type Config struct {
	// Sessions keeps the log. Required. Processes that share it share the work.
	Sessions store.Sessions
	// Backend learns from the log. Required. It stays open when the Memory is closed.
	Backend backends.Backend

	// A session is consolidated once MaxTurns complete turns (default 8) or
	// MaxTokens tokens (default 4000) wait, or Idle (default 1 s) after the last
	// turn. Both numbers also bound what one call of the backend gets: longer
	// backlogs are learnt in several calls, and a message larger than MaxTokens
	// goes alone.
	MaxTurns  int
	MaxTokens int
	Idle      time.Duration

	// OpenTurn is how long after its last message a turn that was not marked as
	// done counts as complete: its process died, or nobody told. Until then it
	// and what follows it wait. Defaults to 2 minutes.
	OpenTurn time.Duration
	// Lease is how long a session stays with a process that died while it
	// consolidated. Renewed while a model works. Defaults to 30 seconds.
	Lease time.Duration
	// Timeout bounds one call of the backend. Defaults to 5 minutes.
	Timeout time.Duration

	// MaxAttempts is how often a stretch of the log is tried before the turn that
	// spoils it is looked for, by trying halves of it; then that turn is put among
	// the session's failures and what follows it is learnt. Defaults to 5.
	// A stretch of which a try ended without a clear answer is put there whole.
	// An unavailable backend says nothing about the stretch, so that attempts
	// which end in backends.ErrUnavailable may be ten times as many: about three
	// and a half hours with the default Backoff and MaxBackoff.
	MaxAttempts int
	// Backoff is the longest pause after the first failure (default 1 s). It
	// doubles with each further one, up to MaxBackoff (default 5 min). The pause
	// is drawn from its upper half.
	Backoff    time.Duration
	MaxBackoff time.Duration

	// Workers is how many sessions this process appends to, and how many it
	// consolidates, at a time. Sessions left by others are as many again.
	// Defaults to 2.
	Workers int
	// Queue is how many recorded turns may wait to be appended. Defaults to 1024.
	Queue int
	// Overlap is how many messages before the new ones are shown to the backend
	// as context. Defaults to 10; negative is none.
	Overlap int
	// TTL ends a session so long after its last message, learnt from or not.
	// Defaults to never.
	TTL time.Duration
	// Sweep is how often sessions that other processes left are looked for.
	// Defaults to 30 seconds; negative is never, for a process that only reads.
	Sweep time.Duration

	// Redact changes texts before they are stored: contents, text parts,
	// reasoning and arguments of tool calls. Optional.
	Redact func(string) string
	// Tokens counts the tokens of a message. Defaults to [compaction.Estimate].
	Tokens compaction.Counter
	// OnError is told what went wrong off the caller's path. stage is "append",
	// "consolidate" or "sweep". It is called by several goroutines and must
	// return quickly. Optional; log/slog's default logger is told in any case.
	OnError func(ctx context.Context, stage string, err error)

	Jitter func() float64    // Optional. Numbers from 0 to 1 that spread pauses. Defaults to math/rand/v2.
	Clock  backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs    backends.IDSource // Optional. Defaults to backends.NewID.
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Sessions == nil || c.Backend == nil {
		return Config{}, fmt.Errorf("working memory: %w: Config.Sessions and Config.Backend are required", backends.ErrInvalid)
	}
	d := *c
	for _, n := range []struct {
		name  string
		value *int
		def   int
	}{{"MaxTurns", &d.MaxTurns, 8}, {"MaxTokens", &d.MaxTokens, 4000}, {"MaxAttempts", &d.MaxAttempts, 5}, {"Workers", &d.Workers, 2}, {"Queue", &d.Queue, 1024}} {
		if err := orDefault(n.name, n.value, n.def); err != nil {
			return Config{}, err
		}
	}
	for _, n := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Idle", &d.Idle, time.Second}, {"OpenTurn", &d.OpenTurn, 2 * time.Minute}, {"Lease", &d.Lease, 30 * time.Second},
		{"Timeout", &d.Timeout, 5 * time.Minute}, {"Backoff", &d.Backoff, time.Second}, {"MaxBackoff", &d.MaxBackoff, 5 * time.Minute}, {"TTL", &d.TTL, 0},
	} {
		if err := orDefault(n.name, n.value, n.def); err != nil {
			return Config{}, err
		}
	}
	d.functions()
	if d.Overlap == 0 {
		d.Overlap = 10
	}
	if d.Sweep == 0 {
		d.Sweep = 30 * time.Second
	}
	return d, nil
}

func (c *Config) functions() {
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Tokens == nil {
		c.Tokens = compaction.Estimate
	}
	if c.OnError == nil {
		c.OnError = func(context.Context, string, error) {}
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Clock == nil {
		c.Clock = backends.SystemClock
	}
	if c.IDs == nil {
		c.IDs = backends.NewID
	}
}

func orDefault[N int | time.Duration](name string, value *N, def N) error {
	if *value < 0 {
		return fmt.Errorf("working memory: Config.%s is %v: %w: leave it zero for the default", name, *value, backends.ErrInvalid)
	}
	if *value == 0 {
		*value = def
	}
	return nil
}
