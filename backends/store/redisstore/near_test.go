// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// errForeign is what decode says of vectors of another model.
var errForeign = errors.New("a vector of another model")

// encoded is how these tests store a vector: float32, after a byte for the model.
func encoded(model byte, v []float32) []byte {
	out := []byte{model}
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// decoder reads the vectors of one model.
func decoder(model byte) func([]byte) ([]float32, error) {
	return func(data []byte) ([]float32, error) {
		if len(data) == 0 || data[0] != model {
			return nil, errForeign
		}
		var out []float32
		for data = data[1:]; len(data) >= 4; data = data[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		return out, nil
	}
}

func randomVector(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func space(dim int) *store.Embedding { return &store.Embedding{Model: "a", Dim: dim} }

// putVector writes a record with a vector of the model a.
func putVector(id string, v []float32) store.Mutation {
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: "text of " + id}, Vector: encoded('a', v)})
}

func applyTo(t testing.TB, s store.Store, p backends.Partition, dim int, all ...store.Mutation) {
	t.Helper()
	_, err := s.Apply(t.Context(), p, &store.Batch{Mutations: all, Embedding: space(dim)})
	require.NoError(t, err)
}

// fill writes n records id-0, id-1, … with random vectors.
func fill(t testing.TB, s store.Store, p backends.Partition, r *rand.Rand, n, dim int) {
	t.Helper()
	for start := 0; start < n; start += 500 {
		var all []store.Mutation
		for i := start; i < min(n, start+500); i++ {
			all = append(all, putVector(fmt.Sprint("id-", i), randomVector(r, dim)))
		}
		applyTo(t, s, p, dim, all...)
	}
}

// tester is a test, or a run of rapid.
type tester interface {
	require.TestingT
	Helper()
	Context() context.Context
}

// bruteForce returns the ids of the active records by falling cosine, from the
// records themselves.
func bruteForce(t tester, s store.Store, p backends.Partition, model byte, q []float32) (ids []string, cosines map[string]float64) {
	t.Helper()
	cosines = map[string]float64{}
	for cursor := ""; ; {
		c, err := s.Changes(t.Context(), p, cursor)
		require.NoError(t, err)
		for i := range c.Records {
			r := &c.Records[i]
			v, err := decoder(model)(r.Vector)
			if r.Active() && err == nil && len(v) == len(q) && length(v) > 0 {
				ids = append(ids, r.ID)
				cosines[r.ID] = dot(q, v) / length(q) / length(v)
			}
		}
		if cursor = c.Cursor; !c.More {
			break
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(cosines[b], cosines[a]), cmp.Compare(a, b)) })
	return ids, cosines
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func length(v []float32) float64 { return math.Sqrt(dot(v, v)) }

func query(v []float32, limit int) *store.NearestQuery {
	return &store.NearestQuery{Vector: v, Limit: limit, Decode: decoder('a')}
}

// requireExact compares what an exact search finds with a scan of the records.
func requireExact(t tester, s store.Near, all store.Store, p backends.Partition, q []float32) {
	t.Helper()
	want, cosines := bruteForce(t, all, p, 'a', q)
	query := query(q, len(want)+3)
	query.Exact = true
	got, err := s.Nearest(t.Context(), p, query)
	require.NoError(t, err)
	require.True(t, got.Exact)
	require.ElementsMatch(t, want, got.IDs)
	require.Len(t, got.Cosines, len(got.IDs))
	for i, id := range got.IDs {
		require.InDelta(t, cosines[id], got.Cosines[i], 1e-4, id)
		if i > 0 {
			require.GreaterOrEqual(t, got.Cosines[i-1], got.Cosines[i])
		}
	}
}

// nearConfig opts in to vector sets of any version, with exact cosines.
func nearConfig() *redisstore.Config {
	return &redisstore.Config{Near: redisstore.NearConfig{Use: redisstore.NearAlways, Float32: true}}
}

func user(id string) backends.Partition {
	return backends.Partition{Namespace: "near", Kind: backends.PartitionUser, ID: id}
}

func TestNearestEqualsAScan(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	for _, float32s := range []bool{true, false} {
		t.Run(fmt.Sprint("float32 ", float32s), func(t *testing.T) {
			cfg := nearConfig()
			cfg.Near.Float32 = float32s
			s := newStore(t, srv.Client(t), cfg)
			p, r := user(fmt.Sprint("scan", float32s)), rand.New(rand.NewPCG(1, 2))
			fill(t, s, p, r, 200, 24)
			q := randomVector(r, 24)
			got, err := s.Nearest(t.Context(), p, query(q, 10))
			require.NoError(t, err)
			want, cosines := bruteForce(t, s, p, 'a', q)
			assert.True(t, got.Exact, "a small index is compared wholly")
			require.Len(t, got.IDs, 10)
			if float32s {
				assert.Equal(t, want[:10], got.IDs)
			}
			for i, id := range got.IDs {
				assert.InDelta(t, cosines[id], got.Cosines[i], 0.02)
			}
		})
	}
}

