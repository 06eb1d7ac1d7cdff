// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

func ptr[T any](v T) *T { return &v }

// state is a session of three messages, leased to w1 until a minute from now.
func state() *store.Session {
	return &store.Session{
		ID: "s", Version: 7, LastSeq: 3, Watermark: 1, Title: "a talk", Summary: "before", SummaryUpto: 1, Created: early, Updated: early,
		Lease: store.Lease{Owner: "w1", Token: 5, Expires: now.Add(time.Minute), For: time.Minute}, Failures: []store.Failure{{From: 1, Upto: 1, Reason: "no"}},
	}
}

func TestSession(t *testing.T) {
	later := now.Add(time.Minute)
	for name, c := range map[string]struct {
		u    store.SessionUpdate
		at   time.Time
		want func(*store.Session)
	}{
		"nothing":            {store.SessionUpdate{}, now, func(*store.Session) {}},
		"the summary before": {store.SessionUpdate{Summarised: ptr(int64(1))}, now, func(*store.Session) {}},
		"version and token":  {store.SessionUpdate{Version: 7, Token: 5}, later.Add(-1), func(*store.Session) {}},
		"watermark":          {store.SessionUpdate{Watermark: ptr(int64(2))}, now, func(s *store.Session) { s.Watermark = 2 }},
		"watermark falls":    {store.SessionUpdate{Watermark: ptr(int64(0))}, now, func(*store.Session) {}},
		"watermark too far":  {store.SessionUpdate{Watermark: ptr(int64(9))}, now, func(s *store.Session) { s.Watermark = 3 }},
		"title":              {store.SessionUpdate{Title: ptr("a trip")}, now, func(s *store.Session) { s.Title = "a trip" }},
		"no title":           {store.SessionUpdate{Title: ptr("")}, now, func(s *store.Session) { s.Title = "" }},
		"summary":            {store.SessionUpdate{Summary: ptr("x"), SummaryUpto: ptr(int64(0))}, now, func(s *store.Session) { s.Summary, s.SummaryUpto = "x", 0 }},
		"retry":              {store.SessionUpdate{Retry: &store.Retry{Attempts: 2}}, now, func(s *store.Session) { s.Retry.Attempts = 2 }},
		"failures":           {store.SessionUpdate{Failures: &[]store.Failure{{From: 2}}}, now, func(s *store.Session) { s.Failures = []store.Failure{{From: 2}} }},
		"no failures":        {store.SessionUpdate{Failures: new([]store.Failure)}, now, func(s *store.Session) { s.Failures = nil }},
		"expires":            {store.SessionUpdate{Expires: &later}, now, func(s *store.Session) { s.Expires = later }},
		"never expires":      {store.SessionUpdate{Expires: &time.Time{}}, now, func(*store.Session) {}},
		"release":            {store.SessionUpdate{Token: 5, Release: true}, now, func(s *store.Session) { s.Lease = store.Lease{Token: 5} }},
		"renewal":            {acquire("w1"), now.Add(1), func(s *store.Session) { s.Lease.Expires = later.Add(1) }},
		"renewal after time": {acquire("w1"), later, func(s *store.Session) { s.Lease.Expires = later.Add(time.Minute) }},
		"taken over": {acquire("w2"), later, func(s *store.Session) {
			s.Lease = store.Lease{Owner: "w2", Token: later.UnixMicro(), Expires: later.Add(time.Minute), For: time.Minute}
		}},
		"renewed and release": {store.SessionUpdate{Token: 5, Release: true, Acquire: acquire("w1").Acquire}, now, func(s *store.Session) { s.Lease = store.Lease{Token: 5} }},
	} {
		c.u.Session = "s"
		st, want := state(), state()
		c.want(want)
		got, err := plan.Session(&c.u, st, c.at)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.Equal(t, state(), st, name)
	}
}

func acquire(owner string) store.SessionUpdate {
	return store.SessionUpdate{Acquire: &store.Acquire{Owner: owner, For: time.Minute}}
}

func TestAReleasedLeaseIsFree(t *testing.T) {
	st := state()
	st.Lease = store.Lease{Token: 5}
	for _, owner := range []string{"w1", "w2"} {
		u := acquire(owner)
		got, err := plan.Session(&u, st, now)
		require.NoError(t, err)
		require.Equal(t, store.Lease{Owner: owner, Token: now.UnixMicro(), Expires: now.Add(time.Minute), For: time.Minute}, got.Lease)
	}
	st.Lease.Token = now.UnixMicro() + 7 // of a clock that was ahead
	u := acquire("w1")
	got, err := plan.Session(&u, st, now)
	require.NoError(t, err)
	require.Equal(t, now.UnixMicro()+8, got.Lease.Token)
}

