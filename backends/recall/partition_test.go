// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

func TestSearchSeesWhatWasStoredBefore(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	for i := range 20 {
		id := fmt.Sprint(i)
		apply(t, f, ann, fact(id, "tea number "+id))
		require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 50}), i+1)
	}
	apply(t, f, ann, store.Delete("3"), fact("4", "coffee"))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 50}), 18)
	require.Equal(t, int64(1), r.Stats().Loads)
}

func TestDropAndRefill(t *testing.T) {
	f := newFakeRecords()
	f.pageSize = 1
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "tea"))
	apply(t, f, ann, fact("2", "tea"))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 2)
	_, err := f.Drop(t.Context(), ann)
	require.NoError(t, err)
	apply(t, f, ann, fact("3", "tea"))
	require.Equal(t, []string{"3"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "tea"})))
}

// A partition is loaded once for all who ask, and who gives up does not stop it.
func TestLoadIsShared(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.before = func(ctx context.Context, cursor string) error {
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
	r := newRanker(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
		first <- err
	}()
	<-entered
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
			if err != nil || len(resp.Hits) != 1 {
				t.Errorf("%v, %v", resp, err)
			}
		})
	}
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(release)
	others.Wait()
	require.Equal(t, 1, f.fullReads)
	require.Equal(t, int64(1), r.Stats().Loads)
}

func TestStoreFailure(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	apply(t, f, ann, fact("2", "tea"))
	f.pageSize = 1
	r := newRanker(t, f, nil)
	var failing error
	calls := 0
	f.before = func(context.Context, string) error {
		if calls++; calls > 1 {
			return failing
		}
		return nil
	}
	failing = fmt.Errorf("cut off: %w", backends.ErrUnavailable)
	_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable, "in the middle of a load")
	require.NotErrorIs(t, err, backends.ErrNotFound)
	failing = nil
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 2)
	failing = errors.New("cut off again")
	_, err = r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorContains(t, err, "cut off again")
}

func TestStoreThatDoesNotGetOn(t *testing.T) {
	r := newRanker(t, stuck{}, nil)
	_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

type stuck struct{ store.Records }

func (stuck) Changes(context.Context, backends.Partition, string) (*store.ChangeSet, error) {
	return &store.ChangeSet{More: true}, nil
}

func TestCloseEndsLoads(t *testing.T) {
	f := newFakeRecords()
	entered := make(chan struct{})
	f.before = func(ctx context.Context, _ string) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	r, err := recall.New(t.Context(), &recall.Config{Records: f})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: "tea"})
		done <- err
	}()
	<-entered
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-done, context.Canceled)
	_, err = r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NoError(t, r.Close(), "a second Close does nothing")
}

func TestAllIsInTheOrderStored(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	at := func(m int) time.Time { return f.now.Add(time.Duration(m) * time.Minute) }
	apply(t, f, ann,
		put(backends.Memory{ID: "b", Created: at(1)}), put(backends.Memory{ID: "c", Created: at(0), Invalidated: at(1)}),
		put(backends.Memory{ID: "a", Created: at(1)}), put(backends.Memory{ID: "gone"}))
	apply(t, f, ann, store.Delete("gone"))
	all, err := r.All(t.Context(), ann)
	require.NoError(t, err)
	var got []string
	for _, m := range all {
		got = append(got, m.ID)
	}
	require.Equal(t, []string{"c", "a", "b"}, got)
}

// Nothing of one partition is ever found in another, whatever their names are.
func TestPartitionsAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeRecords()
		r, err := recall.New(context.Background(), &recall.Config{Records: f, MaxBytes: 4000})
		require.NoError(t, err)
		defer r.Close()
		name := rapid.SampledFrom([]string{"ann", "bob", "ann/x", "a", "nn"})
		kind := rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace})
		for range 20 {
			p := backends.Partition{Namespace: name.Draw(t, "namespace"), Kind: kind.Draw(t, "kind"), ID: name.Draw(t, "id")}
			id := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "record"))
			_, err := f.Apply(context.Background(), p, &store.Batch{Mutations: []store.Mutation{fact(id, "tea "+p.String())}})
			require.NoError(t, err)
			for q := range f.partitions {
				resp, err := r.Search(context.Background(), q, &backends.SearchRequest{Query: "tea", TopK: 100})
				require.NoError(t, err)
				require.Len(t, resp.Hits, len(f.partitions[q].records))
				for _, h := range resp.Hits {
					require.Equal(t, "tea "+q.String(), h.Text)
				}
			}
		}
	})
}
