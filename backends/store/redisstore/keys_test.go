// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// hashTag is what a Cluster chooses the slot of a key by: what stands between its
// first brace and the next closing one, if it is not empty.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// drawName draws a name that looks like another one, or like a part of a key.
func drawName(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.SampledFrom(hostileNames), rapid.StringOfN(rapid.RuneFrom([]rune("ab:{}%7Ds.é")), 1, 6, -1)).Draw(t, label)
}

func drawPartition(t *rapid.T, label string) backends.Partition {
	return backends.Partition{
		Namespace: drawName(t, label+" namespace"), ID: drawName(t, label+" id"),
		Kind: rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace}).Draw(t, label+" kind"),
	}
}

// Two partitions share no key, nor do two sessions; all keys of a partition are in
// one slot; and the registry's keys are of none.
func TestNoTwoShareAKey(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = c.Close() })
	s := newStore(t, c, nil)
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPartition(t, "one"), drawPartition(t, "other")
		if rapid.Bool().Draw(t, "the same") {
			q = p
		}
		x := rapid.OneOf(rapid.Just(""), rapid.Custom(func(t *rapid.T) string { return drawName(t, "x") })).Draw(t, "one session")
		y := rapid.OneOf(rapid.Just(""), rapid.Custom(func(t *rapid.T) string { return drawName(t, "y") })).Draw(t, "other session")
		ofP, ofX := s.KeysOf(p, x)
		ofQ, ofY := s.KeysOf(q, y)
		if p != q {
			require.False(t, share(append(ofP, ofX...), append(ofQ, ofY...)), "%v %v", p, q)
			require.NotEqual(t, redisstore.MemberOf(p), redisstore.MemberOf(q))
		}
		if p != q || x != y {
			require.False(t, share(ofX, ofY), "%v %q %v %q", p, x, q, y)
		}
		require.False(t, share(ofP, ofX))
		all := append(slices.Clone(ofP), ofX...)
		for _, key := range all {
			require.Equal(t, hashTag(all[0]), hashTag(key))
			require.NotEqual(t, key, hashTag(key), "it has a tag")
		}
		registry := s.RegistryKeys(p.Namespace)
		require.False(t, share(all, registry))
		if p.Namespace != q.Namespace {
			require.False(t, share(registry[1:2], s.RegistryKeys(q.Namespace)))
		}
		back, err := redisstore.ParseMember(redisstore.MemberOf(p))
		require.NoError(t, err)
		require.Equal(t, p, back)
	})
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

// Prefixes of each other have no keys in common either.
func TestPrefixesShareNoKey(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = c.Close() })
	seen := map[string]string{}
	for _, prefix := range []string{"em", "em.", "e", "m", "em-n", "em.partitions", "EM", "em_"} {
		s := newStore(t, c, &redisstore.Config{Prefix: prefix})
		for _, ns := range []string{"n", "em", "partitions", "em:n", "namespaces"} {
			p := backends.Partition{Namespace: ns, Kind: backends.PartitionUser, ID: "ann"}
			keys, session := s.KeysOf(p, "s")
			for _, key := range slices.Concat(keys, session, s.RegistryKeys(ns)) {
				if owner, ok := seen[key]; ok {
					require.Equal(t, prefix, owner, key)
				}
				seen[key] = prefix
			}
		}
	}
}
