// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

// half is a half of a joined backend that keeps memories by their ids.
type half struct {
	testkit.Backend
	backends.Manager
	held  []backends.Memory
	scope error // of every call of a Manager, if it is set
}

func (h *half) Get(_ context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	for i := range h.held {
		if h.held[i].ID == r.ID && h.scope == nil {
			return &h.held[i], nil
		}
	}
	return nil, errors.Join(backends.ErrNotFound, h.scope)
}

func (h *half) List(_ context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	var at int
	_, _ = fmt.Sscan(r.Cursor, &at)
	out := &backends.ListResponse{Memories: h.held[min(at, len(h.held)):min(at+r.Limit, len(h.held))]}
	if at+r.Limit < len(h.held) {
		out.Next = fmt.Sprint(at + r.Limit)
	}
	return out, h.scope
}

func (h *half) DeleteAll(context.Context, *backends.DeleteAllRequest) (int, error) {
	if h.scope != nil {
		return 0, h.scope
	}
	return len(h.held), nil
}

func holding(ids ...string) *half {
	h := &half{}
	for _, id := range ids {
		h.held = append(h.held, backends.Memory{ID: id})
	}
	return h
}

// scored are hits of those scores, whose ids are the name and the place.
func scored(name string, scores ...float64) *testkit.Backend {
	b := &testkit.Backend{}
	for i, s := range scores {
		b.Found = append(b.Found, backends.Hit{Memory: backends.Memory{ID: fmt.Sprint(name, i)}, Score: s})
	}
	return b
}

var errDown = fmt.Errorf("the store is down: %w", backends.ErrUnavailable)

func TestAJoinedBackendMergesWhatItsHalvesFind(t *testing.T) {
	for name, c := range map[string]struct {
		facts, experience *testkit.Backend
		k                 int
		want              []string
	}{
		"by score, each in its own order": {scored("f", .9, .2, .5), scored("e", .8, .4), 0, []string{"f0", "e0", "f1", "f2", "e1"}},
		"a place for experience":          {scored("f", .9, .8, .7, .6, .5), scored("e", .1, .1), 5, []string{"f0", "f1", "f2", "f3", "e0"}},
		"a place for facts":               {scored("f", .1), scored("e", .9, .8, .7, .6, .5), 5, []string{"e0", "e1", "e2", "e3", "f0"}},
		"two of ten":                      {scored("f", .9, .9, .9, .9, .9, .9, .9, .9, .9, .9), scored("e", .1, .1, .1), 10, []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "e0", "e1"}},
		"one place is the best's":         {scored("f", .1), scored("e", .9), 1, []string{"e0"}},
		"one of two":                      {scored("f", .1), scored("e", .9, .8), 2, []string{"e0", "f0"}},
		"one half alone":                  {scored("f"), scored("e", .9, .8), 5, []string{"e0", "e1"}},
		"nothing":                         {scored("f"), scored("e"), 5, []string{}},
	} {
		got, err := backends.Join(c.facts, c.experience).Search(t.Context(), &backends.SearchRequest{Query: "q", TopK: c.k})
		require.NoError(t, err)
		require.NoError(t, got.Degraded)
		require.Equal(t, c.want, testkit.IDs(got.Hits), name)
	}
}

func TestEachHalfIsAskedForItsKinds(t *testing.T) {
	for _, c := range []struct{ asked, facts, experience []backends.Kind }{
		{nil, []backends.Kind{}, []backends.Kind{backends.KindSkill, backends.KindTask, backends.KindTool}},
		{[]backends.Kind{backends.KindTool}, nil, []backends.Kind{backends.KindTool}},
		{[]backends.Kind{backends.KindFact, backends.KindEpisode, "mine"}, []backends.Kind{backends.KindFact, backends.KindEpisode, "mine"}, nil},
		{[]backends.Kind{backends.KindTask, backends.KindPersonal}, []backends.Kind{backends.KindPersonal}, []backends.Kind{backends.KindTask}},
	} {
		facts, experience := scored("f", .5), scored("e", .5)
		got, err := backends.Join(facts, experience).Search(t.Context(), &backends.SearchRequest{Query: "q", Kinds: c.asked})
		require.NoError(t, err)
		hits := 0
		for b, want := range map[*testkit.Backend][]backends.Kind{facts: c.facts, experience: c.experience} {
			require.Equal(t, want != nil, len(b.Searches()) == 1, c.asked)
			if want != nil {
				require.ElementsMatch(t, want, b.Searches()[0].Kinds, c.asked)
				hits++
			}
		}
		require.Len(t, got.Hits, hits)
	}
}

