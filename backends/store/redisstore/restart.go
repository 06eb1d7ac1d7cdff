// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// running returns the ids of the servers that run, of a Cluster those of all masters.
// Others than before say that one was restarted, or that a replica took over. They are empty
// if a server does not report its id.
func (s *Store) running(ctx context.Context) (string, error) {
	var mu sync.Mutex
	var ids []string
	read := func(ctx context.Context, c redis.UniversalClient) error {
		text, err := c.Info(ctx, "server").Result()
		if errors.As(err, new(redis.Error)) && !transient(err) { // it does not report
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, infoFields(text)["run_id"])
		return err
	}
	var err error
	if c, ok := s.client.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return read(ctx, c) })
	} else {
		err = read(ctx, s.client)
	}
	slices.Sort(ids)
	return strings.Join(ids, " "), err
}

// checkRestarted looks at some of the partitions with messages not learnt from if a server
// was restarted since all were looked at. It logs what is wrong, and mends the lists of
// sessions: what a worker does not find there it would never learn from.
func (s *Store) checkRestarted(ctx context.Context) error {
	now, err := s.running(ctx)
	if now == "" || err != nil {
		return err
	}
	before, err := s.client.HGet(ctx, s.storeKey(), "running").Result()
	if err != nil && !isNil(err) || before == now {
		return err
	}
	names, err := s.lex(ctx, s.workKey(), s.healing.checked, listAhead)
	for _, name := range names {
		if err := s.checkAfterRestart(ctx, name); err != nil {
			s.config.Logger.ErrorContext(ctx, "redisstore: a partition cannot be checked after a restart of the server", "partition", name, "error", err)
		}
		s.healing.checked = name
	}
	if err != nil || len(names) == listAhead {
		return err
	}
	s.healing.checked = ""
	return s.client.HSet(ctx, s.storeKey(), "running", now).Err()
}

func (s *Store) checkAfterRestart(ctx context.Context, member string) error {
	p, err := parseMember(member)
	if err != nil {
		return err
	}
	i := &inspection{Store: s, p: p, keys: s.keys(p), doing: "check " + p.String(), mend: true}
	for _, step := range []func(context.Context) error{i.records, i.sessions} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if len(i.found) > 0 {
		s.config.Logger.ErrorContext(ctx, "redisstore: a restart of the server damaged a partition: run Reindex, unless a list of sessions is all", "partition", p.String(), "found", i.found)
	}
	return nil
}
