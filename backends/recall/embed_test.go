// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// table is an embedder that looks texts up.
type table map[string][]float64

func (t table) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, text := range texts {
		v, ok := t[text]
		if !ok {
			return nil, errors.New("no vector for " + text)
		}
		out[i] = v
	}
	return out, nil
}

// embedderFunc is a function as an embedder.
type embedderFunc func(texts []string) ([][]float64, error)

func (f embedderFunc) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	return f(texts)
}

// putEmbedded stores memories with vectors that the ranker makes of their texts.
func putEmbedded(t testing.TB, f store.Records, r *recall.Ranker, p backends.Partition, ms ...backends.Memory) {
	t.Helper()
	var texts []string
	for i := range ms {
		texts = append(texts, recall.EmbedText(&ms[i]))
	}
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	batch := &store.Batch{Embedding: space}
	for i := range ms {
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: ms[i], Vector: vectors[i]}))
	}
	_, err = f.Apply(t.Context(), p, batch)
	require.NoError(t, err)
}

func withEmbedder(e embedding.Embedder) func(*recall.Config) {
	return func(c *recall.Config) { c.Embedder, c.EmbeddingModel = e, "model-a" }
}

func TestEmbed(t *testing.T) {
	var sizes []int
	r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func(texts []string) ([][]float64, error) {
		sizes = append(sizes, len(texts))
		out := make([][]float64, len(texts))
		for i := range out {
			out[i] = []float64{1, float64(len(texts[i]))}
		}
		return out, nil
	})))
	texts := make([]string, 250)
	for i := range texts {
		texts[i] = "text"
	}
	texts[7], texts[8] = "", " \n"
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Equal(t, &store.Embedding{Model: "model-a", Dim: 2}, space)
	require.Len(t, vectors, 250)
	require.Nil(t, vectors[7])
	require.Nil(t, vectors[8])
	require.Equal(t, vectors[0], vectors[249])
	require.Equal(t, []int{100, 100, 48}, sizes)

	vectors, space, err = r.Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, vectors)
	require.Nil(t, space)
}

func TestEmbedWithoutEmbedder(t *testing.T) {
	r := newRanker(t, newFakeRecords(), nil)
	vectors, space, err := r.Embed(t.Context(), []string{"text"})
	require.NoError(t, err)
	require.Nil(t, vectors)
	require.Nil(t, space)
}

func TestEmbedderThatMisbehaves(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct {
		name    string
		vectors [][]float64
		err     error
		want    error
	}{
		{"fails", nil, down, backends.ErrUnavailable},
		{"too few vectors", [][]float64{{1, 2}}, nil, backends.ErrUnavailable},
		{"too many vectors", [][]float64{{1, 2}, {1, 2}, {1, 2}}, nil, backends.ErrUnavailable},
		{"NaN", [][]float64{{1, 2}, {1, math.NaN()}}, nil, backends.ErrInvalid},
		{"infinity", [][]float64{{1, 2}, {math.Inf(-1), 0}}, nil, backends.ErrInvalid},
		{"zero vector", [][]float64{{1, 2}, {0, 0}}, nil, backends.ErrInvalid},
		{"no components", [][]float64{{}, {}}, nil, backends.ErrInvalid},
		{"two dimensions", [][]float64{{1, 2}, {1, 2, 3}}, nil, backends.ErrDimension},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func([]string) ([][]float64, error) { return c.vectors, c.err })))
			_, _, err := r.Embed(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, c.want)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
		})
	}
}

func TestEmbedderThatFailsLeavesTheLexicalPart(t *testing.T) {
	f := newFakeRecords()
	var fail error
	r := newRanker(t, f, withEmbedder(embedderFunc(func(texts []string) ([][]float64, error) {
		return [][]float64{{1, 2}}[:len(texts)], fail
	})))
	fail = nil
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "green tea"})
	fail = errors.New("rate limit")
	resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, fail)
	require.ErrorIs(t, resp.Degraded, backends.ErrUnavailable)
	require.Equal(t, []string{"1"}, ids(resp.Hits))
	require.Zero(t, resp.Hits[0].Parts.Vector)
}

