// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := runChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	testpostgres.Remove()
	os.Exit(status)
}

// newSchema is a name that no other test has.
func newSchema() string { return fmt.Sprintf("t%x", rand.Uint64()) }

// open opens a store that ends with the test.
func open(t testing.TB, url string, o *pgstore.Options) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(context.Background(), url, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	url, schema := testpostgres.Need(t).URL, newSchema()
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		return open(t, url, &pgstore.Options{Schema: schema, Clock: o.Clock})
	})
}

func TestShared(t *testing.T) {
	url, schema := testpostgres.Need(t).URL, newSchema()
	storetest.RunShared(t, func(t *testing.T, o storetest.Options) (a, b store.Store) {
		return open(t, url, &pgstore.Options{Schema: schema, Clock: o.Clock}), open(t, url, &pgstore.Options{Schema: schema, Clock: o.Clock})
	})
}

var ann = backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "ann"}

func put(id, text string) *store.Batch {
	return &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: text}})}}
}
