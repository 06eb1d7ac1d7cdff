// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testredis"
)

// plainDecode reads the vectors of these tests, which are JSON.
func plainDecode(data []byte) (v []float32, err error) {
	if err = json.Unmarshal(data, &v); err == nil && len(v) == 0 {
		err = errors.New("empty")
	}
	return v, err
}

func plainRecord(id string, v ...float32) store.Mutation {
	data, _ := json.Marshal(v)
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: id, Kind: backends.KindFact}, Vector: data})
}

func TestNearDriftIsFoundAndRepaired(t *testing.T) {
	ctx := t.Context()
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	s, err := New(ctx, client, &Config{Near: NearConfig{Use: NearAlways}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	p := backends.Partition{Namespace: "near", Kind: backends.PartitionUser, ID: "drift"}
	k := s.keys(p)
	apply := func(all ...store.Mutation) {
		t.Helper()
		_, err := s.Apply(ctx, p, &store.Batch{Mutations: all, Embedding: &store.Embedding{Model: "m", Dim: 4}})
		require.NoError(t, err)
	}
	requireDrift := func(want int, what string) {
		t.Helper()
		n, err := s.nearDrift(ctx, p)
		require.NoError(t, err)
		require.Equal(t, want, n, what)
	}
	requireDrift(0, "no partition")
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 40 {
		apply(plainRecord(fmt.Sprint("id-", i), r.Float32(), r.Float32(), r.Float32(), 1))
	}
	apply(plainRecord("zero", 0, 0, 0, 0), plainRecord("broken"))
	requireDrift(0, "no index")
	require.NoError(t, s.BuildNear(ctx, p, plainDecode))
	requireDrift(0, "just built")

	apply(store.Delete("id-1"), store.Increment("id-2", "n", 1), plainRecord("id-3", 1, 2, 3, 4), plainRecord("id-new", 4, 3, 2, 1))
	requireDrift(0, "behind is no drift")
	require.NoError(t, s.BuildNear(ctx, p, plainDecode))
	requireDrift(0, "caught up")

	element := func(id string) string { return client.HGet(ctx, k.nearState(), entry(id)).Val() + ":" + id }
	for _, spoil := range []struct {
		name string
		do   func()
		want int
	}{
		{"an element is gone", func() { client.VRem(ctx, k.near(), element("id-5")) }, 1},
		{"the set is gone", func() { client.Del(ctx, k.near()) }, 40},
		{"an entry is gone", func() { client.HDel(ctx, k.nearState(), entry("id-6")) }, 1},
		{"an entry of another vector", func() { client.HSet(ctx, k.nearState(), entry("id-7"), "0123456789abcdef") }, 1},
		{"an entry of nobody", func() { client.HSet(ctx, k.nearState(), entry("nobody"), "0123456789abcdef") }, 1},
		{"a record changed by itself", func() { client.HSet(ctx, k.vectors(), "id-8", "[1,1,1,1]") }, 1},
		{"a vector that nobody knew of", func() { client.HDel(ctx, k.vectors(), "id-9") }, 1},
		{"elements of others in the same", func() { client.VAdd(ctx, k.near(), "x", plainVector{1, 2, 3, 4}) }, 1},
	} {
		t.Run(spoil.name, func(t *testing.T) {
			spoil.do()
			requireDrift(spoil.want, spoil.name)
			require.NoError(t, s.dropNear(ctx, p))
			requireDrift(0, "dropped")
			require.NoError(t, s.BuildNear(ctx, p, plainDecode))
			requireDrift(0, "built anew")
		})
	}
	got, err := s.Nearest(ctx, p, &store.NearestQuery{Vector: []float32{1, 1, 1, 1}, Limit: 100, Decode: plainDecode})
	require.NoError(t, err)
	assert.Len(t, got.IDs, 39, "40, without id-1 and id-9, with id-new")
}

// plainVector is given to VADD as it is.
type plainVector []float64

func (v plainVector) Value() []any {
	out := []any{"values", len(v)}
	for _, x := range v {
		out = append(out, x)
	}
	return out
}