func TestOneHalfAnswersWhileTheOtherFails(t *testing.T) {
	down := func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return nil, errDown }
	broken := func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("broken") }
	nowhere := func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, backends.ErrNoScope
	}
	for _, c := range []struct {
		name              string
		facts, experience func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error)
		hits              int
		degraded          string
		err               error
	}{
		{"facts fails", down, nil, 1, "the store is down", nil},
		{"experience fails", nil, down, 1, "the store is down", nil},
		{"experience panics", nil, broken, 1, "*testkit.Backend: panic: broken", nil},
		{"both fail", down, down, 0, "", backends.ErrUnavailable},
		{"no user", nowhere, nil, 1, "", nil},
		{"no workspace", nil, nowhere, 1, "", nil},
		{"no workspace, and facts fails", down, nowhere, 0, "", backends.ErrUnavailable},
		{"no scope", nowhere, nowhere, 0, "", backends.ErrNoScope},
	} {
		facts, experience := scored("f", .5), scored("e", .5)
		facts.OnSearch, experience.OnSearch = c.facts, c.experience
		got, err := backends.Join(facts, experience).Search(t.Context(), &backends.SearchRequest{Query: "q"})
		require.ErrorIs(t, err, c.err, c.name)
		if c.err != nil {
			require.Equal(t, errors.Is(c.err, backends.ErrNoScope), errors.Is(err, backends.ErrNoScope), c.name)
			continue
		}
		require.Len(t, got.Hits, c.hits, c.name)
		if c.degraded == "" {
			require.NoError(t, got.Degraded, c.name)
		} else {
			require.ErrorContains(t, got.Degraded, c.degraded)
		}
	}
}

func TestAConversationIsLearntByBothAndTheRestByItsHalf(t *testing.T) {
	for name, c := range map[string]struct {
		r                 backends.AddRequest
		facts, experience int
	}{
		"a conversation":     {backends.AddRequest{}, 1, 1},
		"a note of an agent": {backends.AddRequest{Author: "agent"}, 1, 1},
		"word for word":      {backends.AddRequest{Verbatim: true}, 1, 0},
		"a fact":             {backends.AddRequest{Kind: backends.KindFact}, 1, 0},
		"a task":             {backends.AddRequest{Kind: backends.KindTask}, 0, 1},
		"a written task":     {backends.AddRequest{Kind: backends.KindTask, Verbatim: true}, 0, 1},
	} {
		facts, experience := &testkit.Backend{}, &testkit.Backend{}
		r := c.r
		r.Messages, r.IdempotencyKey, r.Checkpoint = testkit.User("hello"), "k", &backends.Checkpoint{Session: "s", Upto: 3}
		resp, err := backends.Join(facts, experience).Add(t.Context(), &r)
		require.NoError(t, err)
		require.Len(t, resp.Items, c.facts+c.experience)
		require.Len(t, facts.Adds(), c.facts, name)
		require.Len(t, experience.Adds(), c.experience, name)
		if c.facts+c.experience == 1 {
			require.Equal(t, []backends.AddRequest{r}, slices.Concat(facts.Adds(), experience.Adds()), name)
			continue
		}
		said, done := facts.Adds()[0], experience.Adds()[0]
		require.Empty(t, said.Kind)
		require.Equal(t, backends.KindTask, done.Kind, "experience does not learn about people")
		require.NotEqual(t, said.IdempotencyKey, done.IdempotencyKey)
		require.Nil(t, said.Checkpoint, "the other half has not learnt yet")
		require.Equal(t, r.Checkpoint, done.Checkpoint)
	}
}

