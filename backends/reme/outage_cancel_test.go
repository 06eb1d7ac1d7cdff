// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A caller that gives up before any call of the store: the error says so, nothing is
// half stored, and the repeat stores everything once.
func TestACallerGivesUpAtEachCallOfEachFlow(t *testing.T) {
	for name, f := range deeds() {
		if raced && !f.halves {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := outcomeOf(t, f)
			for n := 1; ; n++ {
				what := fmt.Sprintf("before call %d", n)
				db := &faulty{Store: open(t)}
				lived(t, db)
				before := state(t, db)
				b, _ := newBackend(t, db, reading)
				ctx, cancel := context.WithCancel(t.Context())
				db.arm(func(i int) (carriedOut, heard bool) {
					if i == n {
						cancel()
					}
					return true, true
				})
				err := f.call(ctx, b)
				cancel()
				if db.disarm() < n {
					require.NoError(t, err, what)
					return
				}
				after := state(t, db)
				if err != nil {
					require.ErrorIs(t, err, context.Canceled, what)
					if !slices.Equal(after, want) && !f.halves && !f.bears {
						require.Equal(t, before, after, "%s: half stored", what)
					}
					require.NoError(t, f.call(t.Context(), b), what)
				}
				require.Equal(t, want, state(t, db), what)
			}
		})
	}
}
