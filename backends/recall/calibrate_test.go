// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

// squeezed is an embedder whose cosines begin at a share of 1, as those of common models do.
func squeezed(share float64) embedder {
	inner := hashed(512)
	return func(texts []string) ([][]float64, error) {
		out, err := inner.EmbedStrings(context.Background(), texts)
		for i, v := range out {
			length := 0.0
			for _, x := range v {
				length += x * x
			}
			for j := range v {
				v[j] *= math.Sqrt((1 - share) / length)
			}
			out[i] = append(v, math.Sqrt(share))
		}
		return out, err
	}
}

// Hits, order and scores do not depend on where the cosines of an embedder begin.
func TestAnEmbedderOfWhichAllCosinesAreHighFindsTheSame(t *testing.T) {
	found := map[float64][]string{}
	for _, share := range []float64{0, 0.5, 0.9} {
		s := newStore(100)
		r := newRanker(t, s, withEmbedder("m", squeezed(share)))
		r.scales.Store(nil)
		var memories []backends.Memory
		for i, text := range []string{"Ann likes green tea", "Bob bought a green car", "the cat sleeps on the sofa", "安喜欢喝绿茶", "we met in Oslo"} {
			memories = append(memories, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: text})
		}
		embed(t, s, r, ann, nil, memories...)
		for _, query := range []string{"likes green tea", "绿茶", "who met whom in Oslo?", "zebra"} {
			for _, threshold := range []float64{0, 0.1, 0.3} {
				for _, h := range search(t, r, ann, backends.SearchRequest{Query: query, Threshold: threshold}) {
					found[share] = append(found[share], fmt.Sprintf("%s %.1f: %s %.4f", query, threshold, h.ID, h.Score))
				}
			}
		}
	}
	require.NotEmpty(t, found[0])
	require.Equal(t, found[0], found[0.5])
	require.Equal(t, found[0], found[0.9])
	require.NotContains(t, strings.Join(found[0.9], "\n"), "zebra 0.1", "what is not related is not found")
}

// An embedder for which all texts are alike takes nothing from what words find.
func TestAnEmbedderThatTellsNothingApartLeavesTheOrderOfWords(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s, withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
		out := make([][]float64, len(texts))
		for i := range out {
			out[i] = []float64{1, 2}
		}
		return out, nil
	})))
	r.scales.Store(nil)
	embed(t, s, r, ann, nil, backends.Memory{ID: "other", Text: "coffee"}, backends.Memory{ID: "both", Text: "green tea"}, backends.Memory{ID: "one", Text: "green salad"})
	require.Equal(t, []string{"both", "one", "other"}, find(t, r, "green tea"))
}

func TestTheScaleIsAskedForOnceWithTheFirstQuery(t *testing.T) {
	s, e := newStore(100), hashed(64)
	r := newRanker(t, s, withEmbedder("m", e))
	r.scales.Store(nil)
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "green tea"})
	for i, texts := range []int64{1 + 16, 1, 1} {
		requests, before := e.Requests.Load(), e.Texts.Load()
		find(t, r, fmt.Sprint("tea ", i))
		require.EqualValues(t, 1, e.Requests.Load()-requests)
		require.Equal(t, texts, e.Texts.Load()-before)
	}
}

// An embedder that takes ten texts at a time gets its scale, and stores, in pieces; it is asked
// for too many twice at most, and a text that it refuses teaches nothing of its size.
func TestAnEmbedderThatTakesFewTexts(t *testing.T) {
	var sizes []int
	s, e := newStore(100), hashed(64)
	r := newRanker(t, s, withEmbedder("few"+rand.Text(), embedder(func(texts []string) ([][]float64, error) {
		sizes = append(sizes, len(texts))
		switch {
		case len(texts) > 10:
			return nil, errors.New("error, status code: 400, message: batch size is invalid, it should not be larger than 10.: input.contents")
		case slices.Contains(texts, "poison"):
			return nil, errors.New("error, status code: 400, message: data_inspection_failed")
		}
		return e.EmbedStrings(context.Background(), texts)
	})))
	r.scales.Store(nil)
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "green tea"})
	resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	require.Equal(t, []int{1, 17, 10, 7}, sizes)
	sizes = nil
	_, _, err = r.Embed(t.Context(), []string{"a", "b", "poison"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	vectors, _, err := r.Embed(t.Context(), strings.Split("a b c d e f", " "))
	require.NoError(t, err)
	require.Len(t, vectors, 6)
	require.Equal(t, []int{3, 1, 1, 1, 6}, sizes)
}

// A slow embedder that answers for one text in time, and not for the sentences with it, is
// used once it answered for them beside the searches.
func TestAnEmbedderThatIsSlowForManyTextsIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newStore(100), hashed(64)
		r := newRanker(t, s, inASecond, withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
			time.Sleep(time.Duration(len(texts)) * 100 * time.Millisecond)
			return e.EmbedStrings(context.Background(), texts)
		})))
		r.scales.Store(nil)
		embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "green tea"})
		degraded := []bool{}
		for range 4 {
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
			require.NoError(t, err)
			require.Len(t, resp.Hits, 1)
			degraded = append(degraded, resp.Degraded != nil)
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, []bool{true, false, false, false}, degraded)
	})
}

// An embedder can only raise a score, whatever its cosines: what reaches a threshold by its words
// reaches it with each.
func TestAnEmbedderTakesNothingFromWords(t *testing.T) {
	texts := []string{"Ann likes green tea", "Bob bought a green car", "the cat sleeps on the sofa", "安喜欢喝绿茶", "手机号是5550100", "we met in Oslo", "Where do we meet in Oslo?"}
	scores := func(options ...func(*Config)) map[string]float64 {
		s, out := newStore(100), map[string]float64{}
		r := newRanker(t, s, options...)
		r.scales.Store(nil)
		var memories []backends.Memory
		for i, text := range texts {
			memories = append(memories, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindEpisode, Text: text, Origin: backends.Origin{Role: "user"}})
		}
		embed(t, s, r, ann, nil, memories...)
		for _, query := range []string{"likes green tea", "绿茶", "who met whom in Oslo?", "我的手机号", "the car of Bob"} {
			for _, h := range search(t, r, ann, backends.SearchRequest{Query: query, TopK: len(texts)}) {
				out[query+h.ID] = h.Score
			}
		}
		return out
	}
	words := scores()
	require.NotEmpty(t, words)
	for name, e := range map[string]embedding.Embedder{
		"a bag of words": hashed(512), "narrow": squeezed(0.81), "random": &testkit.Embedder{Vector: drawn}, "all alike": &testkit.Embedder{Vector: func(string) []float64 { return []float64{1, 0} }},
	} {
		raised := scores(withEmbedder("m", e))
		for of, score := range words {
			require.GreaterOrEqual(t, raised[of]+1e-9, score, "%s: %s", name, of)
			require.LessOrEqual(t, raised[of], 1.0)
		}
	}
}
