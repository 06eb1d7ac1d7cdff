// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/store/storetest"
)

// open opens a store that the test closes and checks for what it left running.
func open(t *testing.T, path string, cfg *sqlitestore.Config) *sqlitestore.Store {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s, err := sqlitestore.Open(context.Background(), path, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		goleak.VerifyNone(t, before)
	})
	return s
}

func TestContractInAFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		// Normal spares the suite thousands of waits for the disk; what Full does
		// beyond it no test can see without cutting the power.
		return open(t, filepath.Join(t.TempDir(), "mem.db"), &sqlitestore.Config{Clock: o.Clock, Synchronous: sqlitestore.Normal})
	})
}

func TestContractInMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		return open(t, sqlitestore.Memory, &sqlitestore.Config{Clock: o.Clock})
	})
}

func TestTwoHandlesOnOneFile(t *testing.T) {
	storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
		path := filepath.Join(t.TempDir(), "mem.db")
		return open(t, path, nil), open(t, path, &sqlitestore.Config{ReadConns: 1})
	})
}
