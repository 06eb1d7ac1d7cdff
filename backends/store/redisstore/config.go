// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/einomem/einomem/backends"
)

// Config configures a [Store]. It is copied by [New].
type Config struct {
	// Prefix begins every key. Letters, digits, dots, dashes and underscores.
	// Optional. Defaults to "em".
	Prefix string

	// Clock tells the time that leases and sessions end by. Processes that share
	// a server should agree on it within a second; what is stored stays right
	// even if they do not, since a lease is guarded by its token. Optional.
	// Defaults to backends.SystemClock.
	Clock backends.Clock

	// Retry is how long a call is repeated that failed for a passing reason: a
	// connection that broke, a failover, a slot that moves, a server that loads its
	// data. The context ends it earlier. Optional. Defaults to 2 seconds; negative
	// is not at all.
	Retry time.Duration

	// Replicas is how many replicas must confirm a write before it returns, and
	// ReplicaTimeout how long they may take. A write that too few confirm is
	// ErrUnavailable although the master has it; repeating it is harmless, and waits
	// again. The time must be shorter than the client's ReadTimeout (3 seconds).
	// Optional. Defaults to 0 replicas and one second.
	Replicas       int
	ReplicaTimeout time.Duration

	// Near says how vector sets are used for large partitions. Optional.
	Near NearConfig

	// Logger gets warnings about the server. Optional. Defaults to slog.Default.
	Logger *slog.Logger
}

const (
	defaultPrefix         = "em"
	defaultRetry          = 2 * time.Second
	defaultReplicaTimeout = time.Second
)

var legalPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// withDefaults returns a checked copy with its defaults filled in.
func (c *Config) withDefaults() (Config, error) {
	var out Config
	if c != nil {
		out = *c
	}
	if out.Prefix == "" {
		out.Prefix = defaultPrefix
	}
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	if out.Retry == 0 {
		out.Retry = defaultRetry
	}
	if out.ReplicaTimeout == 0 {
		out.ReplicaTimeout = defaultReplicaTimeout
	}
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	switch {
	case !legalPrefix.MatchString(out.Prefix):
		return out, fmt.Errorf("redisstore: prefix %q: %w: up to 64 letters, digits, dots, dashes and underscores", out.Prefix, backends.ErrInvalid)
	case out.Replicas < 0 || out.ReplicaTimeout < 0:
		return out, fmt.Errorf("redisstore: %d replicas within %s: %w: not below zero", out.Replicas, out.ReplicaTimeout, backends.ErrInvalid)
	}
	return out, out.Near.setDefaults()
}