func TestSessionUpdatesThatConflict(t *testing.T) {
	released := store.Lease{Token: 5}
	for name, c := range map[string]struct {
		u     store.SessionUpdate
		lease *store.Lease
		at    time.Time
		says  string
	}{
		"another version":    {store.SessionUpdate{Version: 6}, nil, now, "it has version 7, 6 was expected"},
		"another summary":    {store.SessionUpdate{Summarised: ptr(int64(2))}, nil, now, "up to message 1, 2 was expected"},
		"a first summary":    {store.SessionUpdate{Summarised: ptr(int64(0))}, nil, now, "up to message 1, 0 was expected"},
		"a stale token":      {store.SessionUpdate{Token: 4}, nil, now, "token 4"},
		"a future token":     {store.SessionUpdate{Token: 6}, nil, now, "token 6"},
		"an expired token":   {store.SessionUpdate{Token: 5}, nil, now.Add(time.Minute), "ended"},
		"a released token":   {store.SessionUpdate{Token: 5}, &released, now, "token 5 is not that of the lease"},
		"released twice":     {store.SessionUpdate{Token: 5, Release: true}, &released, now, "token 5 is not that of the lease"},
		"a lease of another": {acquire("w2"), nil, now.Add(time.Minute - 1), "w1 holds the lease"},
	} {
		c.u.Session, c.u.Summary = "s", ptr("x")
		st := state()
		if c.lease != nil {
			st.Lease = *c.lease
		}
		got, err := plan.Session(&c.u, st, c.at)
		require.ErrorIs(t, err, backends.ErrConflict, name)
		require.ErrorContains(t, err, `session "s"`, name)
		require.ErrorContains(t, err, c.says, name)
		require.Nil(t, got, name)
		require.Equal(t, "before", st.Summary, name)
	}
}

func TestAStateSharesNothingWithTheUpdate(t *testing.T) {
	st, failures := state(), []store.Failure{{Reason: "given"}}
	for _, u := range []*store.SessionUpdate{{}, {Failures: &failures}} {
		got, err := plan.Session(u, st, now)
		require.NoError(t, err)
		got.Failures[0].Reason = "mine"
	}
	require.Equal(t, "no", st.Failures[0].Reason)
	require.Equal(t, "given", failures[0].Reason)
}

// TestUpdatesInTheCourseOfTime draws updates of many owners in the course of time: watermark
// and token never fall, and two owners never hold the lease under one token.
func TestUpdatesInTheCourseOfTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st, at := &store.Session{ID: "s", Version: 1, LastSeq: 9}, now
		owners := map[int64]string{}
		for range rapid.IntRange(1, 30).Draw(rt, "updates") {
			at = at.Add(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
			u := &store.SessionUpdate{Session: "s", Token: int64(rapid.IntRange(0, 4).Draw(rt, "token"))}
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				u.Acquire = &store.Acquire{Owner: rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(rt, "owner"), For: time.Minute}
			case 1:
				u.Release, u.Token = true, max(1, u.Token)
			case 2:
				u.Watermark = ptr(int64(rapid.IntRange(-1, 12).Draw(rt, "watermark")))
			}
			next, err := plan.Session(u, st, at)
			if err != nil {
				require.ErrorIs(rt, err, backends.ErrConflict)
				continue
			}
			require.GreaterOrEqual(rt, next.Watermark, st.Watermark)
			require.LessOrEqual(rt, next.Watermark, next.LastSeq)
			require.GreaterOrEqual(rt, next.Lease.Token, st.Lease.Token)
			if l := next.Lease; l.Owner != "" {
				if first, ok := owners[l.Token]; ok {
					require.Equal(rt, first, l.Owner)
				}
				owners[l.Token] = l.Owner
			}
			st = next
		}
	})
}

func TestEncode(t *testing.T) {
	text, err := plan.Encode("record a", map[string]string{"text": "<b> & 茶\n"})
	require.NoError(t, err)
	require.Equal(t, `{"text":"<b> & 茶\n"}`, text)
	for _, v := range []any{func() {}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := plan.Encode("record a", v)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "record a")
	}
}

func TestParseNames(t *testing.T) {
	for _, c := range []struct{ prefix, after, low, high string }{
		{"", "", "", "\xff"}, {"a/", "", "a/", "a/\xff"}, {"é", "", "é", "é\xff"}, {"", "a", "a\x00", "\xff"}, {"a", "a\x00", "a\x00\x00", "a\xff"},
	} {
		cursor := ""
		if c.after != "" {
			cursor = plan.NamesCursor(c.after)
		}
		got, err := plan.ParseNames("blob", c.prefix, cursor)
		require.NoError(t, err, "%+q", c)
		require.Equal(t, plan.Names{Low: c.low, High: c.high}, got, "%+q", c)
	}
}

func TestParseNamesRefusesBadInput(t *testing.T) {
	for _, c := range []struct{ prefix, cursor, says string }{
		{"\xff", "", "not UTF-8"}, {strings.Repeat("x", store.MaxID+1), "", "at most"},
		{"", "?", `cursor "?"`}, {"", "YQ==", "cursor"}, {"", plan.NamesCursor("\xff"), "cursor"}, {"", plan.NamesCursor(strings.Repeat("x", store.MaxID+1)), "cursor"},
		{"", "YQ", "cursor"}, {"b", plan.NamesCursor("a"), `prefix "b"`}, {"ab", plan.NamesCursor("a"), `prefix "ab"`},
	} {
		_, err := plan.ParseNames("blob", c.prefix, c.cursor)
		require.ErrorIs(t, err, backends.ErrInvalid, "%+q", c)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "blob")
	}
}

