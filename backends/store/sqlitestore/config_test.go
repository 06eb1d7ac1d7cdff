// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func TestTheCallersConfigIsLeftAlone(t *testing.T) {
	cfg := sqlitestore.Config{}
	s := open(t, sqlitestore.Memory, &cfg)
	require.Nil(t, cfg.Clock)
	require.Equal(t, sqlitestore.Config{}, cfg)
	require.Equal(t, sqlitestore.Memory, s.Path())
}

func TestTheClockIsTheConfigs(t *testing.T) {
	cest := time.FixedZone("CEST", 2*60*60)
	at := time.Date(2001, 2, 3, 4, 5, 6, 7000, cest)
	s := open(t, sqlitestore.Memory, &sqlitestore.Config{Clock: func() time.Time { return at }})
	apply(t, s, put("a", "1"))
	got, err := s.Get(context.Background(), ann, "a")
	require.NoError(t, err)
	require.Equal(t, at.UTC(), got[0].Created)
}

func TestNormalIsAsDurableAcrossCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	cfg := &sqlitestore.Config{Synchronous: sqlitestore.Normal, ReadConns: 1, BusyTimeout: time.Second}
	s := open(t, path, cfg)
	apply(t, s, put("a", "1"))
	require.NoError(t, s.Close())
	got, err := open(t, path, cfg).Get(context.Background(), ann, "a")
	require.NoError(t, err)
	require.Len(t, got, 1)
}
