// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
)

// raced is a store in which somebody else writes before the nth reading.
type raced struct {
	store.Store
	left  int
	write func()
}

func (r *raced) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if r.left--; r.left == 0 {
		r.write()
	}
	return r.Store.Changes(ctx, p, cursor)
}

// Whenever another process stores the same facts, or takes away what the call is
// about, each fact is there once at the end.
func TestD3_AnotherProcessAtEveryStep(t *testing.T) {
	for _, before := range []string{"", "Beijing"} {
		for n := 1; n <= 12; n++ {
			t.Run(fmt.Sprintf("known %q, reading %d", before, n), func(t *testing.T) {
				st := openStore(t)
				other := open(t, on(st), with(resident(t)))
				if before != "" {
					add(t, other, ann, user("I live in "+before)...)
				}
				r := &raced{Store: st, left: n, write: func() { add(t, other, ann, user("I live in Shanghai")...) }}
				b := open(t, on(r), in(mem0.Reconcile), with(resident(t)))
				add(t, b, ann, user("I live in Shanghai")...)
				require.Equal(t, []string{"The user lives in Shanghai."}, facts(t, b, ann))
				page, err := b.List(ctx, &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindEpisode}})
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Memories), 2)
				seen := map[string]bool{}
				for _, m := range page.Memories {
					require.False(t, seen[m.Text], m.Text)
					seen[m.Text] = true
				}
			})
		}
	}
}
