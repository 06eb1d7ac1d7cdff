// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// While one page is brought in, the store is asked for the next.
func TestNextPageIsReadAhead(t *testing.T) {
	f := newFakeRecords()
	f.pageSize = 1
	for i := range 3 {
		apply(t, f, ann, fact(fmt.Sprint(i), "tea"))
	}
	asked := make(chan string, 2)
	f.before = func(_ context.Context, cursor string) error {
		if cursor != "" {
			asked <- cursor
		}
		return nil
	}
	var cursors []string // asked for when a record is prepared
	r := newRanker(t, f, func(c *recall.Config) {
		c.Keys = func(m *backends.Memory) []string {
			if m.ID != "2" { // behind the last page there is none to wait for
				cursors = append(cursors, <-asked)
			}
			return nil
		}
	})
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 3)
	require.Equal(t, []string{"0:1", "0:2"}, cursors)
}

// What was read ahead and failed leaves what came before: a later search goes on
// from there.
func TestFailureAheadKeepsThePagesBefore(t *testing.T) {
	f := newFakeRecords()
	f.pageSize = 1
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("0", "tea"))
	find(t, r, ann, &backends.SearchRequest{Query: "tea"})
	for i := range 4 {
		apply(t, f, ann, fact(fmt.Sprint(i), "tea"))
	}
	cut := errors.New("cut off")
	var mu sync.Mutex
	var cursors []string
	f.before = func(_ context.Context, cursor string) error {
		mu.Lock()
		defer mu.Unlock()
		cursors = append(cursors, cursor)
		if len(cursors) == 3 {
			return cut
		}
		return nil
	}
	_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, cut)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 4)
	require.Equal(t, []string{"0:1", "0:2", "0:3", "0:3", "0:4"}, cursors)
	require.Equal(t, int64(1), r.Stats().Loads)
}

// Close waits for a page that is read ahead, too.
func TestCloseEndsWhatIsReadAhead(t *testing.T) {
	f := newFakeRecords()
	f.pageSize = 1
	apply(t, f, ann, fact("1", "tea"))
	apply(t, f, ann, fact("2", "tea"))
	ahead, ended := make(chan struct{}), false
	f.before = func(ctx context.Context, cursor string) error {
		if cursor == "" {
			return nil
		}
		close(ahead)
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}
	r, err := recall.New(t.Context(), &recall.Config{Records: f})
	require.NoError(t, err)
	found := searchAsync(t.Context(), t, func(ctx context.Context) (*backends.SearchResponse, error) {
		return r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	})
	<-ahead
	require.NoError(t, r.Close())
	require.True(t, ended)
	require.ErrorIs(t, (<-found).err, context.Canceled)
}

// However the changes are cut into pages, and wherever a Drop falls between two,
// the index is that of what is stored.
func TestPagesDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeRecords()
		f.pageSize = rapid.IntRange(1, 4).Draw(t, "page")
		r, err := recall.New(context.Background(), &recall.Config{Records: f})
		require.NoError(t, err)
		defer r.Close()
		write := func(label string) {
			for range rapid.IntRange(0, 8).Draw(t, label) {
				m := fact(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "id")), "tea "+drawText(t, "text"))
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					m = store.Delete(m.Record.ID)
				}
				_, err := f.Apply(context.Background(), ann, &store.Batch{Mutations: []store.Mutation{m}})
				require.NoError(t, err)
			}
		}
		for range 4 {
			write("writes")
			drop, calls := rapid.IntRange(0, 6).Draw(t, "drop before call"), 0
			f.before = func(context.Context, string) error {
				if calls++; calls == drop {
					_, err := f.Drop(context.Background(), ann)
					write("writes after the drop")
					return err
				}
				return nil
			}
			q := &backends.SearchRequest{Query: "tea cats 绿茶", TopK: 100}
			got, err := r.Search(context.Background(), ann, q)
			require.NoError(t, err)
			f.before = nil
			fresh, err := recall.New(context.Background(), &recall.Config{Records: f})
			require.NoError(t, err)
			want, err := fresh.Search(context.Background(), ann, q)
			require.NoError(t, err)
			require.NoError(t, fresh.Close())
			require.Equal(t, want.Hits, got.Hits)
		}
	})
}
