// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

func TestClusterServesAndMovesSlots(t *testing.T) {
	onEach(t, func(t *testing.T, flavour testredis.Flavour) {
		t.Parallel() // it mostly waits
		ctx := t.Context()
		c := flavour.StartCluster(t, 3)
		client := c.Client(t)
		for i := range 100 {
			require.NoError(t, client.Set(ctx, fmt.Sprint("k", i), i, 0).Err())
		}
		for _, s := range c.Servers {
			assert.Positive(t, s.Client(t).DBSize(ctx).Val(), "each has a share")
		}

		slot := int(client.ClusterKeySlot(ctx, "{x}").Val())
		for i := range 5 {
			require.NoError(t, client.Set(ctx, fmt.Sprint("{x}", i), i, 0).Err())
		}
		from, to := owner(t, c, "{x}"), c.Servers[0]
		if from == to {
			to = c.Servers[1]
		}
		half := 0
		c.MoveSlot(t, slot, from, to, func() {
			for i := range 5 {
				require.Equal(t, fmt.Sprint(i), client.Get(ctx, fmt.Sprint("{x}", i)).Val())
			}
			_, err := client.MGet(ctx, "{x}0", "{x}1", "{x}2", "{x}3", "{x}4").Result()
			if err != nil {
				require.ErrorContains(t, err, "TRYAGAIN")
				half++
			}
		})
		assert.Equal(t, 4, half, "one to four of five keys are elsewhere")
		assert.Same(t, to, owner(t, c, "{x}"))
		c.AwaitOK(t)
		got, err := client.MGet(ctx, "{x}0", "{x}1", "{x}2", "{x}3", "{x}4").Result()
		require.NoError(t, err)
		assert.Equal(t, []any{"0", "1", "2", "3", "4"}, got)
	})
}

// owner returns the server that answers for a key, absent or not, itself.
func owner(t *testing.T, c *testredis.Cluster, key string) *testredis.Server {
	for _, s := range c.Servers {
		err := s.Client(t).Get(t.Context(), key).Err()
		if err == nil || errors.Is(err, redis.Nil) {
			return s
		}
		require.ErrorContains(t, err, "MOVED")
	}
	t.Fatalf("nobody owns %s", key)
	return nil
}

func TestClusterNodeComesBack(t *testing.T) {
	t.Parallel()
	c := testredis.Need(t).StartCluster(t, 3)
	c.Servers[1].Kill()
	c.Servers[1].Restart()
	c.AwaitOK(t)
	for _, replica := range c.AddReplicas(t) {
		assert.Contains(t, replica.Client(t).Info(t.Context(), "replication").Val(), "role:slave")
	}
	assert.True(t, strings.HasPrefix(c.URL(), "redis://127.0.0.1:"))
	assert.True(t, strings.HasSuffix(c.URL(), "?cluster=true"))
	assert.Equal(t, 2, strings.Count(c.URL(), ","))
}
