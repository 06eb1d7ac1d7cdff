// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// gate lets calls of Changes wait, one by one.
type gate struct {
	entered chan string   // gets the cursor of a call that waits
	release chan struct{} // lets one call go on
}

func newGate(f *fakeRecords) *gate {
	g := &gate{entered: make(chan string), release: make(chan struct{})}
	f.before = func(ctx context.Context, cursor string) error {
		select {
		case g.entered <- cursor:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-g.release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g
}

// answer is what a search in the background found.
type answer struct {
	hits []backends.Hit
	err  error
}

func searchAsync(ctx context.Context, t *testing.T, f func(context.Context) (*backends.SearchResponse, error)) <-chan answer {
	t.Helper()
	out := make(chan answer, 1)
	go func() {
		resp, err := f(ctx)
		if err != nil {
			out <- answer{err: err}
			return
		}
		out <- answer{hits: resp.Hits}
	}()
	return out
}

// A search that comes while another one asks the store does not share its answer,
// which may be too old: it shares that of the next call, with all who wait.
func TestLaterSearchesShareTheNextRefresh(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	find(t, r, user("bob"), &backends.SearchRequest{Query: "tea"})
	tea := func(ctx context.Context) (*backends.SearchResponse, error) {
		return r.Search(ctx, ann, &backends.SearchRequest{Query: "tea", TopK: 10})
	}
	apply(t, f, ann, fact("1", "tea"))
	find(t, r, ann, &backends.SearchRequest{Query: "tea"})

	read, give := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.after = func() { once.Do(func() { close(read); <-give }) }
	first := searchAsync(t.Context(), t, tea)
	<-read // the store has read its answer for the first search
	apply(t, f, ann, fact("2", "tea"))
	later := []<-chan answer{searchAsync(t.Context(), t, tea)}
	for !r.NextAwaited(ann) {
		runtime.Gosched()
	}
	asked, hold := make(chan struct{}), make(chan struct{})
	var second sync.Once
	f.before = func(_ context.Context, cursor string) error {
		if cursor == "0:1" { // of ann's partition
			second.Do(func() { close(asked); <-hold })
		}
		return nil
	}
	for range 4 {
		later = append(later, searchAsync(t.Context(), t, tea))
	}
	close(give)
	require.NoError(t, (<-first).err)
	<-asked // the next call is under way; whoever did not wait for it answers now
	for range 20 {
		find(t, r, user("bob"), &backends.SearchRequest{Query: "tea"})
	}
	close(hold)
	for _, a := range later {
		got := <-a
		require.NoError(t, got.err)
		require.Len(t, got.hits, 2)
	}
}

// Each call goes on from where the one before has come to.
func TestCursorMovesOn(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	var cursors []string
	f.before = func(_ context.Context, cursor string) error { cursors = append(cursors, cursor); return nil }
	search := func() { find(t, r, ann, &backends.SearchRequest{Query: "tea"}) }
	apply(t, f, ann, fact("1", "tea"))
	search()
	search()
	apply(t, f, ann, fact("2", "tea"))
	search()
	search()
	require.Equal(t, []string{"", "0:1", "0:1", "0:2"}, cursors)
}

// Loading one partition does not hold up another.
func TestPartitionsLoadApart(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	r := newRanker(t, f, nil)
	g := newGate(f)
	slow := searchAsync(t.Context(), t, func(ctx context.Context) (*backends.SearchResponse, error) {
		return r.Search(ctx, user("bob"), &backends.SearchRequest{Query: "tea"})
	})
	<-g.entered
	quick := searchAsync(t.Context(), t, func(ctx context.Context) (*backends.SearchResponse, error) {
		return r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	})
	<-g.entered // ann is asked for while bob waits
	g.release <- struct{}{}
	g.release <- struct{}{}
	require.Len(t, (<-quick).hits, 1)
	require.NoError(t, (<-slow).err)
}

// A failure is reported to those who waited for it, and to nobody after.
func TestFailedRefreshIsTriedAgain(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	r := newRanker(t, f, nil)
	cut := errors.New("cut off")
	calls := 0
	f.before = func(context.Context, string) error {
		if calls++; calls%2 == 1 {
			return cut
		}
		return nil
	}
	for range 3 {
		_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
		require.ErrorIs(t, err, cut)
		require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 1)
	}
	require.Equal(t, int64(1), r.Stats().Loads)
}

func TestEndedContextAsksNothing(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = r.All(ctx, ann)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, f.calls)
}

type traceKey struct{}

// The store is called with the values of the caller's context.
func TestStoreSeesContextValues(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	var got any
	f.before = func(ctx context.Context, _ string) error { got = ctx.Value(traceKey{}); return nil }
	_, err := r.Search(context.WithValue(t.Context(), traceKey{}, "span"), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.Equal(t, "span", got)
}

// Whatever the pages are, a reset in the middle of a refresh is followed.
func TestResetBetweenPages(t *testing.T) {
	f := newFakeRecords()
	f.pageSize = 1
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "tea"))
	find(t, r, ann, &backends.SearchRequest{Query: "tea"})
	apply(t, f, ann, fact("2", "tea"))
	apply(t, f, ann, fact("3", "tea"))
	calls := 0
	f.before = func(context.Context, string) error {
		if calls++; calls == 2 { // after the first page of two
			_, err := f.Drop(context.Background(), ann)
			apply(t, f, ann, fact("4", "tea"))
			apply(t, f, ann, fact("5", "tea"))
			return err
		}
		return nil
	}
	require.ElementsMatch(t, []string{"4", "5"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "tea"})))
	require.Equal(t, 2, r.Stats().Memories)
}
