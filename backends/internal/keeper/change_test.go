// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func core(id, text string) *store.Record {
	r := fact(id, text)
	r.Kind = backends.KindCore
	return r
}

func TestGetOfWhatExpired(t *testing.T) {
	now := start
	w := open(t, func(c *keeper.Config, _ *recall.Config) { c.Clock = func() time.Time { return now } })
	r := fact("1", "the offer ends")
	r.Expires = start.Add(time.Hour)
	w.put(ann, r)
	require.Equal(t, "the offer ends", w.get(ann, "1").Text)
	now = start.Add(time.Hour)
	_, err := w.Get(ctx, ann, "1")
	require.ErrorIs(t, err, backends.ErrNotFound)
	recs, err := w.Records(ctx, ann, "none", "1")
	require.NoError(t, err)
	require.Len(t, recs, 1, "it is stored all the same")
	never := time.Time{}
	_, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Expires: &never})
	require.NoError(t, err)
	require.Equal(t, "the offer ends", w.get(ann, "1").Text)
}

func TestIDsThatAreNone(t *testing.T) {
	w, text := open(t), "x"
	for _, id := range []string{"", "\xff", strings.Repeat("x", store.MaxID+1)} {
		_, err := w.Get(ctx, ann, id)
		require.ErrorIs(t, err, backends.ErrInvalid)
		_, err = w.Records(ctx, ann, "1", id)
		require.ErrorIs(t, err, backends.ErrInvalid)
		_, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: id, Text: &text})
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorIs(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: id}), backends.ErrInvalid)
		_, err = w.History(ctx, ann, id)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestListInPages(t *testing.T) {
	w := open(t)
	var all []*store.Record
	for i := range 7 {
		all = append(all, fact(fmt.Sprintf("%d", 9-i), fmt.Sprintf("number %d", i)))
	}
	w.put(ann, all...)
	for size := 1; size <= 8; size++ {
		var got []string
		r := &backends.ListRequest{Limit: size}
		for {
			page, err := w.List(ctx, ann, r)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Memories), size)
			for _, m := range page.Memories {
				got = append(got, m.Text)
			}
			if r.Cursor = page.Next; r.Cursor == "" {
				break
			}
			require.Len(t, page.Memories, size)
		}
		require.Equal(t, w.texts(ann), got)
		require.Equal(t, "number 0", got[0], "in the order stored, though the clock stands still")
	}
	for _, cursor := range []string{"!", "eA", "eHx5"} {
		_, err := w.List(ctx, ann, &backends.ListRequest{Cursor: cursor})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestListNewestFirst(t *testing.T) {
	w := open(t)
	var want []string
	for i := range 7 { // begun in another order than stored, two at the same time
		m := fact(fmt.Sprint(i), fmt.Sprintf("number %d", i))
		m.Valid = start.AddDate(0, 0, []int{3, 1, 6, 1, 5, 0, 2}[i])
		w.put(ann, m)
	}
	for _, i := range []int{2, 4, 0, 6, 3, 1, 5} {
		want = append(want, fmt.Sprintf("number %d", i))
	}
	for size := 1; size <= 8; size++ {
		var got []string
		r := &backends.ListRequest{Limit: size, Newest: true}
		for next := true; next; next = r.Cursor != "" {
			page, err := w.List(ctx, ann, r)
			require.NoError(t, err)
			for _, m := range page.Memories {
				got = append(got, m.Text)
			}
			r.Cursor = page.Next
		}
		require.Equal(t, want, got)
	}
}

func TestListChooses(t *testing.T) {
	w := open(t)
	expired, task, gone := fact("expired", "expired"), fact("task", "task"), fact("gone", "gone")
	expired.Expires, task.Kind, gone.Invalidated = start, backends.KindTask, start
	task.Metadata = map[string]any{"topic": "food"}
	w.put(ann, fact("old", "old"), expired, task, gone, core("core", "core"))
	_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Supersede("old", fact("new", "new"))}}, nil)
	require.NoError(t, err)
	food, bad := backends.Eq("topic", "food"), backends.Filter{Op: "like", Field: "topic", Value: "x"}
	for _, tc := range []struct {
		r    backends.ListRequest
		want []string
	}{
		{backends.ListRequest{}, []string{"new", "task"}},
		{backends.ListRequest{IncludeSuperseded: true}, []string{"new", "task", "old", "gone"}},
		{backends.ListRequest{IncludeExpired: true}, []string{"new", "task", "expired"}},
		{backends.ListRequest{Kinds: []backends.Kind{backends.KindTask}}, []string{"task"}},
		{backends.ListRequest{Kinds: []backends.Kind{backends.KindCore, backends.KindTask}}, []string{"core", "task"}},
		{backends.ListRequest{Filter: &food}, []string{"task"}},
		{backends.ListRequest{Part: "AS"}, []string{"task"}},
	} {
		page, err := w.List(ctx, ann, &tc.r)
		require.NoError(t, err)
		var got []string
		for _, m := range page.Memories {
			got = append(got, m.Text)
		}
		require.ElementsMatch(t, tc.want, got, "%+v", tc.r)
	}
	_, err = w.List(ctx, ann, &backends.ListRequest{Filter: &bad})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.DeleteAll(ctx, ann, &backends.DeleteAllRequest{Filter: &bad})
	require.ErrorIs(t, err, backends.ErrInvalid)
	n, err := w.DeleteAll(ctx, ann, &backends.DeleteAllRequest{Filter: &food})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = w.DeleteAll(ctx, ann, &backends.DeleteAllRequest{})
	require.NoError(t, err)
	require.Equal(t, 5, n, "whatever became of them, and core blocks")
}

