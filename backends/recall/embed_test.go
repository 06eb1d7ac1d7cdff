// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// embedder is a function as an embedder, which reports to the callbacks of its context.
type embedder func(texts []string) ([][]float64, error)

func (e embedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts})
	return e(texts)
}

func (embedder) GetType() string { return "Function" }

func TestEmbedText(t *testing.T) {
	for want, m := range map[string]backends.Memory{
		"tea":                 {Text: "tea"},
		"Ann: tea":            {Text: "tea", Origin: backends.Origin{Speaker: "Ann"}},
		"thirsty":             {Text: "tea", WhenToUse: "thirsty"},
		"kettle: boils water": {Kind: backends.KindTool, Text: "boils water", WhenToUse: "kettle"},            // a name is no situation
		"Ann likes tea":       {Kind: backends.KindPersonal, Text: "Ann likes tea", WhenToUse: "tea, drinks"}, // nor are keywords
		"Ann: likes tea":      {Kind: backends.KindFact, Text: "likes tea", WhenToUse: "drinks", Origin: backends.Origin{Speaker: "Ann"}},
		"":                    {Kind: backends.KindCore, Text: "tea", Origin: backends.Origin{Speaker: "no text"}}, // nothing looks for it
	} {
		require.Equal(t, want, EmbedText(&m))
	}
	require.Empty(t, EmbedText(&backends.Memory{Origin: backends.Origin{Speaker: "Ann"}}))
}

func TestEmbedInBatches(t *testing.T) {
	var sizes []int
	r := newRanker(t, newStore(1), withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
		sizes = append(sizes, len(texts))
		return slices.Repeat([][]float64{{1, 2}}, len(texts)), nil
	})))
	texts := slices.Repeat([]string{"text"}, 250)
	texts[7], texts[8] = "", " \n"
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Equal(t, &store.Embedding{Model: "m", Dim: 2}, space)
	require.Len(t, vectors, 250)
	require.Nil(t, vectors[7])
	require.Nil(t, vectors[8])
	require.Equal(t, vectors[0], vectors[249])
	require.Equal(t, []int{100, 100, 48}, sizes)
}

func TestEmbedOfNothing(t *testing.T) {
	for _, r := range []*Ranker{newRanker(t, newStore(1)), newRanker(t, newStore(1), withEmbedder("m", hashed(2)))} {
		texts := []string{"text"}
		if r.config.Embedder != nil {
			texts = nil
		}
		vectors, space, err := r.Embed(t.Context(), texts)
		require.NoError(t, err)
		require.Nil(t, vectors)
		require.Nil(t, space)
	}
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
		{"fails and says why", nil, fmt.Errorf("%w: quota", backends.ErrInvalid), backends.ErrInvalid},
		{"too few vectors", [][]float64{{1, 2}}, nil, backends.ErrUnavailable},
		{"too many vectors", [][]float64{{1, 2}, {1, 2}, {1, 2}}, nil, backends.ErrUnavailable},
		{"NaN", [][]float64{{1, 2}, {1, math.NaN()}}, nil, backends.ErrInvalid},
		{"infinity", [][]float64{{1, 2}, {math.Inf(-1), 0}}, nil, backends.ErrInvalid},
		{"zero vector", [][]float64{{1, 2}, {0, 0}}, nil, backends.ErrInvalid},
		{"no components", [][]float64{{}, {}}, nil, backends.ErrInvalid},
		{"two dimensions", [][]float64{{1, 2}, {1, 2, 3}}, nil, backends.ErrDimension},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRanker(t, newStore(1), withEmbedder("m", embedder(func([]string) ([][]float64, error) { return c.vectors, c.err })))
			_, _, err := r.Embed(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, errors.Is(c.want, backends.ErrUnavailable), errors.Is(err, backends.ErrUnavailable))
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
		})
	}
}

// The dimension may not change between the calls that one Embed makes.
func TestEmbedderThatChangesItsDimension(t *testing.T) {
	calls := 0
	r := newRanker(t, newStore(1), withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
		calls++
		return slices.Repeat([][]float64{slices.Repeat([]float64{1}, calls)}, len(texts)), nil
	})))
	texts := slices.Repeat([]string{"x"}, 150)
	_, _, err := r.Embed(t.Context(), texts)
	require.ErrorIs(t, err, backends.ErrDimension)
	_, space, err := r.Embed(t.Context(), texts[:1])
	require.NoError(t, err, "and it is not held against it later")
	require.Equal(t, 3, space.Dim)
}