func TestNearestWithoutALimit(t *testing.T) {
	s := newStore(t, testredis.NeedRedis(t, 8).Start(t).Client(t), nearConfig())
	p, r := user("limit"), rand.New(rand.NewPCG(1, 2))
	fill(t, s, p, r, 3000, 4) // more than are compared anyway
	require.NoError(t, s.BuildNear(t.Context(), p, decoder('a')))
	for _, exact := range []bool{false, true} {
		q := query(randomVector(r, 4), math.MaxInt)
		q.Exact = exact
		got, err := s.Nearest(t.Context(), p, q)
		require.NoError(t, err)
		assert.Equal(t, exact, got.Exact)
		assert.InDelta(t, 3000, len(got.IDs), 30, "a node of the graph may be out of reach")
		if exact {
			assert.Len(t, got.IDs, 3000)
		}
	}
	require.NoError(t, removeAll(t, s, p, 3000))
	got, err := s.Nearest(t.Context(), p, query(randomVector(r, 4), 5))
	require.NoError(t, err)
	assert.Empty(t, got.IDs)
}

func removeAll(t *testing.T, s *redisstore.Store, p backends.Partition, n int) error {
	b := &store.Batch{}
	for i := range n {
		b.Mutations = append(b.Mutations, store.Delete(fmt.Sprint("id-", i)))
	}
	if _, err := s.Apply(t.Context(), p, b); err != nil {
		return err
	}
	return s.BuildNear(t.Context(), p, decoder('a'))
}

func TestNearestFollowsEveryChange(t *testing.T) {
	s := newStore(t, testredis.NeedRedis(t, 8).Start(t).Client(t), nearConfig())
	p, r := user("follow"), rand.New(rand.NewPCG(3, 4))
	const dim = 8
	check := func() { t.Helper(); requireExact(t, s, s, p, randomVector(r, dim)) }
	got, err := s.Nearest(t.Context(), p, query(randomVector(r, dim), 5))
	require.NoError(t, err, "a partition that does not exist")
	assert.Empty(t, got.IDs)

	fill(t, s, p, r, 30, dim)
	check()
	applyTo(t, s, p, dim, putVector("id-3", randomVector(r, dim)))
	check()
	applyTo(t, s, p, dim, store.Supersede("id-4", putVector("id-new", randomVector(r, dim)).Record))
	check()
	applyTo(t, s, p, dim, store.Retract("id-5", backends.SystemClock()), store.Delete("id-6"))
	check()
	applyTo(t, s, p, dim, store.Increment("id-7", "used", 1))
	check()
	applyTo(t, s, p, dim, store.Put(&store.Record{Memory: backends.Memory{ID: "id-8", Kind: backends.KindFact, Text: "without a vector"}}))
	check()
	applyTo(t, s, p, dim, putVector("zero", make([]float32, dim)), putVector("short", randomVector(r, dim-1)))
	check()
	n, err := s.Count(t.Context(), p)
	require.NoError(t, err)
	assert.Equal(t, 32, n)

	_, err = s.Drop(t.Context(), p)
	require.NoError(t, err)
	got, err = s.Nearest(t.Context(), p, query(randomVector(r, dim), 5))
	require.NoError(t, err)
	assert.Empty(t, got.IDs)
	applyTo(t, s, p, dim, putVector("id-3", randomVector(r, dim)))
	check()
}

func TestNearestIsRebuiltInAnotherSpace(t *testing.T) {
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	s := newStore(t, client, nearConfig())
	p, r := user("reembed"), rand.New(rand.NewPCG(5, 6))
	fill(t, s, p, r, 20, 8)
	requireExact(t, s, s, p, randomVector(r, 8))
	_, err := s.Apply(t.Context(), p, &store.Batch{Reembed: true, Embedding: space(12),
		Mutations: []store.Mutation{putVector("id-1", randomVector(r, 12)), putVector("id-2", randomVector(r, 12))}})
	require.NoError(t, err)
	requireExact(t, s, s, p, randomVector(r, 12))
	_, err = s.Nearest(t.Context(), p, query(randomVector(r, 8), 5))
	require.ErrorIs(t, err, backends.ErrDimension)
	q := query(randomVector(r, 12), 5)
	q.Embedding = &store.Embedding{Model: "b", Dim: 12}
	_, err = s.Nearest(t.Context(), p, q)
	require.ErrorIs(t, err, backends.ErrDimension)
}

