// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// running returns the ids of the running servers, on a Cluster the ids of all masters. New
// ids show that a server was restarted, or that a replica took over. The result is empty if
// a server hides its id or is out of reach: a Cluster works without it.
func (s *Store) running(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var mu sync.Mutex
	var ids []string
	read := func(ctx context.Context, c redis.UniversalClient) error {
		text, err := c.Info(ctx, "server").Result()
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
	if slices.Sort(ids); err != nil {
		return ""
	}
	return strings.Join(ids, " ")
}

// checkedAtOnce is how many partitions a call looks at after a restart.
const checkedAtOnce = 32

// checkRestarted looks at some partitions with messages to learn from, if a server was
// restarted since the last full check. It logs damage, and mends the lists of sessions: a
// worker learns only from sessions that it finds there.
func (s *Store) checkRestarted(ctx context.Context) error {
	now := s.running(ctx)
	if now == "" {
		return nil
	}
	before, err := s.client.HGet(ctx, s.storeKey(), "running").Result()
	if err != nil && !isNil(err) || before == now {
		return err
	}
	names, err := s.lex(ctx, s.workKey(), s.healing.checked, checkedAtOnce)
	for _, name := range names {
		if err := s.checkAfterRestart(ctx, name); err != nil {
			s.config.Logger.ErrorContext(ctx, "redisstore: a partition cannot be checked after a restart of the server", "partition", name, "error", err)
		}
		s.healing.checked = name
	}
	if err != nil || len(names) == checkedAtOnce {
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
	i := &inspection{Store: s, p: p, keys: s.keys(p), doing: "check " + p.String(), what: tidy}
	if err = i.records(ctx); err == nil {
		err = i.sessions(ctx)
	}
	if len(i.found) > 0 {
		s.config.Logger.ErrorContext(ctx, "redisstore: a partition is damaged after a restart of the server: lists of sessions are mended, run Reindex for the rest",
			"partition", p.String(), "found", i.found)
	}
	return err
}
