// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
)

var listBehaviours = []behaviour{
	{"sessions that changed first come first", listOrder},
	{"pending sessions are those with messages not learnt from", listPending},
	{"a partition lists its own sessions, no partition all of them", listPartition},
	{"every session is met exactly once in pages", listPages},
	{"a session that changes while it is listed is met exactly once", listWhileChanging},
	{"a session that is learnt from while it is listed is met at most once", listWhileLearning},
	{"sessions that are deleted while they are listed are left out", listWhileDeleting},
}

func names(sessions []store.Session) []string {
	out := []string{}
	for _, s := range sessions {
		out = append(out, s.ID)
	}
	return out
}

func listOrder(e *env) {
	require.Empty(e, e.list(store.SessionQuery{}))
	for _, id := range []string{"c", "a", "b"} {
		e.append(id, message("m1", "x"))
		e.clock.pass(time.Millisecond)
	}
	require.Equal(e, []string{"c", "a", "b"}, names(e.list(store.SessionQuery{})))
	e.append("c", message("m2", "x"))
	e.clock.pass(time.Millisecond)
	e.update(&store.SessionUpdate{Session: "a", Summary: ptr("x")})
	require.Equal(e, []string{"b", "c", "a"}, names(e.list(store.SessionQuery{})))
	e.clock.pass(time.Millisecond)
	e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "b", Summary: ptr("x")}})
	got := e.list(store.SessionQuery{})
	require.Equal(e, []string{"c", "a", "b"}, names(got))
	for _, s := range got {
		require.Equal(e, *e.session(s.ID), s)
	}
}

func listPending(e *env) {
	for _, id := range []string{"a", "", "c"} {
		e.append(id, message("m1", "x"), message("m2", "y"))
		e.clock.pass(time.Millisecond)
	}
	e.append("nothing said")
	e.update(&store.SessionUpdate{Session: "a", Watermark: ptr(int64(2))})
	require.Equal(e, []string{"", "c"}, names(e.list(store.SessionQuery{Pending: true})))
	e.update(&store.SessionUpdate{Session: "", Watermark: ptr(int64(1))})
	require.ElementsMatch(e, []string{"", "c"}, names(e.list(store.SessionQuery{Pending: true})))
	e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "c", Watermark: ptr(int64(2))}})
	e.append("a", message("m3", "z"))
	require.ElementsMatch(e, []string{"", "a"}, names(e.list(store.SessionQuery{Pending: true})))
	require.Len(e, e.list(store.SessionQuery{}), 4)
}

func listPartition(e *env) {
	bob := e.user("bob")
	e.append("s", message("m1", "x"))
	bob.append("s", message("m1", "x"))
	bob.append("t", message("m1", "x"))
	require.Equal(e, []string{"s"}, names(e.list(store.SessionQuery{})))
	require.Equal(e, []string{"s", "t"}, names(bob.list(store.SessionQuery{})))
	require.Empty(e, e.user("nobody").list(store.SessionQuery{}))

	met := map[string]int{}
	for q := (store.SessionQuery{Page: store.Page{Limit: 2}}); ; {
		page, err := e.List(e.ctx, q)
		require.NoError(e, err)
		for _, s := range page.Sessions {
			if s.Partition.Namespace == e.p.Namespace { // the storage may hold those of others
				met[s.Partition.ID+"/"+s.ID]++
			}
		}
		if q.Page.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	require.Equal(e, map[string]int{"ann/s": 1, "bob/s": 1, "bob/t": 1}, met)
}

// said creates n sessions and returns their names in order.
func (e *env) said(n int) []string {
	e.Helper()
	var want []string
	for i := range n {
		id := fmt.Sprintf("s%03d", i)
		e.append(id, message("m1", "x"))
		e.clock.pass(time.Millisecond)
		want = append(want, id)
	}
	return want
}

func listPages(e *env) {
	want := e.said(120)
	for _, limit := range []int{1, 7, 40, 119, 120, 121, 5000, 0} {
		for _, pending := range []bool{true, false} {
			require.Equal(e, want, names(e.list(store.SessionQuery{Pending: pending, Page: store.Page{Limit: limit}})), "pages of %d", limit)
		}
	}
	page, err := e.List(e.ctx, store.SessionQuery{Partition: &e.p})
	require.NoError(e, err)
	require.Len(e, page.Sessions, 100, "the default")
	page, err = e.List(e.ctx, store.SessionQuery{Partition: &e.p, Page: store.Page{Limit: 7}})
	require.NoError(e, err)
	require.Len(e, page.Sessions, 7)
}

// listing reads pages of 7 and calls between after each.
func (e *env) listing(pending bool, between func(page int)) []store.Session {
	e.Helper()
	var out []store.Session
	q := store.SessionQuery{Partition: &e.p, Pending: pending, Page: store.Page{Limit: 7}}
	for i := 0; ; i++ {
		page, err := e.List(e.ctx, q)
		require.NoError(e, err)
		out = append(out, page.Sessions...)
		if q.Page.Cursor = page.Next; page.Next == "" {
			return out
		}
		require.Less(e, i, 1000, "a listing without an end")
		between(i)
	}
}

func listWhileChanging(e *env) {
	want := e.said(50)
	for _, pending := range []bool{true, false} {
		got := e.listing(pending, func(page int) {
			e.clock.pass(time.Millisecond)
			for i := page % 3; i < len(want); i += 3 { // some that were met, some that were not
				e.append(want[i], message(fmt.Sprint(pending, page), "more"))
			}
			e.append(fmt.Sprint("new", pending, page), message("m1", "x"))
		})
		met := slices.DeleteFunc(names(got), func(id string) bool { return id[0] == 'n' })
		require.ElementsMatch(e, want, met)
	}
}

func listWhileLearning(e *env) {
	want := e.said(50)
	got := e.listing(true, func(page int) {
		e.clock.pass(time.Millisecond)
		for i := page; i < len(want); i += 7 {
			e.update(&store.SessionUpdate{Session: want[i], Watermark: ptr(int64(1))})
		}
	})
	met := names(got)
	slices.Sort(met)
	require.Equal(e, slices.Compact(slices.Clone(met)), met)
	require.Subset(e, met, want[:7])
	require.Less(e, len(met), len(want), "what was learnt from before its page is not pending")
}

func listWhileDeleting(e *env) {
	want := e.said(30)
	got := e.listing(false, func(page int) {
		if page == 0 {
			for _, id := range want[10:20] {
				require.NoError(e, e.Delete(e.ctx, e.p, id))
			}
			e.append(want[10], message("m1", "another session of that name"))
		}
	})
	met := slices.DeleteFunc(names(got), func(id string) bool { return id == want[10] })
	require.Equal(e, append(slices.Clone(want[:10]), want[20:]...), met)
}
