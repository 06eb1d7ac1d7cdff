// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// A server can lose one key of a partition and keep the others: it evicts, a part of a
// backup is restored, a key is deleted by hand. T:meta has which of the other keys there
// are, and a session's state how many messages its log and ids have; scripts write these
// with the entries. Calls compare them, in the round trip that they take anyway. A
// partition that an earlier build wrote has none until the next write.

// The fields of T:meta that have a 1 or a 0 for each of some keys.
const (
	haveRecords  = "records"  // those of memories, see ofRecords
	haveSessions = "sessions" // the lists of sessions, see ofSessions
)

func (k keys) ofRecords() []string { return k.all()[1:9] }

func (k keys) ofSessions() []string { return []string{k.pending(), k.born()} }

// The places of T:pend and T:born in ofSessions.
const (
	pendingAt = iota
	bornAt
)

// has reports whether a field of T:meta has a key.
func has(field string, at int) bool { return at < len(field) && field[at] == '1' }

// readRecords sends commands at once, and fails if a key of memories was lost.
func (s *Store) readRecords(ctx context.Context, k keys, fill func(redis.Pipeliner)) error {
	return s.readWhole(ctx, k, haveRecords, k.ofRecords(), fill)
}

// readWhole fails if not those keys are there that T:meta has in a field.
func (s *Store) readWhole(ctx context.Context, k keys, field string, these []string, fill func(redis.Pipeliner)) error {
	var known *redis.SliceCmd
	var found *redis.IntCmd
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) {
		known, found = pipe.HMGet(ctx, k.meta(), field, "inc"), pipe.Exists(ctx, these...)
		fill(pipe)
	})
	if err != nil {
		return err
	}
	meta := texts(known.Val())
	switch n := found.Val(); {
	case meta[0] == "" && n > 0 && meta[1] == "":
		return incomplete(k.meta())
	case meta[0] != "" && n != int64(strings.Count(meta[0], "1")):
		return s.missing(ctx, k, meta[0], these)
	}
	return nil
}

// missing finds out which of the keys is lost.
func (s *Store) missing(ctx context.Context, k keys, field string, these []string) error {
	exist := make([]*redis.IntCmd, len(these))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, key := range these {
			exist[i] = pipe.Exists(ctx, key)
		}
	})
	if err != nil {
		return err
	}
	for i, key := range these {
		if has(field, i) != (exist[i].Val() > 0) {
			return incomplete(key)
		}
	}
	return incomplete(k.meta())
}

var errIncomplete = fmt.Errorf("%w: incomplete", backends.ErrUnavailable)

// incomplete is the error for a partition that has lost a key, or a session that has lost
// messages. Scripts fail with the code INCOMPLETE and the key.
func incomplete(key string) error {
	way := "Reindex rebuilds it"
	switch key[strings.LastIndexByte(key, ':')+1:] {
	case "meta":
		way = "Reindex rebuilds it but for the model of the vectors, which the next batch names again"
	case "rec", "vec", "his", "del", "idem", "idemt":
		way = "restore a backup, or run Reindex to go on with what is left"
	case "st", "log":
		way = "restore a backup, or delete the session: Reindex cannot rebuild it"
	}
	return fmt.Errorf("%w: the server lost %s or a part of it: %s", errIncomplete, key, way)
}