// A text that is longer than models take is embedded by its two ends.
func TestEmbedShortensLongTexts(t *testing.T) {
	var got string
	r := newRanker(t, newStore(1), withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
		got = texts[0]
		return [][]float64{{1}}, nil
	})))
	_, _, err := r.Embed(t.Context(), []string{"start" + strings.Repeat("茶", 1_000_000) + "end"})
	require.NoError(t, err)
	require.LessOrEqual(t, len(got), 16<<10+1)
	require.True(t, utf8.ValidString(got))
	require.True(t, strings.HasPrefix(got, "start茶") && strings.HasSuffix(got, "茶end"))
}

func TestEmbedderThatFailsLeavesTheLexicalPart(t *testing.T) {
	s, e := newStore(1), &testkit.Embedder{Dim: 8}
	r := newRanker(t, s, withEmbedder("m", e))
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "green tea"})
	e.Err = errors.New("rate limit")
	resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, e.Err)
	require.ErrorIs(t, resp.Degraded, backends.ErrUnavailable)
	require.Equal(t, []string{"1"}, ids(resp.Hits))
	require.Zero(t, resp.Hits[0].Parts.Vector)
}

func TestCancelledSearchIsNotDegraded(t *testing.T) {
	s := newStore(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancels := false
	r := newRanker(t, s, withEmbedder("m", embedder(func([]string) ([][]float64, error) {
		if cancels {
			cancel()
			return nil, ctx.Err()
		}
		return [][]float64{{1}}, nil
	})))
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "tea"})
	cancels = true
	_, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable)
}

// A memory without a vector competes by its words, and where none has one the embedder is
// not called.
func TestMemoriesWithoutVector(t *testing.T) {
	s, e := newStore(1), looked(map[string][]float64{"drinks": {1, 0}, "cocoa": {0.9, 0.1}, "winter": {0, 1}})
	r := newRanker(t, s, withEmbedder("m", e))
	apply(t, s, ann, fact("plain", "hot drinks"), fact("other", "skiing"))
	require.Equal(t, []string{"plain"}, find(t, r, "drinks"))
	require.Zero(t, e.Texts.Load())
	embed(t, s, r, ann, nil, backends.Memory{ID: "cocoa", Text: "cocoa"}, backends.Memory{ID: "winter", Text: "winter"})
	hits := search(t, r, ann, backends.SearchRequest{Query: "drinks"})
	require.Equal(t, []string{"plain", "cocoa"}, ids(hits))
	require.InDelta(t, hits[0].Parts.Lexical, hits[0].Score, 0)
	require.Zero(t, hits[0].Parts.Vector)
	require.InDelta(t, hits[1].Parts.Vector/2, hits[1].Score, 1e-9)
}

// Memories written in another encoding are compared with the rest.
func TestEncodingsMix(t *testing.T) {
	s, e := newStore(1), looked(map[string][]float64{"tea": {1, 0}, "near": cosine(0.9), "far": cosine(0.2)})
	for text, rounded := range map[string]bool{"near": true, "far": false} {
		r := newRanker(t, s, withEmbedder("m", e), func(c *Config) { c.Int8 = rounded })
		embed(t, s, r, ann, nil, backends.Memory{ID: text, Text: text})
	}
	hits := search(t, newRanker(t, s, withEmbedder("m", e)), ann, backends.SearchRequest{Query: "tea"})
	require.Equal(t, []string{"near", "far"}, ids(hits))
	require.InDelta(t, 0.9, hits[0].Parts.Vector, 0.01)
	require.InDelta(t, 0.2, hits[1].Parts.Vector, 1e-6)
}

// A vector of a former model is no vector, even where the partition has the new model's name
// and the dimensions agree.
func TestStaleVectorIsNotCompared(t *testing.T) {
	s := newStore(1)
	stale, _, err := newRanker(t, s, withEmbedder("old", hashed(4))).Embed(t.Context(), []string{"green tea"})
	require.NoError(t, err)
	r := newRanker(t, s, withEmbedder("new", hashed(4)))
	embed(t, s, r, ann, nil, backends.Memory{ID: "fresh", Text: "black tea"})
	apply(t, s, ann, store.Put(&store.Record{Memory: backends.Memory{ID: "stale", Text: "green tea"}, Vector: stale[0]}))
	for _, h := range search(t, r, ann, backends.SearchRequest{Query: "green tea"}) {
		require.Equal(t, h.ID == "fresh", h.Parts.Vector > 0, h.ID)
	}
}

