// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// A server can lose one key of a partition and keep the others: it evicts, a part of a backup
// is restored, a key is deleted by hand. T:meta records which other keys exist, and T:has
// records the keys of each session; scripts write these with the entries. Calls compare them in
// their own round trip. A partition or session of an earlier build gets its record with the
// next write. A node of a Cluster can also lose all keys of a partition: see [Store.vanished].
//
// The loss of a session with an end looks like its end, since the server removes it then.
// The loss of everything, with the registry, looks like a new server.

// The letters in T:has for the keys of a session.
const (
	hasState = "s" // its state, which has no end
	hasEnd   = "t" // or its state, which ends
	hasBlobs = "b"
)

// blobsOnServer is the reading that shows whether a session has its blobs.
type blobsOnServer struct {
	key     string
	expires *redis.StringCmd
	held    *redis.IntCmd
	kept    *redis.StringCmd
}

// readBlobs adds the reading to a pipeline.
func readBlobs(ctx context.Context, pipe redis.Pipeliner, k keys, id string) blobsOnServer {
	of := k.session(id)
	return blobsOnServer{of.blobs(), pipe.HGet(ctx, of.state(), "expires"), pipe.Exists(ctx, of.blobs()), pipe.HGet(ctx, k.has(), id)}
}

// gone reports whether they have ended with their session, and fails if they were lost.
func (b blobsOnServer) gone(now time.Time) (bool, error) {
	gone, err := past(b.expires.Val(), now)
	kept := b.kept.Val()
	ended := strings.Contains(kept, hasEnd) && b.expires.Val() == ""
	if err == nil && !gone && !ended && b.held.Val() == 0 && strings.Contains(kept, hasBlobs) {
		err = incomplete(b.key)
	}
	return gone || ended, err
}

// errVanished is the error for a partition that lost every key on the server.
var errVanished = fmt.Errorf("%w: the server lost all of it: restore a backup, or run Reindex or Drop to begin anew", errIncomplete)

// vanished returns an error if a partition without any key was written before, as the registry
// knows. A dropped partition is fine. It costs a round trip or two, so call it only for an
// empty partition. The registry is read before the keys: nodes of a Cluster answer in any
// order, and the first write may come between.
func (s *Store) vanished(ctx context.Context, p backends.Partition) error {
	err := s.client.ZScore(ctx, s.writtenKey(escape(p.Namespace)), local(p)).Err()
	if isNil(err) {
		return nil
	}
	k := s.keys(p)
	var left int64
	if err == nil {
		left, err = s.client.Exists(ctx, append(k.all(), k.lives())...).Result()
	}
	if err != nil {
		return err
	}
	if left == 0 {
		return fmt.Errorf("%s: %w", p, errVanished)
	}
	return nil
}

// The fields of T:meta that have a 1 or a 0 for each of some keys.
const (
	haveRecords  = "records"  // the keys of memories, see ofRecords
	haveSessions = "sessions" // the lists of sessions, see ofSessions
)

func (k keys) ofRecords() []string { return k.all()[1:10] }

func (k keys) ofSessions() []string { return []string{k.pending(), k.born(), k.has()} }

// The places of T:pend and T:born in ofSessions.
const (
	pendingAt = iota
	bornAt
)

// has reports whether a field of T:meta has a key.
func has(field string, at int) bool { return at < len(field) && field[at] == '1' }

// readRecords sends commands at once, and fails if a key of memories was lost.
func (s *Store) readRecords(ctx context.Context, p backends.Partition, fill func(redis.Pipeliner)) error {
	return s.readWhole(ctx, p, haveRecords, s.keys(p).ofRecords(), fill)
}

// readWhole returns an error if one of the keys that T:meta records in a field is
// missing.
func (s *Store) readWhole(ctx context.Context, p backends.Partition, field string, these []string, fill func(redis.Pipeliner)) error {
	k := s.keys(p)
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
	case n == 0 && meta[1] == "":
		return s.vanished(ctx, p)
	case meta[0] != "" && n != int64(strings.Count(meta[0], "1")):
		return s.missing(ctx, meta[0], these)
	}
	return nil
}

// missing finds the lost key.
func (s *Store) missing(ctx context.Context, field string, these []string) error {
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
		if has(field, i) && exist[i].Val() == 0 {
			return incomplete(key)
		}
	}
	return nil // keys beyond the record come from half a write
}

var errIncomplete = fmt.Errorf("%w: incomplete", backends.ErrUnavailable)

// incomplete is the error for a partition that has lost a key, or a session that has lost
// messages. Scripts fail with the code INCOMPLETE and the key.
func incomplete(key string) error {
	way := "Reindex rebuilds it"
	switch key[strings.LastIndexByte(key, ':')+1:] {
	case "meta":
		way = "Reindex rebuilds it but for the model of the vectors, which the next batch names again"
	case "rec", "vec", "his", "del", "idem", "idemt", "blobs":
		way = "restore a backup, or run Reindex to go on with what is left"
	case "st":
		way = "restore a backup, or delete the session: Reindex cannot rebuild it"
	case "log":
		way = "run Reindex, which removes messages that are there twice; if some are missing restore a backup, or delete the session"
	}
	return fmt.Errorf("%w: the server lost %s or a part of it: %s", errIncomplete, key, way)
}
