// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var learntBehaviours = []behaviour{
	{"entries that are no material to learn from wait for nobody", learntMovesWatermark},
	{"they wait where something waits before them", learntBehindWaiting},
	{"skipped ones move nothing", learntSkipped},
	{"a repeat of an append whose answer was lost changes nothing", learntRepeated},
	{"what is learnt from later moves the watermark past them", learntMixed},
	{"an update that was read before them does not take the watermark back", learntBesideUpdates},
	{"they begin and end sessions as others do", learntAndExpiry},
	{"sixteen writers of such entries leave nothing pending", learntTogether},
}

func (e *env) learnt(session string, entries ...store.Entry) *store.Session {
	e.Helper()
	return e.appendAll(session, &store.Append{Entries: entries, Learnt: true})
}

// pending lists the sessions of the partition that wait.
func (e *env) pending() []string {
	e.Helper()
	return names(e.list(store.SessionQuery{Pending: true}))
}

// watermark proves that a session was learnt from up to there, of so many.
func (e *env) watermark(s *store.Session, upto, of int64) {
	e.Helper()
	require.Equal(e, []int64{upto, of}, []int64{s.Watermark, s.LastSeq})
	require.Equal(e, *s, *e.session(s.ID))
	var want []string
	if upto < of {
		want = append(want, s.ID)
	}
	require.ElementsMatch(e, want, e.pending())
}

func learntMovesWatermark(e *env) {
	e.watermark(e.learnt("s", message("m1", "x"), message("m2", "y")), 2, 2)
	before := e.session("s")
	e.clock.pass(time.Second)
	after := e.learnt("s", message("m3", "z"))
	e.watermark(after, 3, 3)
	require.Greater(e, after.Version, before.Version)
	require.Equal(e, e.clock.Now(), after.Updated)
	require.Equal(e, []int64{1, 2, 3}, seqs(e.read("s", store.Range{})), "they are in the log")
	e.learnt("empty")
	e.watermark(e.session("empty"), 0, 0)
}

func learntBehindWaiting(e *env) {
	e.append("s", message("m1", "x"))
	e.watermark(e.learnt("s", message("m2", "y")), 0, 2)
	e.watermark(e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(1))}), 1, 2)
	e.watermark(e.learnt("s", message("m3", "z")), 1, 3)
	e.watermark(e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(3))}), 3, 3)
	e.watermark(e.learnt("s", message("m4", "z")), 4, 4)
}

func learntSkipped(e *env) {
	e.append("s", message("m1", "x"))
	e.watermark(e.learnt("s", message("m1", "x")), 0, 1)
	e.watermark(e.learnt("s", message("m1", "x"), message("m2", "y"), message("m2", "y")), 0, 2)
	e.learnt("t", message("m1", "x"))
	got := e.learnt("t", message("m1", "again"), message("m2", "y"), message("m1", "x"))
	require.Equal(e, []int64{2, 2}, []int64{got.Watermark, got.LastSeq})
	require.Equal(e, "x", e.read("t", store.Range{})[0].Content)
	e.append("t", message("m2", "y"))
	require.Equal(e, []string{"s"}, e.pending(), "what is known already is not new material")
}

func learntRepeated(e *env) {
	first := e.learnt("s", message("m1", "x"), message("m2", "y"))
	e.clock.pass(time.Minute)
	again := e.learnt("s", message("m1", "x"), message("m2", "y"))
	require.Equal(e, *first, *again)
	e.append("s", message("m3", "z"))
	e.watermark(e.learnt("s", message("m1", "x"), message("m2", "y")), 2, 3)
}

func learntMixed(e *env) {
	e.learnt("s", message("m1", "x"))
	e.watermark(e.append("s", message("m2", "y"), message("m3", "y")), 1, 3)
	e.watermark(e.learnt("s", message("m4", "z")), 1, 4)
	e.applyBatch(&store.Batch{Mutations: []store.Mutation{store.Put(record("a", "1"))},
		Session: &store.SessionUpdate{Session: "s", Watermark: ptr(int64(4))}})
	e.watermark(e.session("s"), 4, 4)
	e.watermark(e.append("s", message("m5", "z")), 4, 5)
}

func learntBesideUpdates(e *env) {
	const n = 30
	e.append("s")
	together(4, func(w int) error {
		for i := range n {
			var err error
			if w%2 == 0 {
				_, err = e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(fmt.Sprint(w, "-", i), "x")}, Learnt: true})
			} else {
				_, err = e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Summary: ptr(fmt.Sprint(w, i))})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { require.NoError(e, err) })
	e.watermark(e.session("s"), 2*n, 2*n)
}

func learntAndExpiry(e *env) {
	scope := backends.Scope{Workspace: "w"}
	a := func(id string) *store.Append {
		return &store.Append{Entries: []store.Entry{message(id, "x")}, Scope: scope, TTL: time.Minute, Learnt: true}
	}
	got := e.appendAll("s", a("m1"))
	require.Equal(e, scope, got.Scope)
	require.Equal(e, e.clock.Now().Add(time.Minute), got.Expires)
	e.clock.pass(50 * time.Second)
	e.appendAll("s", a("m2"))
	e.clock.pass(50 * time.Second)
	e.watermark(e.session("s"), 2, 2)
	e.clock.pass(50 * time.Second)
	e.noSession("s")
	e.watermark(e.appendAll("s", a("m1")), 1, 1)
}

func learntTogether(e *env) {
	const writers, each = 16, 10
	together(writers, func(w int) error {
		for i := range each {
			a := &store.Append{Entries: []store.Entry{message(fmt.Sprint(w, "-", i), "x")}, Learnt: true}
			if _, err := e.Append(e.ctx, e.p, "s", a); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { require.NoError(e, err) })
	e.watermark(e.session("s"), writers*each, writers*each)
}

func sharedLearnt(a, b *env) {
	a.learnt("s", message("m1", "x"))
	b.watermark(b.learnt("s", message("m2", "y")), 2, 2)
	a.append("s", message("m3", "z"))
	b.watermark(b.learnt("s", message("m4", "z")), 2, 4)
	require.Equal(a, *b.session("s"), *a.session("s"))
}
