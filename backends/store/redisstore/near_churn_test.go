// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// churn changes a small partition at random.
type churn struct {
	t         *rapid.T
	partition backends.Partition
	s         *redisstore.Store
	dim       int
	r         *rand.Rand
	born      int
}

func (c *churn) id() string { return fmt.Sprint("id-", rapid.IntRange(0, 11).Draw(c.t, "id")) }

// vector is one of a few, so that some return.
func (c *churn) vector() []float32 {
	if rapid.IntRange(0, 9).Draw(c.t, "zero") == 0 {
		return make([]float32, c.dim)
	}
	return randomVector(rand.New(rand.NewPCG(uint64(c.dim), uint64(rapid.IntRange(0, 30).Draw(c.t, "vector")))), c.dim)
}

func (c *churn) apply(b *store.Batch) {
	if _, err := c.s.Apply(c.t.Context(), c.partition, b); err != nil {
		require.ErrorIs(c.t, err, backends.ErrConflict)
	}
}

func (c *churn) one(m store.Mutation) {
	c.apply(&store.Batch{Mutations: []store.Mutation{m}, Embedding: space(c.dim)})
}

func (c *churn) put(*rapid.T) { c.one(putVector(c.id(), c.vector())) }
func (c *churn) bare(*rapid.T) {
	c.one(store.Put(&store.Record{Memory: backends.Memory{ID: c.id(), Kind: backends.KindFact, Text: "bare"}}))
}
func (c *churn) retract(*rapid.T)   { c.one(store.Retract(c.id(), backends.SystemClock())) }
func (c *churn) delete(*rapid.T)    { c.one(store.Delete(c.id())) }
func (c *churn) increment(*rapid.T) { c.one(store.Increment(c.id(), "n", 1)) }

func (c *churn) supersede(*rapid.T) {
	c.born++
	c.one(store.Supersede(c.id(), putVector(fmt.Sprint("new-", c.born), c.vector()).Record))
}

func (c *churn) many(*rapid.T) {
	b := &store.Batch{Embedding: space(c.dim)}
	for i := range rapid.IntRange(1, 30).Draw(c.t, "many") {
		b.Mutations = append(b.Mutations, putVector(fmt.Sprint("id-", i), c.vector()))
	}
	c.apply(b)
}

func (c *churn) reembed(*rapid.T) {
	c.dim = rapid.SampledFrom([]int{4, 8}).Draw(c.t, "dim")
	c.apply(&store.Batch{Reembed: true, Embedding: space(c.dim), Mutations: []store.Mutation{putVector("id-1", c.vector()), putVector("id-2", c.vector())}})
}

func (c *churn) drop(*rapid.T) {
	if rapid.IntRange(0, 9).Draw(c.t, "really") == 0 {
		_, err := c.s.Drop(c.t.Context(), c.partition)
		require.NoError(c.t, err)
	}
}

// lose throws the index away behind the store's back, or a part of it.
func (c *churn) lose(client *redis.Client) func(*rapid.T) {
	tag := fmt.Sprintf("{em:near:user:%s}", c.partition.ID)
	return func(*rapid.T) {
		switch ctx := c.t.Context(); rapid.IntRange(0, 9).Draw(c.t, "part") {
		case 0:
			client.Unlink(ctx, tag+":near")
		case 1:
			client.Unlink(ctx, tag+":nearst")
		case 2:
			client.HIncrBy(ctx, tag+":nearst", "card", 1)
		}
	}
}

// After every change an exact search finds what a scan of the records finds.
func TestNearestUnderChurn(t *testing.T) {
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	s := newStore(t, client, nearConfig())
	run, most := 0, 30
	if os.Getenv("EINOMEM_LONG") != "" {
		most = math.MaxInt
	}
	rapid.Check(t, func(rt *rapid.T) {
		if run == most {
			return
		}
		run++
		c := &churn{t: rt, partition: user(fmt.Sprint("churn-", run)), s: s, dim: 4, r: rand.New(rand.NewPCG(1, uint64(run)))}
		check := func(*rapid.T) {
			if run%3 == 0 && rapid.Bool().Draw(rt, "skip") {
				return // changes pile up
			}
			n, err := s.Count(rt.Context(), c.partition)
			require.NoError(rt, err)
			if n > 0 {
				requireExact(rt, s, s, c.partition, randomVector(c.r, c.dim))
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": c.put, "bare": c.bare, "retract": c.retract, "delete": c.delete, "increment": c.increment, "supersede": c.supersede,
			"many": c.many, "reembed": c.reembed, "drop": c.drop, "lose": c.lose(client), "": check,
		})
	})
	t.Logf("%d runs", run)
}

// Of what was replaced only the few elements stay that are on top of the graph.
func TestReplacedElementsLeave(t *testing.T) {
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	s := newStore(t, client, nearConfig())
	p, r := user("leave"), rand.New(rand.NewPCG(1, 8))
	const n, dim = 150, 8
	fill(t, s, p, r, n, dim)
	for range 30 {
		var batch []store.Mutation
		for _, i := range r.Perm(n)[:20] {
			batch = append(batch, putVector(fmt.Sprint("id-", i), randomVector(r, dim)))
		}
		applyTo(t, s, p, dim, batch...)
		requireExact(t, s, s, p, randomVector(r, dim))
	}
	state := client.HGetAll(t.Context(), stateKey(p)).Val()
	assert.Equal(t, fmt.Sprint(n), state["live"])
	assert.Less(t, client.VCard(t.Context(), setKey(p)).Val(), int64(n+30))
}
