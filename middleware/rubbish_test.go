// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// A model that answers rubbish is asked twice about a turn, whatever processes come and go: the
// words are found, the log is learnt, and it is reported once.
func TestRubbishIsAskedForTwice(t *testing.T) {
	type backend interface {
		backends.Backend
		backends.Manager
	}
	for name, backendOn := range map[string]func(c *mem0.Config) (backend, error){
		"mem0":       func(c *mem0.Config) (backend, error) { return mem0.New(t.Context(), c) },
		"facts only": func(c *mem0.Config) (backend, error) { c.FactsOnly = true; return mem0.New(t.Context(), c) },
		"two steps":  func(c *mem0.Config) (backend, error) { c.Mode = mem0.TwoStep; return mem0.New(t.Context(), c) },
		"reme": func(c *mem0.Config) (backend, error) {
			return reme.New(t.Context(), &reme.Config{Store: c.Store, Model: c.Model})
		},
	} {
		t.Run(name, func(t *testing.T) {
			rubbish, db := testkit.New(testkit.Text("Sure! {{facts: I like")), testkit.SQLite(t)
			var failures testkit.Failures // of all of them
			for process := range 3 {
				b, err := backendOn(&mem0.Config{Store: db, Model: rubbish})
				require.NoError(t, err)
				mem, err := middleware.New(t.Context(), &middleware.Config{Backend: b, Sessions: db, AwaitWrite: true, OnError: failures.Add, Working: eager()})
				require.NoError(t, err)
				if process == 0 {
					ask(t, as("ann", "monday"), mem, "I keep bees on the roof.", testkit.Text("Lovely."))
				}
				require.NoError(t, mem.Flush(t.Context()))
				found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "ann"}, Query: "Where are my bees?"})
				require.NoError(t, err)
				require.Equal(t, "I keep bees on the roof.", found.Hits[0].Text)
				require.NoError(t, mem.Close(context.Background()))
				require.NoError(t, b.Close(context.Background()))
			}
			require.Len(t, rubbish.Calls(), 2)
			require.Len(t, failures.Stages(), 1, "%v", failures.Err())
			require.ErrorContains(t, failures.Err(), "it is kept as it was said, and not asked about again")
		})
	}
}
