// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// searchAsync searches in the background. It returns what waits for the ids of the hits.
func searchAsync(ctx context.Context, r *Ranker, p backends.Partition) (wait func() ([]string, error)) {
	var hits []string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		var resp *backends.SearchResponse
		if resp, err = r.Search(ctx, p, &backends.SearchRequest{Query: "tea"}); err == nil {
			hits = ids(resp.Hits)
		}
	}()
	return func() ([]string, error) { <-done; return hits, err }
}

func TestSearchSeesWhatWasStoredBefore(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	for i := range 20 {
		apply(t, s, ann, fact(fmt.Sprint(i), fmt.Sprint("tea number ", i)))
		require.Len(t, find(t, r, "tea"), i+1)
	}
	apply(t, s, ann, store.Delete("3"), fact("4", "coffee"))
	require.Len(t, find(t, r, "tea"), 18)
	require.Equal(t, int64(1), r.Stats().Loads)
	_, err := s.Drop(t.Context(), ann)
	require.NoError(t, err)
	apply(t, s, ann, fact("new", "tea"))
	require.Equal(t, []string{"new"}, find(t, r, "tea"))
}

// The calls of one search ask the store once, and each ranker its own.
func TestOnceAsksOnceForEachPartition(t *testing.T) {
	s, other := newStore(100), newStore(100)
	r, beside := newRanker(t, s), newRanker(t, other)
	apply(t, s, ann, fact("1", "tea"))
	apply(t, other, ann, fact("2", "tea"))
	asked := 0
	s.before = func(context.Context, string) error { asked++; return nil }
	ctx := Once(t.Context())
	for range 3 {
		own, err := r.Get(ctx, ann, "1", "2")
		require.NoError(t, err)
		require.Equal(t, "1", own[0].ID)
		others, err := beside.Get(ctx, ann, "1", "2")
		require.NoError(t, err)
		require.Equal(t, "2", others[0].ID)
	}
	require.Equal(t, 1, asked)
	require.Len(t, find(t, r, "tea"), 1)
	require.Equal(t, 2, asked)
}

// A partition is loaded once for all who ask, and a caller that gives up does not stop it.
func TestLoadIsShared(t *testing.T) {
	s := newStore(100)
	apply(t, s, ann, fact("1", "tea"))
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.before = func(ctx context.Context, cursor string) error {
		if cursor != "" {
			return nil
		}
		once.Do(func() { close(entered) })
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r := newRanker(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	first := searchAsync(ctx, r, ann)
	<-entered
	var others []func() ([]string, error)
	for range 20 {
		others = append(others, searchAsync(t.Context(), r, ann))
	}
	cancel()
	_, err := first()
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	for _, o := range others {
		hits, err := o()
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, hits)
	}
	require.Equal(t, 1, s.loads)
	require.Equal(t, int64(1), r.Stats().Loads)
}

// A search that comes while another one asks the store does not share its answer, which may
// be too old: it shares that of the next call, with all who wait.
func TestLaterSearchesShareTheNextRefresh(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann, fact("1", "tea"))
	find(t, r, "tea")
	var cursors []string
	s.before = func(_ context.Context, cursor string) error {
		cursors = append(cursors, cursor)
		return nil
	}
	read, give := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.after = func() { once.Do(func() { close(read); <-give }) }
	first := searchAsync(t.Context(), r, ann)
	<-read // the store has read its answer for the first search
	apply(t, s, ann, fact("2", "tea"))
	var later []func() ([]string, error)
	for range 5 {
		later = append(later, searchAsync(t.Context(), r, ann))
	}
	for r.Stats().Hits < 6 {
		runtime.Gosched()
	}
	close(give)
	_, err := first()
	require.NoError(t, err)
	for _, l := range later {
		hits, err := l()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"1", "2"}, hits)
	}
	require.Equal(t, "0:1", cursors[0])
	require.Equal(t, "0:1", cursors[1], "the next call goes on from where the one before has come to")
}

// Each call goes on from where the one before has come to.
func TestCursorMovesOn(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	var cursors []string
	s.before = func(_ context.Context, cursor string) error { cursors = append(cursors, cursor); return nil }
	apply(t, s, ann, fact("1", "tea"))
	find(t, r, "tea")
	find(t, r, "tea")
	apply(t, s, ann, fact("2", "tea"))
	find(t, r, "tea")
	find(t, r, "tea")
	require.Equal(t, []string{"", "0:1", "0:1", "0:2"}, cursors)
}

// Loading one partition does not hold up another.
func TestPartitionsLoadApart(t *testing.T) {
	s := newStore(100)
	apply(t, s, ann, fact("1", "tea"))
	r := newRanker(t, s)
	entered, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	s.before = func(context.Context, string) error {
		if held.CompareAndSwap(false, true) {
			close(entered)
			<-release
		}
		return nil
	}
	slow := searchAsync(t.Context(), r, user("bob"))
	<-entered
	require.Equal(t, []string{"1"}, find(t, r, "tea"), "while bob's partition waits")
	close(release)
	_, err := slow()
	require.NoError(t, err)
}

// A failure is reported to the callers that waited for it, and to no later one.
func TestFailedRefreshIsRetried(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	cut := fmt.Errorf("cut off: %w", backends.ErrUnavailable)
	for i := range 6 {
		apply(t, s, ann, fact(fmt.Sprint(i), "tea"))
		calls, failing := 0, 1+i%2 // the first page, or the next one
		if i > 0 {
			apply(t, s, ann, fact(fmt.Sprint(i), "tea and more"))
		} else {
			failing = 1
		}
		s.before = func(context.Context, string) error {
			if calls++; calls == failing {
				return cut
			}
			return nil
		}
		_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NotErrorIs(t, err, backends.ErrNotFound)
		require.Len(t, find(t, r, "tea"), i+1)
	}
	require.Equal(t, int64(1), r.Stats().Loads)
}

