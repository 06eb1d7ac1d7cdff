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

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// changeModel returns a ranker over the same records with another model.
func changeModel(t *testing.T, f store.Records, name string, dim int) *recall.Ranker {
	return newRanker(t, f, func(c *recall.Config) { c.Embedder, c.EmbeddingModel = dice{dim}, name })
}

func TestAnotherModelIsAnErrorUntilReembed(t *testing.T) {
	for _, c := range []struct {
		name, model string
		dim         int
	}{{"model", "new", 8}, {"dimension", "old", 16}, {"both", "new", 16}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeRecords()
			old := changeModel(t, f, "old", 8)
			for i := range 5 {
				putEmbedded(t, f, old, ann, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)})
			}
			apply(t, f, ann, fact("plain", "tea without a vector"), fact("blank", " "))
			r := changeModel(t, f, c.model, c.dim)
			_, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
			require.ErrorIs(t, err, backends.ErrDimension)
			require.ErrorContains(t, err, "Reembed")

			n, err := r.Reembed(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, 6, n)
			hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 10})
			require.Len(t, hits, 6)
			for _, h := range hits {
				require.Positive(t, h.Parts.Vector, h.ID)
				require.Equal(t, f.now, h.Created)
			}
			_, err = old.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
			require.ErrorIs(t, err, backends.ErrDimension, "the former model sees it at once")

			before := f.partitions[ann].version
			n, err = r.Reembed(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, 6, n)
			require.Equal(t, before, f.partitions[ann].version, "a second time changes nothing")
		})
	}
}

// A partition whose memories are all gone still bears the name of a model.
func TestReembedOfAnEmptyPartition(t *testing.T) {
	f := newFakeRecords()
	old := changeModel(t, f, "old", 8)
	putEmbedded(t, f, old, ann, backends.Memory{ID: "1", Text: "tea"})
	apply(t, f, ann, store.Delete("1"))
	r := changeModel(t, f, "new", 4)
	require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}))
	n, err := r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Zero(t, n)
	putEmbedded(t, f, r, ann, backends.Memory{ID: "2", Text: "tea"})
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 1)

	n, err = r.Reembed(t.Context(), user("nobody"))
	require.NoError(t, err)
	require.Zero(t, n)
}

// What others write while a partition is re-embedded is neither lost nor left
// with a vector of the former model.
func TestReembedWhileOthersWrite(t *testing.T) {
	f := newFakeRecords()
	old := changeModel(t, f, "old", 8)
	for i := range 3 {
		putEmbedded(t, f, old, ann, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)})
	}
	racing := &racingRecords{fakeRecords: f}
	racing.race = func(n int) {
		switch n {
		case 1: // a change of what is to be written: the batch conflicts
			putEmbedded(t, f, old, ann, backends.Memory{ID: "1", Text: "coffee"}, backends.Memory{ID: "3", Text: "tea 3"})
			apply(t, f, ann, store.Delete("2"))
		case 2: // something new with a vector of the former model
			putEmbedded(t, f, old, ann, backends.Memory{ID: "4", Text: "tea 4"})
		}
	}
	r := changeModel(t, racing, "new", 8)
	n, err := r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 10})
	require.ElementsMatch(t, []string{"0", "1", "3", "4"}, ids(hits))
	for _, h := range hits {
		require.Positive(t, h.Parts.Vector, h.ID)
		if h.ID == "1" {
			require.Equal(t, "coffee", h.Text)
		}
	}
}

// racingRecords lets somebody else write before each Apply.
type racingRecords struct {
	*fakeRecords
	race  func(n int)
	calls int
}

func (r *racingRecords) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	r.calls++
	r.race(r.calls)
	return r.fakeRecords.Apply(ctx, p, b)
}

func TestReembedGivesUp(t *testing.T) {
	f := newFakeRecords()
	racing := &racingRecords{fakeRecords: f}
	racing.race = func(n int) { apply(t, f, ann, fact("1", fmt.Sprint("tea ", n))) }
	racing.race(0)
	_, err := changeModel(t, racing, "new", 8).Reembed(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrConflict)

	_, err = newRanker(t, f, nil).Reembed(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)

	down := errors.New("down")
	r := newRanker(t, f, withEmbedder(embedderFunc(func([]string) ([][]float64, error) { return nil, down })))
	_, err = r.Reembed(t.Context(), ann)
	require.ErrorIs(t, err, down)
	require.Nil(t, f.partitions[ann].embedding, "nothing was changed")
}

func TestSearchesDuringReembed(t *testing.T) {
	f := newFakeRecords()
	old := changeModel(t, f, "old", 8)
	for i := range 20 {
		putEmbedded(t, f, old, ann, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)})
	}
	r := changeModel(t, f, "new", 16)
	var searches sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		searches.Go(func() {
			for {
				resp, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: "tea", TopK: 50})
				switch {
				case errors.Is(err, backends.ErrDimension): // before
				case err != nil || len(resp.Hits) != 20:
					t.Errorf("%v: %v", err, resp)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	_, err := r.Reembed(t.Context(), ann)
	close(done)
	searches.Wait()
	require.NoError(t, err)
}

// A stored vector that cannot be read is an error with a way out, never silence.
func TestBrokenVector(t *testing.T) {
	f := newFakeRecords()
	r := changeModel(t, f, "m", 8)
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "tea"}, backends.Memory{ID: "2", Text: "tea"})
	short := f.partitions[ann].records["2"].Vector[:9]
	_, err := f.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "2", Text: "tea"}, Vector: short})}})
	require.NoError(t, err)
	_, err = r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrDimension)
	_, err = r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 2)
}
