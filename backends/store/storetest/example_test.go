// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/store/storetest"
)

// A store's own test hands the suite a way to open it.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestContract(t *testing.T)
		storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
			s, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, &sqlitestore.Config{Clock: o.Clock})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		})
	}
	// Output:
}