// TestPagesHoldEachNameOnce reads drawn names in pages and looks for those that
// begin with the prefix.
func TestPagesHoldEachNameOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab/\x00\x7féé🎈\U0010ffff")), 0, 4, -1)
		names := slices.Sorted(slices.Values(rapid.SliceOfDistinct(name, rapid.ID[string]).Draw(t, "names")))
		prefix := rapid.OneOf(rapid.Just(""), name).Draw(t, "prefix")
		want := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, prefix) })
		got := []string{}
		for cursor := ""; ; cursor = plan.NamesCursor(got[len(got)-1]) {
			r, err := plan.ParseNames("blob", prefix, cursor)
			require.NoError(t, err)
			page := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n < r.Low || n >= r.High })
			if len(page) == 0 {
				break
			}
			got = append(got, page[:min(2, len(page))]...)
		}
		require.Equal(t, append([]string{}, want...), got)
	})
}

func TestACursorOfNumbers(t *testing.T) {
	var part, version int64
	require.NoError(t, plan.ParseCursor(plan.Cursor(3, 1<<62), &part, &version))
	require.Equal(t, []int64{3, 1 << 62}, []int64{part, version})
	var none int64
	require.NoError(t, plan.ParseCursor("", &none))
	require.Zero(t, none)
	for _, illegal := range []string{"3", "3.", "3.4.5", "3.x", "03.4", "3. 4", ".", "3.99999999999999999999"} {
		require.ErrorIs(t, plan.ParseCursor(illegal, &part, &version), backends.ErrInvalid, illegal)
	}
}

func FuzzParseNames(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"a", plan.NamesCursor("ab")}, {"b", plan.NamesCursor("a")}, {"\xff", "?"}, {"é", plan.NamesCursor("é🎈")}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, prefix, cursor string) {
		r, err := plan.ParseNames("blob", prefix, cursor)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		require.Less(t, r.Low, r.High)
		require.GreaterOrEqual(t, r.Low, prefix)
		require.Equal(t, cursor == "", r.Low <= prefix && prefix < r.High, "the prefix itself is the first name there can be")
	})
}

func TestAppendSkipsWhatTheLogHolds(t *testing.T) {
	a := &store.Append{Entries: []store.Entry{{Tokens: 3}, {Tokens: 5}, {Tokens: 7}}, Learnt: true, TTL: time.Hour}
	st := &store.Session{Version: 1, LastSeq: 4, Watermark: 4, Tokens: 10}
	var asked []int64
	changed, err := plan.Append(a, st, now, func(i int, seq int64) (bool, error) {
		asked = append(asked, seq)
		return i != 1, nil
	})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []int64{5, 6, 6}, asked, "an entry that was skipped leaves its number to the next")
	require.Equal(t, &store.Session{Version: 1, LastSeq: 6, Watermark: 6, Tokens: 20, Expires: now.Add(time.Hour)}, st)

	st.Watermark = 5
	_, err = plan.Append(a, st, now, func(int, int64) (bool, error) { return true, nil })
	require.NoError(t, err)
	require.Equal(t, int64(5), st.Watermark, "what waits is still to be learnt from")
}

func TestAppendOfNothingNew(t *testing.T) {
	a := &store.Append{Entries: []store.Entry{{Tokens: 3}}, TTL: time.Hour, Scope: backends.Scope{UserID: "ann"}}
	none := func(int, int64) (bool, error) { return false, nil }
	for version, created := range []bool{true, false} {
		st := &store.Session{Version: int64(version)}
		changed, err := plan.Append(a, st, now, none)
		require.NoError(t, err)
		require.Equal(t, created, changed)
		require.Equal(t, created, st.Scope == a.Scope, "a session keeps the scope of its first append")
		require.Equal(t, created, !st.Expires.IsZero(), "an end moves only with a change")
	}
	failed := errors.New("no room")
	_, err := plan.Append(a, &store.Session{}, now, func(int, int64) (bool, error) { return false, failed })
	require.ErrorIs(t, err, failed)
}

func TestEraseTakesContentOnce(t *testing.T) {
	st := &store.Session{Version: 1, LastSeq: 2, Tokens: 10, Title: "bees", Summary: "of bees", SummaryUpto: 2}
	said := store.Entry{Seq: 1, Tokens: 4, Message: backends.Message{ID: "m", Message: schema.UserMessage("bees")}}
	rests := plan.Erase(st, []store.Entry{said})
	require.Equal(t, []store.Entry{said.Erase()}, rests)
	require.Equal(t, &store.Session{Version: 1, LastSeq: 2, Tokens: 6}, st)

	st.Title = "another"
	require.Empty(t, plan.Erase(st, rests))
	require.Equal(t, &store.Session{Version: 1, LastSeq: 2, Tokens: 6, Title: "another"}, st)
}