func TestUpdate(t *testing.T) {
	now := start
	e := &testkit.Embedder{Dim: 8}
	w := open(t, embedded(e), func(c *keeper.Config, _ *recall.Config) {
		c.Clock = func() time.Time { return now }
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "") }
	})
	r := fact("1", "tea")
	r.Scope, r.Metadata = backends.Scope{Namespace: "default", UserID: "ann"}, map[string]any{"a": "1", "b": "2"}
	w.put(ann, r)
	now = now.Add(time.Hour)
	text, quality, deep := " green tea hunter2\n", 0.5, []any{"x"}
	got, err := w.Update(ctx, ann, &backends.UpdateRequest{
		ID: "1", Text: &text, Quality: &quality, Metadata: map[string]any{"b": nil, "c": deep, "user_id": "bob"},
	})
	require.NoError(t, err)
	deep[0] = "changed later"
	require.Equal(t, got, w.get(ann, "1"), "it is what was stored")
	require.Equal(t, "green tea", got.Text)
	require.Equal(t, map[string]any{"a": "1", "c": []any{"x"}, "user_id": "bob"}, got.Metadata)
	require.Equal(t, backends.Scope{Namespace: "default", UserID: "ann"}, got.Scope)
	require.InDelta(t, 0.5, *got.Quality, 0)
	require.Equal(t, now, got.Updated)
	require.Equal(t, start, got.Created)
	require.EqualValues(t, 2, e.Texts.Load(), "a new text, a new vector")

	text = "green tea"
	_, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &text})
	require.NoError(t, err)
	require.EqualValues(t, 2, e.Texts.Load(), "the same text, the same vector")
	events, err := w.History(ctx, ann, "1")
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, "caller", events[1].Actor)

	blank, wrong, secret, worst, none := " ", "a\xff", "hunter2", 1.5, ""
	for _, r := range []backends.UpdateRequest{{}, {Text: &blank}, {Text: &wrong}, {Text: &secret}, {Text: &none}, {Quality: &worst}, {Metadata: map[string]any{"f": func() {}}}} {
		r.ID = "1"
		_, err := w.Update(ctx, ann, &r)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	require.Equal(t, []string{"green tea"}, w.texts(ann))
}

