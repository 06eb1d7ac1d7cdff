// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
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

func TestAFactNamesTheTurnThatTaughtIt(t *testing.T) {
	m := thinking(t, func(s shown) string {
		return operations(fmt.Sprintf(`{"op":"add","text":"The user has a parrot called Kiki.","said_by":"user","messages":[%d]}`, s.new[2].N))
	})
	b := open(t, with(m))
	add(t, b, ann, user("Good morning", "How are you?", "My parrot Kiki woke me up", "Bye")...)
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "What is the parrot called?", WithSources: true})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Hits[0].Kind)
	require.Len(t, resp.Hits[0].Sources, 1)
	require.Equal(t, "My parrot Kiki woke me up", resp.Hits[0].Sources[0].Text)
	require.Equal(t, []string{"m2"}, resp.Hits[0].Origin.MessageIDs)
}

func TestAFactThatNamesManyTurnsDoesNotHideThem(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user talked about parrots."}`))))
	add(t, b, ann, user("parrots are blue", "parrots are red", "parrots are loud", "parrots are old", "parrots are wise")...)
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "parrots", TopK: 10}), 6)
}

func TestTopK(t *testing.T) {
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
}

func TestAnotherEmbeddingModelNeedsReembed(t *testing.T) {
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

func TestAnEmbedderThatFailsStoresNothing(t *testing.T) {
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
	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	close(answer)
	require.NoError(t, <-done)
	require.NoError(t, b.Close(ctx))
	require.NoError(t, b.Close(ctx))
}