func TestCancelledSearchIsNoDegradedOne(t *testing.T) {
	f := newFakeRecords()
	ctx, cancel := context.WithCancel(t.Context())
	stop := false
	r := newRanker(t, f, withEmbedder(embedderFunc(func(texts []string) ([][]float64, error) {
		if stop {
			cancel()
			return nil, context.Canceled
		}
		return [][]float64{{1, 2}}, nil
	})))
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "green tea"})
	stop = true
	_, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, context.Canceled)
}

// Memories that were written without a vector are found by their words, in their
// place among those that have one.
func TestMemoriesWithoutVector(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, withEmbedder(table{"drinks": {1, 0.1}, "coffee": {1, 0}, "winter": {0, 1}}))
	putEmbedded(t, f, r, ann, backends.Memory{ID: "coffee", Text: "coffee"}, backends.Memory{ID: "winter", Text: "winter"})
	apply(t, f, ann, fact("plain", "hot drinks"), fact("other", "skiing"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "drinks"})
	require.Equal(t, []string{"plain", "coffee", "winter"}, ids(hits))
	require.Equal(t, hits[0].Parts.Lexical, hits[0].Score)
	require.Zero(t, hits[0].Parts.Vector)
	require.InDelta(t, hits[1].Parts.Vector/2, hits[1].Score, 1e-9)
}

// Where nothing has a vector, the embedder is not asked.
func TestNoVectorsNoEmbedderCall(t *testing.T) {
	f := newFakeRecords()
	calls := 0
	r := newRanker(t, f, withEmbedder(embedderFunc(func([]string) ([][]float64, error) { calls++; return nil, nil })))
	apply(t, f, ann, fact("1", "tea"))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 1)
	require.Zero(t, calls)
}

// A text that is longer than models take is embedded by its two ends.
func TestEmbedShortensLongTexts(t *testing.T) {
	var got string
	r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func(texts []string) ([][]float64, error) {
		got = texts[0]
		return [][]float64{{1}}, nil
	})))
	_, _, err := r.Embed(t.Context(), []string{"start" + strings.Repeat("茶", 1_000_000) + "end"})
	require.NoError(t, err)
	require.LessOrEqual(t, len(got), 16<<10+1)
	require.True(t, utf8.ValidString(got))
	require.True(t, strings.HasPrefix(got, "start茶") && strings.HasSuffix(got, "茶end"))
}

// The dimension may not change between the calls that one Embed makes.
func TestEmbedderThatChangesItsMind(t *testing.T) {
	calls := 0
	r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func(texts []string) ([][]float64, error) {
		calls++
		out := make([][]float64, len(texts))
		for i := range out {
			out[i] = make([]float64, calls)
			out[i][0] = 1
		}
		return out, nil
	})))
	texts := strings.Split(strings.Repeat("x ", 150), " ")
	_, _, err := r.Embed(t.Context(), texts)
	require.ErrorIs(t, err, backends.ErrDimension)
	_, space, err := r.Embed(t.Context(), texts[:1])
	require.NoError(t, err, "and it is not held against it later")
	require.Equal(t, 3, space.Dim)
}

// Errors that are sentinels already keep what they say.
func TestEmbedderErrorsKeepTheirSentinel(t *testing.T) {
	for _, sentinel := range []error{backends.ErrInvalid, backends.ErrDimension, backends.ErrUnavailable} {
		r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func([]string) ([][]float64, error) { return nil, sentinel })))
		_, _, err := r.Embed(t.Context(), []string{"x"})
		require.ErrorIs(t, err, sentinel)
		require.Equal(t, errors.Is(sentinel, backends.ErrUnavailable), errors.Is(err, backends.ErrUnavailable))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRanker(t, newFakeRecords(), withEmbedder(embedderFunc(func([]string) ([][]float64, error) { return nil, context.Canceled })))
	_, _, err := r.Embed(ctx, []string{"x"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable)
}