// An embedder that reports to callbacks does not reach the handlers that the agent around
// it has installed.
func TestEmbedderCallsAreDetached(t *testing.T) {
	seen := 0
	handler := callbacks.NewHandlerBuilder().OnStartFn(
		func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			seen++
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: "agent"}, handler)
	callbacks.OnStart(ctx, "probe")
	require.Equal(t, 1, seen, "the handler works")
	s := newStore(1)
	r := newRanker(t, s, withEmbedder("m", embedder(func([]string) ([][]float64, error) { return [][]float64{{1, 2}}, nil })))
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "tea"})
	_, _, err := r.Embed(ctx, []string{"tea"})
	require.NoError(t, err)
	_, err = r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
}

func TestWordsAnswerUntilAnotherModelIsReembedded(t *testing.T) {
	for _, c := range []struct {
		name, model string
		dim         int
	}{{"model", "new", 8}, {"dimension", "old", 16}, {"both", "new", 16}} {
		for store, s := range map[string]store.Records{"memory": newStore(1), "sqlite": testkit.SQLite(t)} {
			t.Run(c.name+" "+store, func(t *testing.T) {
				old := newRanker(t, s, withEmbedder("old", hashed(8)))
				for i := range 5 {
					embed(t, s, old, ann, nil, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: fmt.Sprint("tea ", i)})
				}
				apply(t, s, ann, fact("plain", "tea without a vector"), fact("blank", " "))
				r := newRanker(t, s, withEmbedder(c.model, hashed(c.dim)))
				resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea", TopK: 10})
				require.NoError(t, err)
				require.ErrorIs(t, resp.Degraded, backends.ErrDimension)
				require.ErrorContains(t, resp.Degraded, "Reembed")
				require.Len(t, resp.Hits, 6, "by words")
				require.Zero(t, resp.Hits[0].Parts.Vector)
				n, err := r.Reembed(t.Context(), ann)
				require.NoError(t, err)
				require.Equal(t, 6, n)
				hits := search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 10})
				require.Len(t, hits, 6)
				for _, h := range hits {
					require.Positive(t, h.Parts.Vector, h.ID)
				}
				resp, err = old.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
				require.NoError(t, err)
				require.ErrorIs(t, resp.Degraded, backends.ErrDimension, "the former model sees it at once")
				n, err = r.Reembed(t.Context(), ann)
				require.NoError(t, err)
				require.Equal(t, 6, n)
				require.Equal(t, hits, search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 10}), "a second time changes nothing, versions included")
			})
		}
	}
}

// A partition whose memories are all gone still has the name of a model.
func TestReembedOfAnEmptyPartition(t *testing.T) {
	for _, s := range []store.Records{newStore(1), testkit.SQLite(t)} {
		embed(t, s, newRanker(t, s, withEmbedder("old", hashed(8))), ann, nil, backends.Memory{ID: "1", Kind: backends.KindFact, Text: "tea"})
		apply(t, s, ann, store.Delete("1"))
		r := newRanker(t, s, withEmbedder("new", hashed(4)))
		require.Empty(t, find(t, r, "tea"))
		n, err := r.Reembed(t.Context(), ann)
		require.NoError(t, err)
		require.Zero(t, n)
		embed(t, s, r, ann, nil, backends.Memory{ID: "2", Kind: backends.KindFact, Text: "tea"})
		require.Equal(t, []string{"2"}, find(t, r, "tea"))
		n, err = r.Reembed(t.Context(), user("unknown"))
		require.NoError(t, err)
		require.Zero(t, n)
	}
}

// What others write while a partition is embedded anew is neither lost nor left with a
// vector of the former model.
func TestReembedWhileOthersWrite(t *testing.T) {
	s := newStore(1)
	old := newRanker(t, s, withEmbedder("old", hashed(8)))
	for i := range 3 {
		embed(t, s, old, ann, nil, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)})
	}
	r, calls := newRanker(t, s, withEmbedder("new", hashed(8))), 0
	s.race = func() {
		switch calls++; calls {
		case 1: // a change of what is to be written: the batch conflicts
			embed(t, s, old, ann, nil, backends.Memory{ID: "1", Text: "coffee"}, backends.Memory{ID: "3", Text: "tea 3"})
			apply(t, s, ann, store.Delete("2"))
		case 2: // something new with a vector of the former model
			embed(t, s, old, ann, nil, backends.Memory{ID: "4", Text: "tea 4"})
		case 4: // of the second Reembed: all is gone but what comes then
			_, err := s.Drop(t.Context(), ann)
			require.NoError(t, err)
			embed(t, s, old, ann, nil, backends.Memory{ID: "5", Text: "tea 5"})
		}
	}
	check := func(want ...string) {
		n, err := r.Reembed(t.Context(), ann)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		hits := search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 10})
		require.ElementsMatch(t, want, ids(hits))
		for _, h := range hits {
			require.Positive(t, h.Parts.Vector, h.ID)
			require.Equal(t, h.ID == "1", h.Text == "coffee")
		}
	}
	check("0", "1", "3", "4")
	apply(t, s, ann, fact("0", "more tea"))
	check("5")
}

