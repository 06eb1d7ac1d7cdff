// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

func (w *world) rollback(r *backends.RollbackRequest) *backends.RollbackReport {
	report, err := store.Rollback(context.Background(), w, ann, r, nil)
	require.NoError(w, err)
	return report
}

func TestARollbackLeavesWhatWouldBeThereWithoutIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, session := story(t), "s0"
		r := &backends.RollbackRequest{Session: &session}
		never := func(n int) bool { return all[n].session == session }
		switch rapid.SampledFrom([]string{"session", "messages", "since"}).Draw(t, "by") {
		case "messages":
			some := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 4).Draw(t, "messages")
			for _, n := range some {
				r.Messages = append(r.Messages, fmt.Sprint("m", n))
			}
			never = func(n int) bool { return all[n].session == session && slices.Contains(some, n) }
		case "since":
			from := rapid.IntRange(0, len(all)).Draw(t, "from")
			r.Since = began.Add(time.Duration(from) * time.Minute)
			never = func(n int) bool { return all[n].session == session && n >= from }
		}
		told, wanted := newWorld(t), newWorld(t)
		defer told.Close()
		defer wanted.Close()
		for n, c := range all {
			told.says(n, c)
		}
		left := without(all, never)
		for n := range all {
			if c, ok := left[n]; ok {
				wanted.says(n, c)
			}
		}
		before := told.state()
		dry := *r
		dry.DryRun = true
		listed := told.rollback(&dry)
		require.Equal(t, before, told.state(), "a dry run changes nothing")
		report := told.rollback(r)
		require.Equal(t, wanted.state(), told.state())
		require.Equal(t, len(listed.Items), len(report.Items))
		require.Empty(t, report.Conflicts)
		require.Empty(t, told.rollback(r).Items, "nothing is left to take back")
	})
}

func TestARollbackLeavesWhatWasChangedSince(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	session, other := "s1", "s2"
	for i, c := range []change{{"add", "", "a", "s2"}, {"supersede", "a", "b", "s1"}, {"add", "", "c", "s1"}, {"add", "", "d", "s2"}, {"add", "", "e", "s2"}} {
		w.says(i, c)
	}
	edit := func(id, text, session string) {
		w.now = w.now.Add(time.Minute)
		all, _, err := store.All(context.Background(), w, ann, nil)
		require.NoError(t, err)
		r := all[id]
		r.Text, r.Updated = text, w.now
		m := store.Put(r)
		m.Session = session
		w.apply(m)
	}
	edit("c", "corrected by hand", "")
	edit("d", "poisoned", session)
	edit("e", "poisoned, too", session)
	edit("e", "corrected", other)
	block := store.Put(&store.Record{Memory: backends.Memory{ID: "core/human", Kind: backends.KindCore, Text: "x", Origin: backends.Origin{Session: session}}})
	w.apply(block)
	report := w.rollback(&backends.RollbackRequest{Session: &session})
	require.Len(t, report.Conflicts, 2)
	require.Contains(t, report.Conflicts[0], `"core/human" is a core block`)
	require.Contains(t, report.Conflicts[1], "memory c was edited since")
	got := map[string]string{}
	for _, item := range report.Items {
		got[item.Memory.ID] = fmt.Sprint(item.Outcome, ": ", item.Memory.Text)
		if item.Memory.ID == "d" {
			require.Equal(t, "poisoned", item.Previous.Text)
		}
	}
	require.Equal(t, map[string]string{"a": "updated: text of a", "b": "deleted: text of b", "d": "updated: text of d"}, got)
	state := w.state()
	require.Contains(t, state["a"], `text of a; before "", after "", ended 0001`)
	require.Contains(t, state["c"], "corrected by hand")
	require.Contains(t, state["d"], "text of d;")
	require.Contains(t, state["e"], "corrected;")
}

func TestARollbackBySource(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	put := func(id string, m backends.Memory) {
		m.ID, m.Text, m.Scope = id, "text of "+id, ann.Scope()
		w.apply(store.Put(&store.Record{Memory: m}))
	}
	put("own", backends.Memory{Kind: backends.KindFact, Origin: backends.Origin{Role: "user"}})
	put("web", backends.Memory{Kind: backends.KindFact, Origin: backends.Origin{Role: "assistant", Source: "tool search_web"}})
	put("mail", backends.Memory{Kind: backends.KindFact, Origin: backends.Origin{Role: "assistant", Source: "tool read_mail"}})
	put("insight", backends.Memory{Kind: backends.KindInsight, Origin: backends.Origin{Evidence: []string{"own", "web"}}})
	put("page", backends.Memory{Kind: backends.KindDocument, Metadata: map[string]any{backends.MetaSource: "a.pdf"}})
	for _, c := range []struct {
		source string
		gone   []string
	}{{"document b.pdf", nil}, {"tool search_web", []string{"web", "insight"}}, {"document a.pdf", []string{"page"}}, {"tool", []string{"mail"}}, {"own", []string{"own"}}} {
		var gone []string
		for _, item := range w.rollback(&backends.RollbackRequest{Source: c.source}).Items {
			gone = append(gone, item.Memory.ID)
		}
		require.ElementsMatch(t, c.gone, gone, c.source)
	}
	require.Empty(t, w.state())
}

func TestARollbackOfNothingNamedIsRefused(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	for _, r := range []*backends.RollbackRequest{{}, {Messages: []string{"m"}}, {Source: "tool", Messages: []string{"m"}}, {Since: began}} {
		_, err := store.Rollback(context.Background(), w, ann, r, nil)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	w.says(0, change{"add", "", "a", "s0"})
	report, err := store.Rollback(context.Background(), w, ann, &backends.RollbackRequest{Source: "other"}, func(*backends.Memory) error { return errors.New("not yours") })
	require.NoError(t, err)
	require.Empty(t, report.Items)
	require.Equal(t, []string{"not yours"}, report.Conflicts)
}