// A half that queued a conversation is asked again, so the other one must not mark it as learnt.
func TestAConversationThatOneHalfQueuedIsNotMarkedAsLearnt(t *testing.T) {
	var marked *backends.Checkpoint
	facts := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{Queued: true}, nil
	}}
	experience := &testkit.Backend{OnAdd: func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		marked = r.Checkpoint
		return &backends.AddResponse{}, nil
	}}
	r := &backends.AddRequest{Scope: backends.Scope{UserID: "ann"}, Messages: testkit.User("hello"), Checkpoint: &backends.Checkpoint{Session: "s", Upto: 3}}
	resp, err := backends.Join(facts, experience).Add(t.Context(), r)
	require.NoError(t, err)
	require.True(t, resp.Queued)
	require.Nil(t, marked)
}

// A log offers what failed again under its key. The half that had learnt by then replays,
// and the checkpoint is written once both have.
func TestAFailureOfOneHalfDoublesNothingInTheOther(t *testing.T) {
	for _, fails := range []string{"facts", "experience"} {
		var order []string
		seen := map[string]bool{}
		once := func(name string) *testkit.Backend {
			failed := name != fails
			return &testkit.Backend{OnAdd: func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
				order = append(order, name)
				if !failed {
					failed = true
					return nil, errDown
				}
				if seen[r.IdempotencyKey] {
					return &backends.AddResponse{Replayed: true, Checkpointed: r.Checkpoint != nil}, nil
				}
				seen[r.IdempotencyKey] = true
				out := testkit.Added(name)
				out.Usage.ModelCalls, out.Checkpointed = 1, r.Checkpoint != nil
				return out, nil
			}}
		}
		b := backends.Join(once("facts"), once("experience"))
		r := &backends.AddRequest{Messages: testkit.User("hello"), IdempotencyKey: "k", Checkpoint: &backends.Checkpoint{Session: "s", Upto: 3}}
		stored, err := b.Add(t.Context(), r)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.Equal(t, fails == "experience", stored != nil, "a response beside the error says that a part is stored")
		second, err := b.Add(t.Context(), r)
		require.NoError(t, err)
		require.True(t, second.Checkpointed)
		require.False(t, second.Replayed)
		require.Equal(t, map[string][]string{"facts": {"facts", "facts", "experience"}, "experience": {"facts", "experience", "facts", "experience"}}[fails], order)
		require.Len(t, second.Items, map[string]int{"facts": 2, "experience": 1}[fails])
		require.Equal(t, len(second.Items), second.Usage.ModelCalls)
		third, err := b.Add(t.Context(), r)
		require.NoError(t, err)
		require.True(t, third.Replayed)
	}
}

