// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

func TestConfigIsChecked(t *testing.T) {
	client := clientOf(t, miniredis.RunT(t).Addr())
	for name, c := range map[string]struct {
		cfg  *redisstore.Config
		says string // empty: legal
	}{
		"none":                  {nil, ""},
		"zero":                  {&redisstore.Config{}, ""},
		"no repeats":            {&redisstore.Config{Retry: -1}, ""},
		"every legal byte":      {&redisstore.Config{Prefix: "aZ09_.-"}, ""},
		"the longest prefix":    {&redisstore.Config{Prefix: strings.Repeat("x", 64)}, ""},
		"too long a prefix":     {&redisstore.Config{Prefix: strings.Repeat("x", 65)}, "up to 64 letters"},
		"a brace":               {&redisstore.Config{Prefix: "a{b"}, `prefix "a{b"`},
		"a colon":               {&redisstore.Config{Prefix: "a:b"}, "prefix"},
		"a space":               {&redisstore.Config{Prefix: " "}, "prefix"},
		"a line's end":          {&redisstore.Config{Prefix: "em\n"}, "prefix"},
		"no letters of ours":    {&redisstore.Config{Prefix: "ключ"}, "prefix"},
		"a glob":                {&redisstore.Config{Prefix: "*"}, "prefix"},
		"replicas below zero":   {&redisstore.Config{Replicas: -1}, "not below zero"},
		"a timeout below zero":  {&redisstore.Config{Replicas: 1, ReplicaTimeout: -1}, "not below zero"},
		"replicas, and no time": {&redisstore.Config{Replicas: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := redisstore.New(t.Context(), client, c.cfg)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestConfigIsCopied(t *testing.T) {
	cfg := redisstore.Config{Clock: func() time.Time { return time.Unix(1, 0) }}
	s := newStore(t, clientOf(t, miniredis.RunT(t).Addr()), &cfg)
	assert.Empty(t, cfg.Prefix, "it is the caller's")
	cfg.Clock, cfg.Prefix = func() time.Time { return time.Unix(2, 0) }, "other"
	got, err := s.Append(t.Context(), ann, "s", saying("1"))
	require.NoError(t, err)
	assert.Equal(t, int64(1), got.Created.Unix())
}

// Two prefixes on one server have nothing in common.
func TestPrefixesAreApart(t *testing.T) {
	server := miniredis.RunT(t)
	client := clientOf(t, server.Addr())
	one, two := newStore(t, client, &redisstore.Config{Prefix: "one"}), newStore(t, client, &redisstore.Config{Prefix: "two"})
	beginning(t, one, ann)
	for _, key := range server.Keys() {
		assert.True(t, strings.HasPrefix(key, "one:") || strings.HasPrefix(key, "{one:"), key)
	}
	_, err := two.Session(t.Context(), ann, "s")
	require.ErrorIs(t, err, backends.ErrNotFound)
	page, err := two.Partitions(t.Context(), ann.Namespace, store.Page{})
	require.NoError(t, err)
	assert.Empty(t, page.Partitions)
	n, err := two.Drop(t.Context(), ann)
	require.NoError(t, err)
	assert.Zero(t, n)
	_, err = one.Session(t.Context(), ann, "s")
	require.NoError(t, err)
}

// Close ends the store and not the client of New; it may be called again.
func TestClose(t *testing.T) {
	client := clientOf(t, miniredis.RunT(t).Addr())
	s, err := redisstore.New(t.Context(), client, nil)
	require.NoError(t, err)
	beginning(t, s, ann)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	for what, err := range everything(t.Context(), s, ann) {
		require.ErrorIs(t, err, backends.ErrUnavailable, what)
		require.ErrorContains(t, err, "the store is closed", what)
	}
	for what, err := range seldom(t, s) {
		require.Error(t, err, what)
	}
	require.NoError(t, client.Ping(t.Context()).Err(), "it is the caller's")

	other := newStore(t, client, nil)
	require.NoError(t, client.Close())
	_, err = other.Session(t.Context(), ann, "s")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the client is closed")
}

// What is not legal never reaches the server.
func TestInvalidCallsAreRefusedFirst(t *testing.T) {
	f := newImpostor(t)
	s := newStore(t, clientOf(t, f.addr), nil)
	f.say("-ERR it was asked")
	ctx, nobody := t.Context(), backends.Partition{}
	_, apply := s.Apply(ctx, ann, nil)
	_, added := s.Append(ctx, ann, "s", nil)
	_, update := s.Update(ctx, ann, nil)
	_, cursor := s.Changes(ctx, ann, "garbage")
	_, list := s.List(ctx, store.SessionQuery{Page: store.Page{Cursor: "garbage"}})
	_, listed := s.List(ctx, store.SessionQuery{Partition: &nobody})
	_, partitions := s.Partitions(ctx, "n", store.Page{Cursor: "%"})
	_, namespace := s.Partitions(ctx, "a\x00", store.Page{})
	_, got := s.GetBlob(ctx, ann, "s", "")
	_, prefix := s.ListBlobs(ctx, ann, "s", "\xff", store.Page{})
	_, after := s.ListBlobs(ctx, ann, "s", "a", store.Page{Cursor: "Yg"})
	for i, err := range []error{apply, added, update, cursor, list, listed, partitions, namespace, got, prefix, after, s.PutBlob(ctx, ann, " s", "b", nil), s.Delete(ctx, nobody, "s")} {
		require.Error(t, err, i)
		assert.True(t, errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNoScope), "%d: %v", i, err)
	}
}
