// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Config configures a [Store]. It is copied by [New].
type Config struct {
	// Prefix begins every key. Letters, digits, dots, dashes and underscores.
	// Optional. Defaults to "em".
	Prefix string

	// Clock is the time for the ends of leases and sessions. Processes that share a
	// server should agree on it within a second. Stored data stays right even if they
	// differ, since a fencing token guards each lease. Optional. Defaults to
	// backends.SystemClock.
	Clock backends.Clock

	// Retry is how long a call is retried after a transient failure: a connection that
	// broke, a failover, a slot that moves, a server that loads its data. The context
	// ends it earlier. Optional. Defaults to 2 seconds; a negative value turns it off.
	Retry time.Duration

	// Replicas is how many replicas must confirm a write within a second before it returns. A
	// write with too few confirmations is ErrUnavailable although the master has it; repeating it
	// is harmless, and waits again. Optional. Defaults to 0.
	Replicas int

	// Logger gets warnings about the server. Optional. Defaults to slog.Default.
	Logger *slog.Logger

	// confirmWithin is how long replicas may take. It is shorter than the ReadTimeout of go-redis'
	// clients, 3 seconds.
	confirmWithin time.Duration
}

const (
	defaultPrefix = "em"
	defaultRetry  = 2 * time.Second
)

var legalPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// withDefaults returns a checked copy with its defaults filled in.
func (c *Config) withDefaults() (Config, error) {
	out := *cmp.Or(c, &Config{})
	out.Prefix = cmp.Or(out.Prefix, defaultPrefix)
	out.Retry = cmp.Or(out.Retry, defaultRetry)
	out.confirmWithin = cmp.Or(out.confirmWithin, time.Second)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	switch {
	case !legalPrefix.MatchString(out.Prefix):
		return out, fmt.Errorf("redisstore: prefix %q: %w: up to 64 letters, digits, dots, dashes and underscores",
			out.Prefix, backends.ErrInvalid)
	case out.Replicas < 0:
		return out, fmt.Errorf("redisstore: %d replicas: %w: not below zero", out.Replicas, backends.ErrInvalid)
	}
	return out, nil
}

// Store is a [store.Store] in Redis. It is safe for concurrent use, and any
// number of processes may have one on the same server.
type Store struct {
	client redis.UniversalClient
	config Config
	server serverInfo
	id     string // of the storage, see Epoch
	owned  bool   // the client is closed with the store
	closed atomic.Bool

	healing healing
}

var _ store.Store = (*Store)(nil)

// New returns a store on a client, after a look at the server. One error names all
// problems there; dangers are logged. A nil cfg means the defaults. The client stays the
// caller's: Close leaves it open.
//
// The error is ErrInvalid for an unusable configuration, client or kind of server. It is
// ErrUnavailable for a server that is out of reach or refuses.
func New(ctx context.Context, client redis.UniversalClient, cfg *Config) (*Store, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, fmt.Errorf("redisstore: %w: no client: pass one, or use Open with a URL", backends.ErrInvalid)
	}
	s := &Store{client: client, config: c}
	if err := s.probe(ctx); err != nil {
		return nil, fmt.Errorf("redisstore: the server cannot be used: %w", err)
	}
	return s, nil
}

// Open connects to the server of a URL and returns a store on it, as [New] does;
// Close ends the connections. The URL is one of go-redis:
//
//	redis://user:password@host:6379/0                         one server
//	rediss://host:6380                                        the same over TLS
//	unix://user:password@/path/to/socket?db=0                 the same over a socket
//	redis://host:6379?cluster=true&addr=host2:6379            a Cluster
//	redis://sentinel:26379?master_name=mymaster&addr=host2:26379   a master found by Sentinels
//
// Other options of go-redis go into the query: pool_size, read_timeout and so on.
func Open(ctx context.Context, address string, cfg *Config) (*Store, error) {
	client, err := dial(address)
	if err != nil {
		return nil, fmt.Errorf("redisstore: open: %w: want a URL such as redis://localhost:6379/0: %w", backends.ErrInvalid, err)
	}
	s, err := New(ctx, client, cfg)
	if err != nil {
		_ = client.Close() // the error that matters is the other
		return nil, err
	}
	s.owned = true
	return s, nil
}

// dial makes the client that the URL asks for, and connects later. The client heeds deadlines
// of contexts; else a call of a silent server would outlast them.
func dial(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, withoutPassword(err)
	}
	query := u.Query()
	cluster := query.Get("cluster") == "true"
	query.Del("cluster")
	u.RawQuery = query.Encode()
	switch {
	case cluster:
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled = true
		return redis.NewClusterClient(o), nil
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled = true
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	return redis.NewClient(o), nil
}

// withoutPassword drops the URL, which may hold a password, from a parse error.
func withoutPassword(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // url.Parse returns it bare
		return e.Err
	}
	return err
}

// Close ends the store: later calls are ErrUnavailable. A client that was given to New
// stays open.
func (s *Store) Close() error {
	if s.closed.Swap(true) || !s.owned {
		return nil
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // a failover closes connections first
		return fmt.Errorf("redisstore: close: %w", err)
	}
	return nil
}

func (s *Store) now() time.Time { return s.config.Clock() }
