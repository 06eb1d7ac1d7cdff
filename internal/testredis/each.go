// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Each runs f as subtests: "miniredis" on an in-process imitation, then each of
// [Flavours] by its name, then "cluster" on three masters of the first one. With
// -short it runs the first two only. Without any server one subtest is skipped, with the reason.
//
// open returns another client of the subtest's one server, which is closed when its
// t ends. Nothing is flushed between: what shares a server uses names of its own.
func Each(t *testing.T, f func(t *testing.T, open func(t testing.TB) redis.UniversalClient)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		addr := miniredis.RunT(t).Addr()
		f(t, func(t testing.TB) redis.UniversalClient {
			c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = c.Close() })
			return c
		})
	})
	all := Flavours()
	if len(all) == 0 {
		t.Run("servers", func(t *testing.T) { t.Skip(howToGet("a server")) })
		return
	}
	if testing.Short() {
		all = all[:1]
	}
	for _, flavour := range all {
		t.Run(flavour.Name, func(t *testing.T) {
			s := flavour.Start(t)
			f(t, func(t testing.TB) redis.UniversalClient { return s.Client(t) })
		})
	}
	if testing.Short() {
		return
	}
	t.Run("cluster", func(t *testing.T) {
		c := all[0].StartCluster(t, 3)
		f(t, func(t testing.TB) redis.UniversalClient { return c.Client(t) })
	})
}