func TestReembedGivesUp(t *testing.T) {
	s := newStore(1)
	n := 0
	s.race = func() { n++; apply(t, s, ann, fact("1", fmt.Sprint("tea ", n))) }
	s.race()
	_, err := newRanker(t, s, withEmbedder("new", hashed(8))).Reembed(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrConflict)
	_, err = newRanker(t, s).Reembed(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid, "without an embedder")
	e := &testkit.Embedder{Err: errors.New("down")}
	r := newRanker(t, s, withEmbedder("m", e))
	_, err = r.Reembed(t.Context(), ann)
	require.ErrorIs(t, err, e.Err)
	require.Nil(t, s.parts[ann].embedding, "nothing was changed")
	e.Err, e.Dim = nil, 8
	_, err = r.Reembed(t.Context(), backends.Partition{})
	require.ErrorIs(t, err, backends.ErrInvalid)
	s.before = func(context.Context, string) error { return backends.ErrUnavailable }
	_, err = r.Reembed(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestSearchesDuringReembed(t *testing.T) {
	s := newStore(1)
	old := newRanker(t, s, withEmbedder("old", hashed(8)))
	for i := range 20 {
		embed(t, s, old, ann, nil, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)})
	}
	r := newRanker(t, s, withEmbedder("new", hashed(16)))
	var searches sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		searches.Go(func() {
			for {
				resp, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: "tea", TopK: 50})
				if err != nil || len(resp.Hits) != 20 {
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

// A stored vector that cannot be decoded is an error with a way out, never silence.
func TestBrokenVector(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, withEmbedder("m", hashed(8)))
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "tea"}, backends.Memory{ID: "2", Text: "tea"})
	short := s.parts[ann].records["2"].Vector[:9]
	apply(t, s, ann, store.Put(&store.Record{Memory: backends.Memory{ID: "2", Text: "tea"}, Vector: short}))
	resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, backends.ErrDimension)
	require.Len(t, resp.Hits, 2, "by words")
	_, err = r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, find(t, r, "tea"), 2)
}

// ReembedAll goes on where it stopped, and takes in what has no vector of the model: what
// was stored without one, and what another process wrote with another model.
func TestReembedAllGoesOnWhereItStopped(t *testing.T) {
	s, e := testkit.SQLite(t), hashed(16)
	old := newRanker(t, s, withEmbedder("old", hashed(8)))
	partitions := []backends.Partition{user("1"), user("2"), user("3")}
	for _, p := range partitions {
		for i := range 5 {
			embed(t, s, old, p, nil, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: fmt.Sprint("tea ", i)})
		}
	}
	r := newRanker(t, s, withEmbedder("new", e))
	done := []int{}
	progress := func(n, total int) {
		require.Equal(t, 3, total)
		if done = append(done, n); n == 2 {
			e.Err = errors.New("down")
		}
	}
	n, err := r.ReembedAll(t.Context(), "test", progress)
	require.ErrorIs(t, err, e.Err)
	require.ErrorContains(t, err, partitions[2].String())
	require.Equal(t, 10, n)
	require.Equal(t, []int{1, 2}, done)
	e.Err = nil
	apply(t, s, partitions[0], fact("plain", "tea without a vector"))
	before := e.Texts.Load()
	n, err = r.ReembedAll(t.Context(), "test", nil)
	require.NoError(t, err)
	require.Equal(t, 16, n)
	require.EqualValues(t, 1+1+5, e.Texts.Load()-before, "one to learn the dimension, the plain one, the third partition")
	for _, p := range partitions {
		for _, h := range search(t, r, p, backends.SearchRequest{Query: "tea", TopK: 10}) {
			require.Positive(t, h.Parts.Vector, h.ID)
		}
	}
	_, err = newRanker(t, s).ReembedAll(t.Context(), "test", nil)
	require.ErrorIs(t, err, backends.ErrInvalid, "without an embedder")
}
