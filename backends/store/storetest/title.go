// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var titleBehaviours = []behaviour{
	{"a title comes back as it was set, everywhere", titleIsKept},
	{"what names no title leaves it", titleStays},
	{"a title is set by compare-and-swap", titleSwaps},
	{"a session that begins anew has no title", titleEnds},
}

func (e *env) setTitle(title string) *store.Session {
	e.Helper()
	return e.update(&store.SessionUpdate{Session: "s", Title: &title})
}

func titleIsKept(e *env) {
	require.Empty(e, e.append("s", message("m1", "x")).Title)
	for _, title := range []string{
		"Trip to Bergen", " with space ", "日本語 🎈 é e\u0301", `<b>"'\ & {}`, "null", "0", strings.Repeat("🎈", store.MaxTitle), "a\u200bb\u2028c", "",
	} {
		require.Equal(e, title, e.setTitle(title).Title, "%q", title)
		require.Equal(e, title, e.session("s").Title, "%q", title)
		require.Equal(e, title, e.list(store.SessionQuery{})[0].Title, "%q", title)
	}
}

func titleStays(e *env) {
	e.append("s", message("m1", "x"))
	e.setTitle("Trip to Bergen")
	require.Equal(e, "Trip to Bergen", e.append("s", message("m2", "y")).Title)
	got := e.update(&store.SessionUpdate{Session: "s", Summary: ptr("a trip"), Watermark: ptr(int64(1)), Acquire: &store.Acquire{Owner: "w", For: time.Minute}})
	require.Equal(e, "Trip to Bergen", got.Title)
	got = e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "s", Watermark: ptr(int64(2))}}).Session
	require.Equal(e, "Trip to Bergen", got.Title)
	require.Equal(e, *got, *e.session("s"))
	got = e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "s", Title: ptr("Back home")}}).Session
	require.Equal(e, "Back home", got.Title)
	require.Equal(e, "a trip", e.session("s").Summary)
}

func titleSwaps(e *env) {
	v := e.append("s", message("m1", "x")).Version
	first := e.update(&store.SessionUpdate{Session: "s", Version: v, Title: ptr("first")})
	require.Greater(e, first.Version, v)
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: v, Title: ptr("second")})
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: v, Title: ptr("")})
	e.updateFails(backends.ErrInvalid, &store.SessionUpdate{Session: "s", Title: ptr("tab\tbed")})
	require.Equal(e, "first", e.session("s").Title)
}

func titleEnds(e *env) {
	e.appendFor(time.Hour, "m1")
	e.setTitle("the old one")
	e.clock.pass(time.Hour)
	require.Empty(e, e.append("s", message("m1", "again")).Title)
	e.setTitle("deleted")
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
	require.Empty(e, e.append("s", message("m1", "once more")).Title)
}
