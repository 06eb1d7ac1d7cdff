// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"net/url"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

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

// dial makes the client that the URL asks for. It does not connect yet.
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
	o.ContextTimeoutEnabled = true // else a server that does not answer outlasts the context
	return redis.NewClient(o), nil
}

// withoutPassword drops the URL, which may hold a password, from an error of
// parsing it.
func withoutPassword(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // url.Parse returns it bare
		return e.Err
	}
	return err
}
