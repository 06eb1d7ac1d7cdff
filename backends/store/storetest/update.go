// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var updateBehaviours = []behaviour{
	{"a session that does not exist cannot be updated", updateOfNothing},
	{"an update sets the fields it names and leaves the others", updateFields},
	{"a version that is not current is a conflict", updateVersions},
	{"of many updates of one version one wins", updateTogether},
	{"the watermark never falls", watermarkRises},
}

func updateOfNothing(e *env) {
	_, err := e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Summary: ptr("x")})
	require.ErrorIs(e, err, backends.ErrNotFound)
	e.append("s", message("m", "x"))
	_, err = e.Update(e.ctx, e.user("bob").p, &store.SessionUpdate{Session: "s", Summary: ptr("x")})
	require.ErrorIs(e, err, backends.ErrNotFound)
}

func updateFields(e *env) {
	want := *e.append("s", message("m1", "hi"), message("m2", "ho"))
	at := e.clock.Now().Add(time.Hour)
	for _, step := range []struct {
		u   store.SessionUpdate
		set func(*store.Session)
	}{
		{store.SessionUpdate{Summary: ptr("greetings")}, func(s *store.Session) { s.Summary = "greetings" }},
		{store.SessionUpdate{Title: ptr("Hello, hello")}, func(s *store.Session) { s.Title = "Hello, hello" }},
		{store.SessionUpdate{SummaryUpto: ptr(int64(2))}, func(s *store.Session) { s.SummaryUpto = 2 }},
		{store.SessionUpdate{Watermark: ptr(int64(1))}, func(s *store.Session) { s.Watermark = 1 }},
		{store.SessionUpdate{Retry: &store.Retry{Attempts: 2, After: at, Reason: "model down", Upto: 2, Whole: 3, InDoubt: true}},
			func(s *store.Session) {
				s.Retry = store.Retry{Attempts: 2, After: at, Reason: "model down", Upto: 2, Whole: 3, InDoubt: true}
			}},
		{store.SessionUpdate{Failures: &[]store.Failure{{From: 1, Upto: 2, Attempts: 5, Reason: "no", Time: at}}},
			func(s *store.Session) {
				s.Failures = []store.Failure{{From: 1, Upto: 2, Attempts: 5, Reason: "no", Time: at}}
			}},
		{store.SessionUpdate{Expires: &at}, func(s *store.Session) { s.Expires = at }},
		{store.SessionUpdate{}, func(*store.Session) {}},
		{store.SessionUpdate{Title: ptr(""), Summary: ptr(""), SummaryUpto: ptr(int64(0)), Retry: &store.Retry{}, Failures: &[]store.Failure{}, Expires: &time.Time{}},
			func(s *store.Session) {
				s.Title, s.Summary, s.SummaryUpto, s.Retry, s.Failures, s.Expires = "", "", 0, store.Retry{}, nil, time.Time{}
			}},
	} {
		step.u.Session = "s"
		now := e.clock.pass(time.Second)
		got := e.update(&step.u)
		require.Greater(e, got.Version, want.Version)
		step.set(&want)
		want.Version, want.Updated = got.Version, now
		if len(got.Failures) == 0 {
			got.Failures = nil
		}
		require.Equal(e, want, *got)
		require.Equal(e, want, *e.session("s"))
	}
	require.Len(e, e.read("s", store.Range{}), 2)
}

func updateVersions(e *env) {
	v := e.append("s", message("m1", "hi")).Version
	next := e.update(&store.SessionUpdate{Session: "s", Version: v, Summary: ptr("1")}).Version
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: v, Summary: ptr("2")})
	e.append("s", message("m2", "ho"))
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: next, Summary: ptr("2")})
	require.Equal(e, "1", e.session("s").Summary)
}

func updateTogether(e *env) {
	v := e.append("s", message("m1", "hi")).Version
	winners := 0
	together(16, func(int) error {
		_, err := e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Version: v, Summary: ptr("x")})
		return err
	}, func(err error) {
		if err == nil {
			winners++
			return
		}
		require.ErrorIs(e, err, backends.ErrConflict)
	})
	require.Equal(e, 1, winners)
}

func watermarkRises(e *env) {
	e.append("s", message("m1", "1"), message("m2", "2"), message("m3", "3"))
	for _, step := range []struct{ set, want int64 }{{2, 2}, {1, 2}, {0, 2}, {-1, 2}, {3, 3}, {2, 3}} {
		got := e.update(&store.SessionUpdate{Session: "s", Watermark: &step.set})
		require.Equal(e, step.want, got.Watermark)
		require.Equal(e, step.want < 3, got.Pending())
		applied := e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "s", Watermark: &step.set}})
		require.Equal(e, step.want, applied.Session.Watermark)
	}
	require.True(e, e.append("s", message("m4", "4")).Pending())
}