func TestAHalfWithoutAScopeLearnsNothing(t *testing.T) {
	nowhere := func() *testkit.Backend {
		return &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
			return nil, backends.ErrNoScope
		}}
	}
	r := &backends.AddRequest{Messages: testkit.User("hello")}
	for _, b := range []backends.Backend{backends.Join(nowhere(), &testkit.Backend{}), backends.Join(&testkit.Backend{}, nowhere())} {
		resp, err := b.Add(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, resp.Items, 1)
	}
	_, err := backends.Join(nowhere(), nowhere()).Add(t.Context(), r)
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestMemoriesOfBothHalvesAreManaged(t *testing.T) {
	facts, experience := holding("f1", "f2", "f3"), holding("e1", "e2")
	b := backends.Join(facts, experience).(backends.Manager)
	list := func(kinds ...backends.Kind) (got []string, pages int) {
		for r := (&backends.ListRequest{Limit: 2, Kinds: kinds}); ; {
			page, err := b.List(t.Context(), r)
			require.NoError(t, err)
			for _, m := range page.Memories {
				got = append(got, m.ID)
			}
			if r.Cursor, pages = page.Next, pages+1; r.Cursor == "" {
				return got, pages
			}
		}
	}
	all, pages := list()
	require.Equal(t, []string{"f1", "f2", "f3", "e1", "e2"}, all)
	require.Equal(t, 3, pages)
	all, _ = list(backends.KindFact)
	require.Equal(t, []string{"f1", "f2", "f3"}, all)
	all, pages = list(backends.KindTask)
	require.Equal(t, []string{"e1", "e2"}, all, "and no empty page before")
	require.Equal(t, 1, pages)

	for _, id := range []string{"f1", "e1"} {
		m, err := b.Get(t.Context(), &backends.GetRequest{ID: id})
		require.NoError(t, err)
		require.Equal(t, id, m.ID)
	}
	_, err := b.Get(t.Context(), &backends.GetRequest{ID: "x"})
	require.ErrorIs(t, err, backends.ErrNotFound)
	n, err := b.DeleteAll(t.Context(), &backends.DeleteAllRequest{})
	require.NoError(t, err)
	require.Equal(t, 5, n)

	facts.scope = backends.ErrNoScope
	all, _ = list()
	require.Equal(t, []string{"e1", "e2"}, all)
	n, err = b.DeleteAll(t.Context(), &backends.DeleteAllRequest{})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	experience.scope = backends.ErrNoScope
	_, err = b.List(t.Context(), &backends.ListRequest{Limit: 2})
	require.ErrorIs(t, err, backends.ErrNoScope)
	last, err := b.List(t.Context(), &backends.ListRequest{Limit: 2, Cursor: "experience:"})
	require.NoError(t, err, "the page behind the facts of a user")
	require.Empty(t, last.Memories)
	facts.scope = errDown
	_, err = b.List(t.Context(), &backends.ListRequest{Limit: 2})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.DeleteAll(t.Context(), &backends.DeleteAllRequest{})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

type judging struct{ testkit.Backend }

func (*judging) RecordOutcome(context.Context, *backends.OutcomeRequest) (*backends.AddResponse, error) {
	return nil, nil
}
func (*judging) AlwaysLearns() bool { return true }

func TestWhatAJoinedBackendCanDo(t *testing.T) {
	plain, judge := &testkit.Backend{}, &judging{}
	b := backends.Join(plain, judge)
	require.Equal(t, backends.Backend(plain), backends.Join(plain, nil))
	require.Equal(t, backends.Backend(judge), backends.Join(nil, judge))
	_, manages := b.(backends.Manager)
	require.False(t, manages, "its halves do not")
	_, manages = backends.Join(holding(), judge).(backends.Manager)
	require.False(t, manages, "one half does not")
	got, ok := backends.As[backends.Judge](b)
	require.True(t, ok)
	require.Same(t, judge, got)
	_, ok = backends.As[backends.ToolRecorder](b)
	require.False(t, ok)

	part, always := backends.AlwaysLearning(b)
	require.True(t, always)
	_, err := part.Add(t.Context(), &backends.AddRequest{Messages: []backends.Message{{Message: schema.UserMessage("x")}}})
	require.NoError(t, err)
	require.Empty(t, plain.Adds(), "it learns where the mode says so")
	require.Len(t, judge.Adds(), 1)
	_, always = backends.AlwaysLearning(backends.Join(plain, plain))
	require.False(t, always)

	require.NoError(t, b.Close(t.Context()))
	require.Equal(t, 2, plain.Closed()+judge.Closed())
	_, err = b.Search(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = b.Add(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAJoinIsWholeWhereFactsAre(t *testing.T) {
	hit := func(id string, kind backends.Kind, score float64) backends.Hit {
		return backends.Hit{Memory: backends.Memory{ID: id, Kind: kind, Text: id}, Score: score}
	}
	facts := &briefed{resp: backends.SearchResponse{Whole: true, Standing: []backends.Hit{hit("s", backends.KindFact, 0)}, Hits: []backends.Hit{hit("a", backends.KindFact, 0.3), hit("b", backends.KindFact, 0), hit("c", backends.KindFact, 0)}}}
	tasks := &briefed{resp: backends.SearchResponse{Hits: []backends.Hit{hit("t", backends.KindTask, 0.5), hit("u", backends.KindTask, 0.4)}}}
	resp, err := backends.Join(facts, tasks).Search(t.Context(), &backends.SearchRequest{TopK: 2, Brief: 300})
	require.NoError(t, err)
	require.True(t, resp.Whole)
	require.Len(t, resp.Standing, 1)
	var ids []string
	for _, h := range resp.Hits {
		ids = append(ids, h.ID)
	}
	require.Equal(t, []string{"t", "a", "b", "c"}, ids)
}

// briefed answers each search the same.
type briefed struct {
	backends.Backend
	resp backends.SearchResponse
}

func (b *briefed) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	resp := b.resp
	return &resp, nil
}