func TestNearestRefusesNonsense(t *testing.T) {
	s := newStore(t, testredis.NeedRedis(t, 8).Start(t).Client(t), nearConfig())
	p := user("nonsense")
	nan := float32(math.NaN())
	for name, q := range map[string]*store.NearestQuery{
		"none": nil, "no vector": query(nil, 5), "zero": query([]float32{0, 0}, 5), "NaN": query([]float32{nan, 1}, 5),
		"limit": query([]float32{1, 2}, 0), "no decode": {Vector: []float32{1}, Limit: 1},
	} {
		_, err := s.Nearest(t.Context(), p, q)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := s.Nearest(t.Context(), backends.Partition{}, query([]float32{1}, 1))
	require.Error(t, err)
	require.ErrorIs(t, s.BuildNear(t.Context(), p, nil), backends.ErrInvalid)
	never := newStore(t, testredis.NeedRedis(t, 8).Start(t).Client(t), &redisstore.Config{Near: redisstore.NearConfig{Use: redisstore.NearNever}})
	_, err = never.Nearest(t.Context(), p, query([]float32{1}, 1))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorIs(t, never.BuildNear(t.Context(), p, decoder('a')), backends.ErrUnavailable)
}

func TestNearestTakesHostileIDs(t *testing.T) {
	s := newStore(t, testredis.NeedRedis(t, 8).Start(t).Client(t), nearConfig())
	p, r := user("a:b}c{%\n\x00"[:6]), rand.New(rand.NewPCG(7, 8))
	ids := []string{"name", "owner", "e:x", "-", ":", "a:b:c", "{x}", "%41", "'; return 1", "\x00\x01", "\n", "日本", " ", "card"}
	for range 3 {
		var all []store.Mutation
		for _, id := range ids {
			all = append(all, putVector(id, randomVector(r, 8)))
		}
		applyTo(t, s, p, 8, all...)
		requireExact(t, s, s, p, randomVector(r, 8))
	}
	vectors, err := s.Vectors(t.Context(), p, "name", "nobody", "\n")
	require.NoError(t, err)
	require.Len(t, vectors, 3)
	assert.Nil(t, vectors[1])
	records, err := s.Get(t.Context(), p, "name", "\n")
	require.NoError(t, err)
	assert.Equal(t, [][]byte{records[0].Vector, nil, records[1].Vector}, vectors)
}

// What needs no vector sets works everywhere; the rest says that it cannot.
func TestNearOnEveryServer(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		client := open(t)
		s := newStore(t, client, nearConfig())
		p, r := user("everywhere"), rand.New(rand.NewPCG(9, 9))
		fill(t, s, p, r, 100, 4)
		requireOutline(t, s, p)
		if client.Do(t.Context(), "VCARD", "probe").Err() == nil {
			requireExact(t, s, s, p, randomVector(r, 4))
			return
		}
		before := keysOf(t, client)
		_, err := s.Nearest(t.Context(), p, query(randomVector(r, 4), 5))
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Redis 8")
		require.ErrorIs(t, s.BuildNear(t.Context(), p, decoder('a')), backends.ErrUnavailable)
		assert.Equal(t, before, keysOf(t, client), "nothing is written")
	})
}

// requireOutline compares Outline and Count with Changes.
func requireOutline(t *testing.T, s *redisstore.Store, p backends.Partition) {
	full, err := s.Changes(t.Context(), p, "")
	require.NoError(t, err)
	outline, err := s.Outline(t.Context(), p, "")
	require.NoError(t, err)
	assert.Equal(t, full.Cursor, outline.Cursor)
	for i := range full.Records {
		require.NotEmpty(t, full.Records[i].Vector)
		full.Records[i].Vector = nil
	}
	assert.Equal(t, full.Records, outline.Records)
	n, err := s.Count(t.Context(), p)
	require.NoError(t, err)
	assert.Len(t, full.Records, n)
	vectors, err := s.Vectors(t.Context(), p)
	require.NoError(t, err)
	assert.Empty(t, vectors)
}

// keysOf returns all keys of a server, of all nodes of a cluster.
func keysOf(t testing.TB, client redis.UniversalClient) []string {
	t.Helper()
	var out []string
	if c, ok := client.(*redis.ClusterClient); ok {
		nodes := make(chan []string, 16)
		require.NoError(t, c.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			keys, err := node.Keys(ctx, "*").Result()
			nodes <- keys
			return err
		}))
		close(nodes)
		for keys := range nodes {
			out = append(out, keys...)
		}
	} else {
		var err error
		out, err = client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
	}
	slices.Sort(out)
	return out
}
