// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/testkit"
)

// TestFactsStandForTheirTurns: facts and episodes share a search.
func TestFactsStandForTheirTurns(t *testing.T) {
	for name, messages := range map[string]func(string) []backends.Message{
		"with ids": func(s string) []backends.Message {
			m := user(s)
			m[0].ID = "id of " + s
			return m
		},
		"without": func(s string) []backends.Message { return []backends.Message{{Message: user(s)[0].Message}} },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, with(resident(t)))
			add(t, b, ann, messages("I live in Beijing")...)
			later := backends.Scope{UserID: "ann", SessionID: "s2"}
			add(t, b, later, messages("I moved, Shanghai is where I live")...)
			add(t, b, later, messages("I live for jazz")...)
			q := backends.SearchRequest{Scope: ann, Query: "live"}
			require.ElementsMatch(t, []string{"The user lives in Shanghai.", "I live for jazz"}, search(t, b, q),
				"neither the turn that a fact stands for, nor the one that taught what holds no more")
			q.Kinds = []backends.Kind{backends.KindEpisode}
			require.Len(t, search(t, b, q), 3, "asked for, every turn is there")

			resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Shanghai", WithSources: true})
			require.NoError(t, err)
			require.Equal(t, "I moved, Shanghai is where I live", resp.Hits[0].Sources[0].Text)
		})
	}
}

func TestC1_01_TopK(t *testing.T) {
	b := open(t, with(thinking(t, func(shown) string { return operations() })))
	for _, s := range []string{"tea one", "tea two", "tea three", "tea four", "tea five", "tea six", "tea seven"} {
		add(t, b, ann, user(s)...)
	}
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "tea"}), 5)
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "tea", TopK: 2}), 2)
	require.Empty(t, search(t, b, backends.SearchRequest{Scope: ann, Query: " "}))
	require.Empty(t, search(t, b, backends.SearchRequest{Scope: backends.Scope{UserID: "nobody"}, Query: "tea"}))
	for _, wrong := range []int{-1, 1001} {
		_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea", TopK: wrong})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err := b.Search(ctx, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = b.Add(ctx, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

type brokenReranker struct{ calls int }

func (r *brokenReranker) Rerank(context.Context, string, []backends.Hit) ([]float64, error) {
	r.calls++
	return nil, errors.New("out of order")
}

func TestC1_14_RerankerFailureKeepsTheOrder(t *testing.T) {
	broken := &brokenReranker{}
	st := openStore(t)
	plain := open(t, on(st))
	reranked := open(t, on(st), func(c *mem0.Config) { c.Recall = &recall.Config{Reranker: broken} })
	for _, s := range []string{"tea", "green tea and cake", "tea with milk and sugar in the morning"} {
		add(t, plain, ann, user(s)...)
	}
	want := search(t, plain, backends.SearchRequest{Scope: ann, Query: "tea"})
	resp, err := reranked.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.NoError(t, err)
	require.Error(t, resp.Degraded)
	require.Equal(t, 1, broken.calls)
	for i, h := range resp.Hits {
		require.Equal(t, want[i], h.Text)
	}
}

// wholePool notes how many hits a reranker was shown, and turns their order round.
type wholePool struct{ shown int }

func (w *wholePool) Rerank(_ context.Context, _ string, hits []backends.Hit) ([]float64, error) {
	w.shown = len(hits)
	scores := make([]float64, len(hits))
	for i := range scores {
		scores[i] = float64(i) / float64(len(hits))
	}
	return scores, nil
}

func TestD7_AKeywordFindsWhatVectorsMissAndTheWholePoolIsReranked(t *testing.T) {
	at := func(cosine float64) []float64 { return []float64{cosine, math.Sqrt(1 - cosine*cosine)} }
	far := func(text string) []float64 { // the fact with the keyword is farther from the question than any other
		var day int
		switch n, _ := fmt.Sscanf(text, "the weather of day %d was fine", &day); {
		case strings.HasSuffix(text, "?"):
			return at(1)
		case n == 1:
			return at(0.3 + 0.02*float64(day))
		}
		return at(0.1)
	}
	vectors := embedded(&testkit.Embedder{Dim: 2, Vector: far})
	st := openStore(t)
	b := open(t, on(st), vectors)
	for i := range 12 {
		add(t, b, ann, user(fmt.Sprintf("the weather of day %d was fine", i))...)
	}
	add(t, b, ann, user("my invoice is X-4711")...)
	got := search(t, b, backends.SearchRequest{Scope: ann, Query: "where is X-4711?", TopK: 3})
	require.Equal(t, "my invoice is X-4711", got[0])

	pool := &wholePool{}
	reranked := open(t, on(st), vectors, func(c *mem0.Config) { c.Recall = &recall.Config{Reranker: pool} })
	last := search(t, reranked, backends.SearchRequest{Scope: ann, Query: "fine weather", TopK: 1})
	require.Len(t, last, 1)
	require.Greater(t, pool.shown, 3, "not only the hits that would be returned")
}

func TestD11_EmbeddingModelIsKept(t *testing.T) {
	st := openStore(t)
	model := func(name string, dim int) func(*mem0.Config) {
		return func(c *mem0.Config) { c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: dim}, name }
	}
	old := open(t, on(st), model("small", 16))
	resp := add(t, old, ann, user("I like tea")...)
	require.Equal(t, 1, resp.Usage.EmbeddedTexts)

	renamed := open(t, on(st), model("large", 32))
	_, err := renamed.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.ErrorIs(t, err, backends.ErrDimension)
	_, err = renamed.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("I like coffee")})
	require.ErrorIs(t, err, backends.ErrDimension)
	n, err := renamed.Reembed(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"I like tea"}, search(t, renamed, backends.SearchRequest{Scope: ann, Query: "tea"}))
	add(t, renamed, ann, user("I like coffee")...)
}

func TestD11_EmbedderFailureStoresNothing(t *testing.T) {
	e := &testkit.Embedder{Dim: 16, Err: errors.New("no route")}
	b := open(t, embedded(e))
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	e.Err = nil
	require.Empty(t, list(t, b, ann))
	add(t, b, ann, user("tea")...)
	e.Err = errors.New("no route")
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	require.Error(t, resp.Degraded, "lexical alone")
}

func TestCallbacksSeeMemory(t *testing.T) {
	var seen []string
	note := func(what string, info *callbacks.RunInfo) {
		seen = append(seen, what+" "+string(info.Component)+" "+info.Type)
	}
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if _, ok := in.(*backends.CallbackInput); ok {
				note("start", info)
			} else {
				note("other", info)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			note("end", info)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			note("error", info)
			return ctx
		}).Build()
	traced := callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: "agent", Component: "ChatModel"}, h)
	b := open(t, with(resident(t)))
	_, err := b.Add(traced, &backends.AddRequest{Scope: ann, Messages: user("I live in Beijing")})
	require.NoError(t, err)
	_, err = b.Search(traced, &backends.SearchRequest{Query: "x"})
	require.Error(t, err)
	require.Equal(t, []string{"start Memory Mem0", "end Memory Mem0", "start Memory Mem0", "error Memory Mem0"}, seen,
		"the model call of memory's own is no event of the agent")
}

func TestCloseRefusesAndWaits(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	m := thinking(t, func(shown) string { close(asked); <-answer; return operations() })
	b := open(t, with(m))
	done := make(chan error, 1)
	go func() {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
		done <- err
	}()
	<-asked
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.Close(cancelled), context.Canceled, "a call is under way")
	_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	close(answer)
	require.NoError(t, <-done)
	require.NoError(t, b.Close(ctx))
	require.NoError(t, b.Close(ctx))
}
