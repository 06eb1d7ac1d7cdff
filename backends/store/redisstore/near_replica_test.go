// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testredis"
)

// What a replica has of the index is what its master has, whatever was changed; and
// after a failover the index goes on being right.
func TestReplicaHasTheSameIndex(t *testing.T) {
	flavour := testredis.NeedRedis(t, 8)
	master := flavour.Start(t)
	replica := flavour.StartReplica(t, master)
	client, copied := master.Client(t), replica.Client(t)
	s := newStore(t, client, nearConfig())
	p, r := user("replica"), rand.New(rand.NewPCG(1, 8))
	const n, dim, updates = 150, 8, 2000
	fill(t, s, p, r, n, dim)
	for done := 0; done < updates; {
		var batch []store.Mutation
		for _, i := range r.Perm(n)[:1+r.IntN(20)] {
			id := fmt.Sprint("id-", i)
			switch r.IntN(10) {
			case 0:
				batch = append(batch, store.Delete(id))
			default:
				batch = append(batch, putVector(id, randomVector(r, dim)))
			}
		}
		done += len(batch)
		applyTo(t, s, p, dim, batch...)
		if r.IntN(2) == 0 {
			require.NoError(t, s.BuildNear(t.Context(), p, decoder('a')))
		}
	}
	requireExact(t, s, s, p, randomVector(r, dim))
	conn := client.Conn()
	require.NoError(t, conn.Set(t.Context(), "last", 1, 0).Err())
	confirmed, err := conn.Wait(t.Context(), 1, 10*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, confirmed)
	require.NoError(t, conn.Close())

	elements := elementsOf(t, client, p.ID)
	require.Equal(t, elements, elementsOf(t, copied, p.ID))
	require.Equal(t, client.HGetAll(t.Context(), stateKey(p)).Val(), copied.HGetAll(t.Context(), stateKey(p)).Val())
	t.Logf("%d updates, %d elements", updates, len(elements))

	// A few more changes, which the index of the new master has not seen.
	applyTo(t, s, p, dim, putVector("late", randomVector(r, dim)), store.Delete("id-1"))
	_, err = client.Do(t.Context(), "wait", 1, 10_000).Result()
	require.NoError(t, err)
	master.Kill()
	replica.Promote(t)
	promoted := newStore(t, copied, nearConfig())
	requireExact(t, promoted, promoted, p, randomVector(r, dim))
	applyTo(t, promoted, p, dim, putVector("later", randomVector(r, dim)))
	requireExact(t, promoted, promoted, p, randomVector(r, dim))
}

// elementsOf returns all elements of an index with their vectors.
func elementsOf(t testing.TB, client *redis.Client, id string) map[string]string {
	t.Helper()
	key := setKey(user(id))
	card, err := client.VCard(t.Context(), key).Result()
	require.NoError(t, err)
	names, err := client.VRandMemberCount(t.Context(), key, int(card)).Result()
	require.NoError(t, err)
	out := map[string]string{}
	for _, name := range names {
		v, err := client.VEmb(t.Context(), key, name, true).Result()
		require.NoError(t, err)
		out[name] = fmt.Sprint(v)
	}
	assert.Len(t, out, int(card))
	return out
}
