// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// BenchmarkAPersonOfAHundredThousand looks one person up by a part of the name, on SQLite, as the page
// does while somebody types.
func BenchmarkAPersonOfAHundredThousand(b *testing.B) {
	var db store.Store
	s := newServer(b, nil, func(c *Config) { db = c.Store })
	var all errgroup.Group
	for first := range 64 {
		all.Go(func() error {
			for n := first; n < 100_000; n += 64 {
				r := &store.Record{Memory: backends.Memory{ID: "1", Kind: backends.KindFact, Text: "I like tea."}}
				p := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: fmt.Sprintf("person%05d", n)}
				if _, err := db.Apply(b.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(r)}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, all.Wait())
	for b.Loop() {
		status, out := s.call("", "GET", "/api/v1/people?kind=user&part=son77777", nil)
		require.Equal(b, http.StatusOK, status)
		require.Len(b, out["partitions"], 1)
	}
}
