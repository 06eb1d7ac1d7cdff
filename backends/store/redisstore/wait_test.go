// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// someone is the partition of one user.
func someone(id string) backends.Partition {
	return backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: id}
}

// message is one message of a turn, with an id of its own.
func message(id string) store.Entry {
	return store.Entry{Message: backends.Message{Message: schema.UserMessage("text of " + id), ID: id, Turn: "t"}, Tokens: 1}
}

func saying(ids ...string) *store.Append {
	a := &store.Append{Scope: backends.Scope{UserID: "ann"}}
	for _, id := range ids {
		a.Entries = append(a.Entries, message(id))
	}
	return a
}

// putting is a batch of one memory for each id.
func putting(ids ...string) *store.Batch {
	b := &store.Batch{}
	for _, id := range ids {
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: "text of " + id}}))
	}
	return b
}

// What too few replicas confirmed is not acknowledged, however often and by whom
// it is repeated: the repeat finds the write done, and still waits for it.
func TestARepeatWaitsForWhatWasWrittenBefore(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			master := f.Start(t)
			replica := f.StartReplica(t, master)
			cfg := &redisstore.Config{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond, Retry: -1}
			s, ann := newStore(t, master.Client(t), cfg), someone("ann")
			_, err := newStore(t, master.Client(t), &redisstore.Config{Replicas: 1}).Append(t.Context(), ann, "s", saying("1"))
			require.NoError(t, err)
			replica.Freeze()
			keyed := putting("a")
			keyed.Key = "once"
			for i, repeated := range []*redisstore.Store{s, newStore(t, master.Client(t), cfg), newStore(t, master.Client(t), cfg)} {
				_, err = repeated.Append(t.Context(), ann, "s", saying("2"))
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("append ", i))
				require.ErrorContains(t, err, "0 of 1 replicas confirmed it within 50ms")
				_, err = repeated.Apply(t.Context(), ann, keyed)
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("apply ", i))
			}
		})
	}
}
