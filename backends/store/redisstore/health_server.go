// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ServerHealth is what one server tells of itself. A managed one may tell nothing:
// then all but Address is zero.
type ServerHealth struct {
	Address string // empty where the client does not tell it
	Name    string // redis or valkey
	Version string
	Role    string // master or slave

	// Policy is what the server does when its memory is full (maxmemory-policy), as
	// it was when the store was opened if it does not tell.
	Policy      string
	MemoryUsed  int64 // bytes
	MemoryLimit int64 // bytes; 0: none

	AppendOnly bool   // whether every write goes to a file
	SaveFailed string // which way of saving failed the last time; empty: none
	Loading    bool
	Replicas   int // connected ones
}

// fullAt is the share of the memory limit from which Health warns.
const fullAt = 0.9

// servers asks the server, or all masters side by side.
func (s *Store) servers(ctx context.Context) ([]ServerHealth, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		one, err := s.askServer(ctx, s.client)
		return []ServerHealth{one}, err
	}
	var mu sync.Mutex
	var out []ServerHealth
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		one, err := s.askServer(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, one)
		return err
	})
	slices.SortFunc(out, func(a, b ServerHealth) int { return strings.Compare(a.Address, b.Address) })
	return out, err
}

// askServer reads INFO. A server that answers, but does not tell, is no error.
func (s *Store) askServer(ctx context.Context, node redis.Cmdable) (ServerHealth, error) {
	out := ServerHealth{Policy: s.server.policy}
	if c, ok := node.(*redis.Client); ok {
		out.Address = c.Options().Addr
	}
	text, err := node.Info(ctx).Result()
	if err != nil {
		if r, known := reasonOf(err); known && r.code != "NOPERM" || !errors.As(err, new(redis.Error)) {
			return out, err
		}
		return out, nil
	}
	out.read(parseInfo(text))
	return out, nil
}

func (h *ServerHealth) read(f map[string]string) {
	h.Version, h.Role = f["redis_version"], f["role"]
	if h.Version != "" {
		h.Name = "redis"
	}
	if v := f["valkey_version"]; v != "" {
		h.Name, h.Version = "valkey", v
	}
	if p := f["maxmemory_policy"]; p != "" {
		h.Policy = p
	}
	h.MemoryUsed, _ = strconv.ParseInt(f["used_memory"], 10, 64)
	h.MemoryLimit, _ = strconv.ParseInt(f["maxmemory"], 10, 64)
	h.AppendOnly, h.Loading = f["aof_enabled"] == "1", f["loading"] == "1"
	h.Replicas, _ = strconv.Atoi(f["connected_slaves"])
	for _, way := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if v := f[way]; v != "" && v != "ok" {
			h.SaveFailed = way
		}
	}
}

// warnings are about one server.
func (h *ServerHealth) warnings(s *Store) (out []string) {
	say := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if h.Address != "" {
			text = h.Address + ": " + text
		}
		out = append(out, text)
	}
	if h.Policy != "" && h.Policy != "noeviction" {
		say("maxmemory-policy is %s: a full server throws data away: set noeviction", h.Policy)
	}
	if h.MemoryLimit > 0 && float64(h.MemoryUsed) >= fullAt*float64(h.MemoryLimit) {
		say("its memory is full to %d of %d bytes: raise maxmemory or drop something before it refuses writes", h.MemoryUsed, h.MemoryLimit)
	}
	if h.SaveFailed != "" {
		say("it could not save (%s): look at its disk and log", h.SaveFailed)
	}
	if h.Version == "" {
		return out // it does not tell
	}
	if !h.AppendOnly {
		say("the append-only file is off: a crash loses what was written since the last snapshot")
	}
	if h.Loading {
		say("it loads its data")
	}
	if h.Role == "slave" {
		say("it is a replica: writes fail until it is promoted")
	}
	if h.Replicas < s.config.Replicas {
		say("%d replicas are connected, every write waits for %d", h.Replicas, s.config.Replicas)
	}
	return out
}

// warn puts what wants attention into words.
func (h *Health) warn(s *Store) {
	for n := range h.Servers {
		h.Warnings = append(h.Warnings, h.Servers[n].warnings(s)...)
	}
	if h.Backlog.Age >= lateAfter {
		h.Warnings = append(h.Warnings, fmt.Sprintf("a message of %s was not learnt from yet, %s ago: is a worker running, and what do its errors say?",
			timeText(h.Backlog.Oldest), h.Backlog.Age))
	}
	for _, d := range h.Drift {
		h.Warnings = append(h.Warnings, fmt.Sprintf("%s: its indexes disagree (%s): run Repair", d.Partition, d.What))
	}
}
