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
// backup is restored, somebody deletes. T:meta has how many entries the other keys have,
// and a session's state how many messages its log and ids have; scripts write these with
// the entries. Calls compare them, in the round trip that they take anyway. A partition that
// an earlier build wrote has none until the next write.

const (
	recordSizes  = "sizes" // the field of T:meta for the keys of memories
	sessionSizes = "lists" // that for the lists of sessions
)

// ofRecords are the keys that the field sizes counts, in its order.
func (k keys) ofRecords() []string { return k.all()[1:9] }

// ofSessions are those that the field lists counts.
func (k keys) ofSessions() []string { return []string{k.pending(), k.born()} }

// whole adds to a pipeline what the function that it returns looks at: whether keys have
// the sizes that T:meta has in a field. All must be read at once.
func (k keys) whole(ctx context.Context, pipe redis.Pipeliner, field string, counted []string) func() error {
	known, sizes := pipe.HMGet(ctx, k.meta(), field, "inc"), make([]*redis.Cmd, len(counted))
	for i, key := range counted {
		sizes[i] = pipe.Do(ctx, counting[key[strings.LastIndexByte(key, ':')+1:]], key)
	}
	return func() error {
		meta := texts(known.Val())
		want := strings.Fields(meta[0])
		if len(want) == 0 && meta[1] != "" { // an earlier build wrote it last
			return nil
		}
		for i, size := range sizes {
			n, _ := size.Int64()
			switch {
			case len(want) == 0 && n > 0:
				return incomplete(k.meta())
			case len(want) > 0 && (i >= len(want) || fmt.Sprint(n) != want[i]):
				return incomplete(counted[i])
			}
		}
		return nil
	}
}

// counting are the commands that return the sizes of keys.
var counting = map[string]string{"rec": "HLEN", "vec": "HLEN", "chg": "ZCARD", "del": "ZCARD", "his": "HLEN", "idem": "HLEN",
	"idemt": "ZCARD", "tips": "LLEN", "pend": "ZCARD", "born": "ZCARD"}

// sessionsOf reads the field lists: how many sessions are pending, and how many there are.
func sessionsOf(lists string) (pending, born int64) {
	_, _ = fmt.Sscan(lists, &pending, &born) // none where there is no such field
	return pending, born
}

var errIncomplete = fmt.Errorf("%w: incomplete", backends.ErrUnavailable)

// incomplete is the error for a partition that has lost a key, or entries of it. Scripts
// fail with the code INCOMPLETE and the key.
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
