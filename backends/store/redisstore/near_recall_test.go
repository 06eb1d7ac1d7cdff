// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// cloud makes vectors as embedding models do: in clusters, of fewer dimensions
// than they have components, half of it noise.
type cloud struct {
	r       *rand.Rand
	dim     int
	basis   []float32
	centres [][]float32
}

const (
	latent   = 48
	clusters = 200
)

func newCloud(dim int) *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(11, 12)), dim: dim}
	c.basis = randomVector(c.r, latent*dim)
	for range clusters {
		c.centres = append(c.centres, randomVector(c.r, latent))
	}
	return c
}

func (c *cloud) next() []float32 {
	v := randomVector(c.r, c.dim)
	for i := range v {
		v[i] *= 8
	}
	for i, x := range c.centres[c.r.IntN(clusters)] {
		x += 0.8 * float32(c.r.NormFloat64())
		for j, y := range c.basis[i*c.dim : (i+1)*c.dim] {
			v[j] += x * y
		}
	}
	f := float32(1 / length(v))
	for i := range v {
		v[i] *= f
	}
	return v
}

// The ten best must be among the hundred candidates that a caller scores exactly.
func TestNearestRecall(t *testing.T) {
	n, dim := 2500, 32
	if os.Getenv("EINOMEM_LONG") != "" {
		n, dim = 10_000, 384
	}
	if text := os.Getenv("EINOMEM_NEAR_SIZE"); text != "" {
		_, err := fmt.Sscanf(text, "%dx%d", &n, &dim)
		require.NoError(t, err)
	}
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	c := newCloud(dim)
	vectors := make([][]float32, n)
	p := user("recall")
	plain := newStore(t, client, nil)
	for start := 0; start < n; start += 500 {
		var all []store.Mutation
		for i := start; i < min(n, start+500); i++ {
			vectors[i] = c.next()
			all = append(all, putVector(fmt.Sprint("id-", i), vectors[i]))
		}
		applyTo(t, plain, p, dim, all...)
	}
	queries := make([][]float32, 50)
	for i := range queries {
		queries[i] = c.next()
	}
	for _, float32s := range []bool{false, true} {
		t.Run(fmt.Sprint("float32 ", float32s), func(t *testing.T) {
			cfg := &redisstore.Config{Near: redisstore.NearConfig{Use: redisstore.NearAlways, Float32: float32s}}
			s := newStore(t, client, cfg)
			start := time.Now()
			require.NoError(t, s.BuildNear(context.WithoutCancel(t.Context()), p, decoder('a')))
			built := time.Since(start)
			hits := 0
			took := make([]time.Duration, 0, len(queries))
			for _, q := range queries {
				start := time.Now()
				got, err := s.Nearest(t.Context(), p, query(q, 100))
				took = append(took, time.Since(start))
				require.NoError(t, err)
				require.False(t, got.Exact)
				for _, i := range best(vectors, q, 10) {
					if slices.Contains(got.IDs, fmt.Sprint("id-", i)) {
						hits++
					}
				}
			}
			slices.Sort(took)
			recall := float64(hits) / float64(10*len(queries))
			memory := client.MemoryUsage(t.Context(), "{em:near:user:recall}:near").Val() + client.MemoryUsage(t.Context(), "{em:near:user:recall}:nearst").Val()
			t.Logf("%d × %d: built in %s (%s each), Nearest p50 %s p95 %s, recall@10 %.3f, %d bytes each", n, dim, built.Round(time.Millisecond), built/time.Duration(n),
				took[len(took)/2], took[len(took)*95/100], recall, memory/int64(n))
			assert.GreaterOrEqual(t, recall, 0.99)
		})
	}
}

// best returns the indexes of the vectors, all of length 1, that are nearest to q.
func best(vectors [][]float32, q []float32, k int) []int {
	scores, order := make([]float64, len(vectors)), make([]int, len(vectors))
	for i, v := range vectors {
		scores[i], order[i] = dot(q, v), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:k]
}