func TestCoreBlocksAreNotChangedHere(t *testing.T) {
	w, text := open(t), "x"
	w.put(ann, core("1", "The user is Ann."))
	_, err := w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &text})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorIs(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: "1"}), backends.ErrInvalid)
	require.Equal(t, "The user is Ann.", w.get(ann, "1").Text)
}

func TestVersionsThatCallersExpect(t *testing.T) {
	w, text := open(t), "coffee"
	w.put(ann, fact("1", "tea"))
	first := w.get(ann, "1").Version
	got, err := w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &text, Version: first})
	require.NoError(t, err)
	require.Greater(t, got.Version, first)
	_, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &text, Version: first})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.ErrorIs(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: "1", Version: first}), backends.ErrConflict)
	require.NoError(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: "1", Version: got.Version}))
	require.ErrorIs(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: "1"}), backends.ErrNotFound)
}

// Two processes that change different things of one memory at the same time both succeed.
func TestUpdatesThatRaceAreJoined(t *testing.T) {
	st := testkit.SQLite(t)
	spy := testkit.Spy(st)
	w, rival := open(t, on(spy)), open(t, on(st))
	w.put(ann, fact("1", "tea"))
	text := "green tea"
	spy.Arm(before("Apply", func() {
		_, err := rival.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Text: &text})
		require.NoError(t, err)
	}))
	got, err := w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Metadata: map[string]any{"by": "w"}})
	require.NoError(t, err)
	require.Equal(t, text, got.Text)
	require.Equal(t, map[string]any{"by": "w"}, got.Metadata)
}

// chain stores n memories, each in the place of the one before, and returns their ids.
func (w *world) chain(n int) []string {
	w.put(ann, fact("0", "text 0"))
	ids := []string{"0"}
	for i := 1; i < n; i++ {
		next := fact(fmt.Sprint(i), fmt.Sprintf("text %d", i))
		next.Created = w.Stamps(1)
		_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Supersede(ids[i-1], next)}}, nil)
		require.NoError(w.t, err)
		ids = append(ids, next.ID)
	}
	return ids
}

// Whatever is deleted, the whole chain is found from each of its links.
func TestHistoryAroundDeletedLinks(t *testing.T) {
	const links = 4
	for deleted := range 1 << links {
		w := open(t)
		ids := w.chain(links)
		want := 2*links - 1 // an addition each, a replacement each but the last
		for i, id := range ids {
			if deleted>>i&1 == 1 {
				require.NoError(t, w.Delete(ctx, ann, &backends.DeleteRequest{ID: id}))
				want++
			}
		}
		for _, id := range ids {
			events, err := w.History(ctx, ann, id)
			require.NoError(t, err)
			require.Len(t, events, want, "%04b, from %s", deleted, id)
			for i := 1; i < len(events); i++ {
				require.LessOrEqual(t, events[i-1].Version, events[i].Version, "oldest first")
			}
		}
	}
}

func TestHistoryOfACycleEnds(t *testing.T) {
	w := open(t)
	linked := func(id, before, behind string) *store.Record {
		r := fact(id, "text of "+id)
		r.Supersedes, r.SupersededBy = before, behind
		return r
	}
	w.put(ann, linked("1", "2", "2"), linked("2", "1", "1"), linked("3", "3", ""))
	for id, want := range map[string]int{"1": 2, "2": 2, "3": 1} {
		events, err := w.History(ctx, ann, id)
		require.NoError(t, err)
		require.Len(t, events, want)
	}
	_, err := w.History(ctx, ann, "none")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// before calls f ahead of the first call of a method.
func before(method string, f func()) func(*testkit.StoreCall) error {
	var once sync.Once
	return func(c *testkit.StoreCall) error {
		if c.Method == method {
			once.Do(f)
		}
		return nil
	}
}
