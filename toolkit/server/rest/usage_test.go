// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/server/access"
)

// asker is a call by memory, or under another name by somebody else.
func asker(t *testing.T, u *Usage, name string, c components.Component) context.Context {
	return callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: name, Type: "OpenAI", Component: c}, u.Handler())
}

// chats makes a call of a model that answers in so many tokens, or fails.
func chats(t *testing.T, u *Usage, name string, err error) {
	ctx := callbacks.OnStart(asker(t, u, name, components.ComponentOfChatModel), &model.CallbackInput{Config: &model.Config{Model: "m"}})
	if err != nil {
		callbacks.OnError(ctx, err)
		return
	}
	callbacks.OnEnd(ctx, &model.CallbackOutput{TokenUsage: &model.TokenUsage{PromptTokens: 100, CompletionTokens: 7}})
}

func daysOf(t *testing.T, u *Usage) []Day {
	t.Helper()
	days, err := u.Days(t.Context())
	require.NoError(t, err)
	return days
}

func TestWhatMemoryCostsIsCounted(t *testing.T) {
	var events []Event
	clock := testkit.NewClock()
	u := NewUsage(&UsageConfig{Clock: clock.Now, Observe: func(_ context.Context, e Event) { events = append(events, e) }})
	defer func() { require.NoError(t, u.Close(t.Context())) }()
	chats(t, u, work.Asker, nil)
	chats(t, u, work.Asker, errors.New("down"))
	chats(t, u, "agent", nil) // its own words
	ctx := callbacks.OnStart(asker(t, u, work.Asker, components.ComponentOfEmbedding), &embedding.CallbackInput{Config: &embedding.Config{Model: "e"}})
	clock.Advance(time.Second)
	callbacks.OnEnd(ctx, &embedding.CallbackOutput{TokenUsage: &embedding.TokenUsage{PromptTokens: 20}})
	u.Note(t.Context(), hooks.Note{Text: "Today is Saturday."})
	u.Note(t.Context(), hooks.Note{})
	day := Day{Day: "2026-03-07", ModelCalls: 2, FailedCalls: 1, PromptTokens: 100, CompletionTokens: 7, EmbeddingRequests: 1, EmbeddingTokens: 20, Notes: 1, NoteTokens: 4}
	require.Equal(t, []Day{day}, daysOf(t, u))
	require.Equal(t, []Event{
		{Operation: "chat", Provider: "openai", Model: "m", Input: 100, Output: 7},
		{Operation: "chat", Provider: "openai", Model: "m", Err: events[1].Err},
		{Operation: "embeddings", Provider: "openai", Model: "e", Input: 20, Took: time.Second},
		{Operation: "note", Input: 4},
	}, events)
	require.ErrorContains(t, events[1].Err, "down")
}

// A searcher answers every search.
type searcher struct {
	backends.Backend
	degraded error
}

func (s searcher) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{Degraded: s.degraded}, nil
}

func TestASearchOfTwoHalvesIsOneSearch(t *testing.T) {
	u, other := NewUsage(&UsageConfig{}), NewUsage(&UsageConfig{})
	defer func() { require.NoError(t, other.Close(t.Context())) }()
	defer func() { require.NoError(t, u.Close(t.Context())) }()
	q := &backends.SearchRequest{Scope: backends.Scope{UserID: "ann"}, Query: "tea"}
	for _, degraded := range []error{nil, fmt.Errorf("%w: the embedder is down", fault.ErrByWords), errors.New("the order is as before")} {
		facts, experience := backends.Traced("Mem0", searcher{degraded: degraded}), backends.Traced("ReMe", searcher{})
		ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, other.Handler(), u.Handler())
		_, err := backends.Join(facts, experience).Search(ctx, q)
		require.NoError(t, err)
		_, err = facts.Search(ctx, q)
		require.NoError(t, err)
	}
	day := daysOf(t, u)[0]
	require.Equal(t, []int64{6, 2, 2}, []int64{day.Searches, day.ByWords, day.InPart})
}

func TestCountsOutliveTheirProcesses(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		start := func() *Usage {
			return NewUsage(&UsageConfig{Store: db, Clock: clock.Now, Location: time.FixedZone("east", 8*3600)})
		}
		one, other := start(), start()
		chats(t, one, work.Asker, nil)
		chats(t, other, work.Asker, nil)
		require.NoError(t, other.Close(t.Context()))
		chats(t, other, work.Asker, nil) // it is closed
		require.EqualValues(t, 2, daysOf(t, one)[0].ModelCalls)
		require.Empty(t, one.unsaved, "a count is written once")
		require.Empty(t, other.unsaved)

		clock.Advance(4 * time.Hour) // the next day, there
		chats(t, one, work.Asker, nil)
		require.NoError(t, one.Close(t.Context()))
		again := start()
		defer func() { require.NoError(t, again.Close(t.Context())) }()
		days := daysOf(t, again)
		require.Equal(t, []string{"2026-03-08", "2026-03-07"}, []string{days[0].Day, days[1].Day})
		require.Equal(t, []int64{1, 2}, []int64{days[0].ModelCalls, days[1].ModelCalls})
		people, err := db.Partitions(t.Context(), backends.DefaultNamespace, store.Page{})
		require.NoError(t, err)
		require.Empty(t, people.Partitions, "counts are nobody's memories")

		clock.Advance(30 * 24 * time.Hour)
		chats(t, again, work.Asker, nil)
		require.Len(t, daysOf(t, again), 2)
		blobs, err := db.ListBlobs(t.Context(), usagePartition, "", "", store.Page{})
		require.NoError(t, err)
		require.Len(t, blobs.Blobs, 2, "what is too old is gone")
	})
}

// A store that is down for a while loses no counts.
func TestCountsWaitForTheStore(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	u := NewUsage(&UsageConfig{})
	u.cfg.Store = db // it does not write by itself
	chats(t, u, work.Asker, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, u.save(gone))
	require.NoError(t, u.Close(t.Context()))
	reader := NewUsage(&UsageConfig{Store: db})
	defer func() { require.NoError(t, reader.Close(t.Context())) }()
	require.EqualValues(t, 1, daysOf(t, reader)[0].ModelCalls)
}

func TestTheCostIsForKeysThatOpenEverything(t *testing.T) {
	all, ann := access.NewSecret(), access.NewSecret()
	every := []string{access.Any}
	u := NewUsage(&UsageConfig{})
	defer func() { require.NoError(t, u.Close(t.Context())) }()
	s := newServer(t, []access.Key{
		{Name: "operator", Hash: access.Hash(all), Namespaces: every, Users: every, Agents: every, Workspaces: every, Admin: true},
		{Name: "ann", Hash: access.Hash(ann), Users: []string{"ann"}},
	}, func(c *Config) { c.Usage = u })
	chats(t, u, work.Asker, nil)
	for secret, want := range map[string]int{all: http.StatusOK, ann: http.StatusForbidden, "": http.StatusUnauthorized} {
		status, out := s.call(secret, http.MethodGet, "/api/v1/usage", nil)
		require.Equal(t, want, status, out)
	}
	_, out := s.call(all, http.MethodGet, "/api/v1/usage", nil)
	require.Len(t, out["days"], 1)
	require.NotContains(t, out, "budget")
	_, out = s.call(all, http.MethodGet, "/api/v1/me", nil)
	require.Contains(t, out["features"], "usage")
}
