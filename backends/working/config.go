// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Config configures a [Memory]. It is copied by [New].
type Config struct {
	// Sessions keeps the log. Required. Processes that share it share the work.
	Sessions store.Sessions
	// Backend learns from the log. Required. It stays open when the Memory is closed.
	Backend backends.Backend

	// A session is consolidated once MaxTurns complete turns (default 8) or MaxTokens
	// tokens (default 4000) are pending, or Idle (default 1 s) after its last turn.
	// MaxTurns and MaxTokens also bound what one call of the backend gets: a longer
	// backlog is learnt in several calls, and a message larger than MaxTokens alone.
	MaxTurns  int
	MaxTokens int
	Idle      time.Duration

	// OpenTurn is how long after its last message a turn that is not Done counts as
	// complete: its process died, or nothing marked its end. Until then the turn and
	// what follows it stay pending. Defaults to 2 minutes.
	OpenTurn time.Duration
	// Lease is how long a session stays with a process that died while it consolidated.
	// It is renewed while the backend works. Defaults to 30 seconds.
	Lease time.Duration
	// Timeout bounds one call of the backend. Defaults to 5 minutes.
	Timeout time.Duration

	// MaxAttempts is how often a range of the log is tried before it is divided to find
	// the turn that spoils it. Defaults to 5. Attempts that end in
	// backends.ErrUnavailable may be ten times as many, which takes about three and a
	// half hours with the default Backoff: an outage is no fault of the messages.
	MaxAttempts int
	// Backoff is the longest pause after the first failure. It doubles with each further
	// failure, up to 300 times Backoff. Each pause is a random one between half of that
	// and all of it. Defaults to 1 second, and so to at most 5 minutes.
	Backoff time.Duration

	// Workers is how many sessions this process appends to, consolidates, and takes over
	// from other processes at the same time. Defaults to 2 of each.
	Workers int
	// Queue is how many recorded turns may be pending. Defaults to 1024.
	Queue int
	// TTL ends a session so long after its last message, learnt from or not; a failure
	// to learn from it counts as a message. Defaults to never.
	TTL time.Duration
	// Sweep is how often to look for sessions that other processes left. Defaults to 30
	// seconds; negative is never, for a process that only reads.
	Sweep time.Duration

	// Redact changes texts before they are stored: contents, text parts, reasoning and
	// arguments of tool calls. Optional.
	Redact func(string) string
	// OnError gets what failed in the background. stage is one of the Stage constants.
	// It is called by several goroutines and must return quickly. Optional; log/slog's
	// default logger gets it in any case.
	OnError func(ctx context.Context, stage string, err error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Sessions == nil || c.Backend == nil {
		return Config{}, fmt.Errorf("working memory: %w: Config.Sessions and Config.Backend are required", backends.ErrInvalid)
	}
	d := *c
	if d.Sweep == 0 {
		d.Sweep = 30 * time.Second
	}
	if d.Redact == nil {
		d.Redact = func(s string) string { return s }
	}
	if d.Clock == nil {
		d.Clock = backends.SystemClock
	}
	if d.IDs == nil {
		d.IDs = backends.NewID
	}
	return d, errors.Join(
		orDefault("MaxTurns", &d.MaxTurns, 8), orDefault("MaxTokens", &d.MaxTokens, 4000),
		orDefault("MaxAttempts", &d.MaxAttempts, 5), orDefault("Workers", &d.Workers, 2), orDefault("Queue", &d.Queue, 1024),
		orDefault("Idle", &d.Idle, time.Second), orDefault("OpenTurn", &d.OpenTurn, 2*time.Minute),
		orDefault("Lease", &d.Lease, 30*time.Second), orDefault("Timeout", &d.Timeout, 5*time.Minute),
		orDefault("Backoff", &d.Backoff, time.Second), orDefault("TTL", &d.TTL, 0),
	)
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