func TestStoreThatReturnsTheSamePageAgain(t *testing.T) {
	s := newStore(0) // pages without a batch
	apply(t, s, ann, fact("1", "tea"))
	_, err := newRanker(t, s).Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestEndedContextAsksNothing(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = r.All(ctx, ann)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.loads)
}

// The store is called with the values of the caller's context.
func TestStoreSeesContextValues(t *testing.T) {
	type key struct{}
	s := newStore(1)
	var got any
	s.before = func(ctx context.Context, _ string) error { got = ctx.Value(key{}); return nil }
	_, err := newRanker(t, s).Search(context.WithValue(t.Context(), key{}, "span"), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.Equal(t, "span", got)
}

// While one page is applied, the store is asked for the next.
func TestNextPageIsReadAhead(t *testing.T) {
	s := newStore(1)
	for i := range 3 {
		apply(t, s, ann, fact(fmt.Sprint(i), "tea"))
	}
	asked := make(chan string, 2)
	s.before = func(_ context.Context, cursor string) error {
		if cursor != "" {
			asked <- cursor
		}
		return nil
	}
	var cursors []string // asked for when a record is prepared
	r := newRanker(t, s, func(c *Config) {
		c.Keys = func(m *backends.Memory) []string {
			if m.ID != "2" { // behind the last page there is none to wait for
				cursors = append(cursors, <-asked)
			}
			return nil
		}
	})
	require.Len(t, find(t, r, "tea"), 3)
	require.Equal(t, []string{"0:1", "0:2"}, cursors)
}

// A page that was read ahead and failed leaves the pages before: a later search goes on from
// there.
func TestFailureAheadKeepsThePagesBefore(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, fact("0", "tea"))
	find(t, r, "tea")
	for i := range 4 {
		apply(t, s, ann, fact(fmt.Sprint(i), "tea"))
	}
	cut := errors.New("cut off")
	var cursors []string
	s.before = func(_ context.Context, cursor string) error {
		if cursors = append(cursors, cursor); len(cursors) == 3 {
			return cut
		}
		return nil
	}
	_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, cut)
	require.Len(t, find(t, r, "tea"), 4)
	require.Equal(t, []string{"0:1", "0:2", "0:3", "0:3", "0:4"}, cursors)
	require.Equal(t, int64(1), r.Stats().Loads)
}

// Close ends a load, also a page that is read ahead, and waits for it.
func TestCloseEndsLoads(t *testing.T) {
	for _, at := range []string{"", "0:1"} {
		s := newStore(1)
		apply(t, s, ann, fact("1", "tea"))
		apply(t, s, ann, fact("2", "tea"))
		entered, ended := make(chan struct{}), false
		s.before = func(ctx context.Context, cursor string) error {
			if cursor != at {
				return nil
			}
			close(entered)
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}
		r := newRanker(t, s)
		found := searchAsync(context.Background(), r, ann)
		<-entered
		require.NoError(t, r.Close())
		require.True(t, ended)
		_, err := found()
		require.ErrorIs(t, err, context.Canceled)
		_, err = r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NoError(t, r.Close(), "a second Close does nothing")
	}
}

// However the changes are divided into pages, and wherever writes or a Drop fall between
// two, the index is that of what is stored.
func TestPagesDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(rapid.Int64Range(1, 4).Draw(t, "page"))
		r := newRanker(t, s)
		write := func(label string) {
			for range rapid.IntRange(0, 8).Draw(t, label) {
				m := fact(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "id")), "tea "+drawText(t, "text"))
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					m = store.Delete(m.Record.ID)
				}
				apply(t, s, ann, m)
			}
		}
		for range 4 {
			write("writes")
			at, drop, calls := rapid.IntRange(0, 6).Draw(t, "before call"), rapid.Bool().Draw(t, "drop"), 0
			s.before = func(ctx context.Context, _ string) error {
				if calls++; calls != at {
					return nil
				}
				if drop {
					_, err := s.Drop(ctx, ann)
					require.NoError(t, err)
				}
				write("writes meanwhile")
				return nil
			}
			q := backends.SearchRequest{Query: "tea cats 绿茶", TopK: 100}
			got := search(t, r, ann, q)
			s.before = nil
			require.Equal(t, search(t, newRanker(t, s), ann, q), got)
			require.Equal(t, len(s.parts[ann].records), r.Stats().Memories)
		}
	})
}

// Nothing of one partition is ever found in another, whatever their names are.
func TestPartitionsAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(1)
		r := newRanker(t, s, func(c *Config) { c.MaxBytes = 4000 })
		name := rapid.SampledFrom([]string{"ann", "bob", "ann/x", "a", "nn"})
		kind := rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace})
		for range 20 {
			p := backends.Partition{Namespace: name.Draw(t, "namespace"), Kind: kind.Draw(t, "kind"), ID: name.Draw(t, "id")}
			apply(t, s, p, fact(fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "record")), "tea "+p.String()))
			for q := range s.parts {
				hits := search(t, r, q, backends.SearchRequest{Query: "tea", TopK: 100})
				require.Len(t, hits, len(s.parts[q].records))
				for _, h := range hits {
					require.Equal(t, "tea "+q.String(), h.Text)
				}
			}
		}
	})
}
