// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
)

func (x *fixture) state(s backends.Scope) *store.Session {
	st, err := x.Sessions().Get(context.Background(), s)
	require.NoError(x.t, err)
	return st
}

func (x *fixture) keep(upto int64, text string) bool {
	kept, err := x.Sessions().KeepSummary(context.Background(), ann, upto, text)
	require.NoError(x.t, err)
	return kept
}

// filled appends so many messages in complete turns of one.
func (x *fixture) filled(s backends.Scope, messages int) {
	lines := make([]string, messages)
	for i := range lines {
		lines[i] = fmt.Sprintf("m%d-0! user message %d", i, i)
	}
	x.say(s, lines...)
}

func TestKeepSummary(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		x.filled(ann, 6)
		for _, tc := range []struct {
			upto int64
			text string
			kept bool
		}{{2, "two", true}, {2, "two again", false}, {4, "four", true}, {2, "back", false}} {
			require.Equal(t, tc.kept, x.keep(tc.upto, tc.text), tc.text)
		}
		st := x.state(ann)
		require.Equal(t, "four", st.Summary)
		require.EqualValues(t, 4, st.SummaryUpto)
		for _, bad := range []int64{-1, 0, 7} {
			_, err := x.Sessions().KeepSummary(t.Context(), ann, bad, "x")
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
		_, err := x.Sessions().KeepSummary(t.Context(), ann, 5, "")
		require.ErrorIs(t, err, backends.ErrInvalid)
		_, err = x.Sessions().KeepSummary(t.Context(), session("none"), 1, "x")
		require.ErrorIs(t, err, backends.ErrNotFound)

		// Appends keep no summary from being kept, another summary does.
		for i, change := range []func(){
			func() { x.say(ann, "late-0! user late") },
			func() {
				p, _ := ann.Speaker()
				other, upto := "other", int64(6)
				_, err := x.db.Store.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Summary: &other, SummaryUpto: &upto})
				require.NoError(t, err)
			},
		} {
			x.db.Arm(func(c *testkit.StoreCall) error {
				if c.Method == "Update" {
					c.Before = change
				}
				return nil
			})
			require.Equal(t, i == 0, x.keep(int64(5+i), "five"))
		}
		require.Equal(t, "other", x.state(ann).Summary)
	})
}

// A turn of which more may come is not covered.
func TestASummaryEndsBeforeAnOpenTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		log  []string
		wait time.Duration
		want int64
	}{
		"all done":                 {log: []string{"a-0! user a", "b-0! user b", "c-0! user c"}, want: 3},
		"the last is open":         {log: []string{"a-0! user a", "b-0! user b", "c-0 user c"}, want: 2},
		"one between is open":      {log: []string{"a-0! user a", "b-0 user b", "c-0! user c"}, want: 1},
		"the first is open":        {log: []string{"a-0 user a", "b-0! user b", "c-0! user c"}, want: 0},
		"open for too long":        {log: []string{"a-0 user a", "b-0! user b", "c-0! user c"}, wait: 2 * time.Minute, want: 3},
		"not quite too long":       {log: []string{"a-0 user a", "b-0! user b", "c-0! user c"}, wait: 2*time.Minute - 1, want: 0},
		"done behind the summary":  {log: []string{"a-0 user a", "b-0! user b", "c-0! user c", "a-1! assistant A"}, want: 3},
		"done by a mark":           {log: []string{"a-0 user a", "b-0! user b", "c-0! user c", "a-done! assistant "}, want: 3},
		"open behind the summary":  {log: []string{"a-0! user a", "b-0! user b", "c-0! user c", "d-0 user d"}, want: 3},
		"goes on behind":           {log: []string{"a-0! user a", "b-0 user b", "c-0! user c", "b-1 assistant B"}, wait: time.Minute, want: 1},
		"ends in a turn, and done": {log: []string{"a-0! user a", "b-0 user b", "b-1 assistant B", "b-2! assistant B"}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, 8000)
			x.say(ann, tc.log...)
			x.clock.Advance(tc.wait)
			require.Equal(t, tc.want > 0, x.keep(3, "gist"))
			require.Equal(t, tc.want, x.state(ann).SummaryUpto)
		})
	}
}

// Many append while many summarise, each from what it has loaded: the text of a summary is
// which turns it has seen.
func TestKeepSummaryWhileManyAppend(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		const writers, turns = 16, 6
		var wrote, all sync.WaitGroup
		over := make(chan struct{})
		x.filled(ann, 1)
		for n := range writers {
			wrote.Go(func() {
				for i := range turns {
					x.say(ann, fmt.Sprintf("w%dx%d-0 user q", n, i), fmt.Sprintf("w%dx%d-1! assistant answer w%dx%d", n, i, n, i))
				}
			})
		}
		for range 8 {
			all.Go(func() {
				for last, stop := int64(0), false; !stop; {
					select {
					case <-over:
						stop = true
					default:
					}
					h := x.load(&window.LoadRequest{Scope: ann})
					if h.Session.SummaryUpto < last {
						t.Error("a summary moved back")
					}
					last = h.Session.SummaryUpto
					seen := h.Session.Summary
					for _, m := range h.Messages {
						if id, ok := strings.CutPrefix(m.Content, "answer "); ok {
							seen += " " + id
						}
					}
					if seen != "" && h.Upto > last {
						x.keep(h.Upto, seen)
					}
				}
			})
		}
		wrote.Wait()
		close(over)
		all.Wait()
		st, log := x.state(ann), x.entries(ann)
		require.Len(t, log, 2*writers*turns+1, "nothing is lost")
		var covered []string
		for _, e := range log[:st.SummaryUpto] {
			if id, ok := strings.CutPrefix(e.Content, "answer "); ok {
				covered = append(covered, id)
			}
		}
		require.NotEmpty(t, covered)
		require.Equal(t, covered, strings.Fields(st.Summary), "it has seen what it covers, and nothing else")
	})
}

func TestFork(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		x.filled(ann, 501)
		require.True(t, x.keep(10, "gist"))
		require.NoError(t, x.Sessions().Rename(t.Context(), ann, "holidays"))
		require.NoError(t, x.Sessions().Expire(t.Context(), ann, time.Hour))
		before, log := x.state(ann), x.entries(ann)

		st, err := x.Sessions().Fork(t.Context(), ann, "s2", 403)
		require.NoError(t, err)
		require.Equal(t, log[:403], x.entries(session("s2")), "the same messages, ids and numbers")
		require.Equal(t, x.state(session("s2")), st)
		require.Equal(t, session("s2"), st.Scope)
		require.False(t, st.Pending(), "nothing is learnt again")
		require.Equal(t, []any{"holidays", "gist", int64(10), before.Expires}, []any{st.Title, st.Summary, st.SummaryUpto, st.Expires})
		require.Equal(t, before, x.state(ann), "the source is as it was")
		again, err := x.Sessions().Fork(t.Context(), ann, "s2", 403)
		require.NoError(t, err)
		require.Equal(t, st.LastSeq, again.LastSeq, "repeating it changes nothing")

		st, err = x.Sessions().Fork(t.Context(), ann, "s3", 9)
		require.NoError(t, err)
		require.Empty(t, st.Summary, "it reaches further than the fork")
		st, err = x.Sessions().Fork(t.Context(), session("s2"), "s4", 0)
		require.NoError(t, err)
		require.EqualValues(t, 403, st.LastSeq, "all of a fork")

		x.say(session("s2"), "mine-0 user another way")
		x.say(session("s5"), "mine-0 user hi")
		for name, tc := range map[string]struct {
			to   string
			upto int64
			want error
		}{
			"itself":                    {"s1", 501, backends.ErrConflict},
			"another session":           {"s5", 3, backends.ErrConflict},
			"a fork that has gone on":   {"s2", 403, backends.ErrConflict},
			"a fork of more":            {"s4", 402, backends.ErrConflict},
			"messages it does not have": {"s6", 503, backends.ErrInvalid},
			"a negative number":         {"s6", -1, backends.ErrInvalid},
			"no name":                   {"", 1, backends.ErrInvalid},
			"a name that is not legal":  {" s6", 1, backends.ErrInvalid},
		} {
			_, err := x.Sessions().Fork(t.Context(), ann, tc.to, tc.upto)
			require.ErrorIs(t, err, tc.want, name)
		}
		_, err = x.Sessions().Fork(t.Context(), session("none"), "s7", 0)
		require.ErrorIs(t, err, backends.ErrNotFound)
		require.NoError(t, x.DeleteSession(t.Context(), session("s2")))
		_, err = x.Sessions().Fork(t.Context(), ann, "s2", 7)
		require.NoError(t, err, "the name is free again")
	})
}

// Whatever call fails, before or after it was carried out, and whatever another caller does
// meanwhile: the same call completes the fork or returns a conflict, and nothing is learnt again.
func TestForkInterruptedAtAnyStep(t *testing.T) {
	x := newFixture(t, 8000)
	x.filled(ann, 410)
	p, _ := ann.Speaker()
	for what, change := range map[string]func(to string){
		"fails": nil, "fails afterwards": nil,
		"writes":           func(to string) { x.say(session(to), "mine-0 user hello") },
		"deletes the fork": func(to string) { require.NoError(t, x.db.Store.Delete(t.Context(), p, to)) },
	} {
		for n, reached := 0, true; reached; n++ {
			to := fmt.Sprint(what, " ", n)
			reached = false
			x.db.Arm(func(c *testkit.StoreCall) error {
				if c.N != n {
					return nil
				}
				reached = true
				if change != nil {
					c.After = func() { change(to) }
					return nil
				}
				c.Lost = what == "fails afterwards"
				return backends.ErrUnavailable
			})
			_, err := x.Sessions().Fork(t.Context(), ann, to, 410)
			x.db.Arm(nil)
			if reached && change == nil {
				require.ErrorIs(t, err, backends.ErrUnavailable)
			}
			if st, err := x.Sessions().Get(t.Context(), session(to)); err == nil && what != "writes" {
				require.False(t, st.Pending(), "an interrupted fork is not learnt from")
			}
			if err != nil && !errors.Is(err, backends.ErrUnavailable) {
				require.True(t, errors.Is(err, backends.ErrConflict) || errors.Is(err, backends.ErrNotFound), "%s: %v", to, err)
				continue
			}
			if err != nil {
				_, err = x.Sessions().Fork(t.Context(), ann, to, 410)
				require.NoError(t, err, to)
			}
			if what != "deletes the fork" {
				require.Equal(t, x.entries(ann), x.entries(session(to))[:410], to)
			}
			if !reached {
				require.Greater(t, n, 8, "there were steps")
			}
		}
	}
}

// What a complete fork says next is learnt, and nothing before it.
func TestAForkIsLearntFromWhereItGoesOn(t *testing.T) {
	x := newFixture(t, 8000)
	x.filled(ann, 30)
	_, err := x.Sessions().Fork(t.Context(), ann, "s2", 0)
	require.NoError(t, err)
	x.say(session("s2"), "new-0! user another way")
	seen := found()
	m, err := working.New(t.Context(), &working.Config{Sessions: x.db, Backend: seen, Sweep: -1, Clock: x.clock.Now})
	require.NoError(t, err)
	_, err = m.Consolidate(t.Context(), session("s2"))
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, []string{"new-0"}, seen.learnt)
}

func TestManageSessions(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		ctx, s := t.Context(), x.Sessions()
		entries, err := s.Read(ctx, ann, store.Range{})
		require.NoError(t, err)
		require.Empty(t, entries)
		x.say(ann, "a-0 user a", "a-1! assistant A", "b-0 user b", "b-1 assistant B", "b-done! assistant ")
		require.NoError(t, s.Rename(ctx, ann, "旅行"))
		require.Equal(t, "旅行", x.state(ann).Title)
		require.NoError(t, s.Rename(ctx, ann, ""))
		require.Empty(t, x.state(ann).Title)
		require.ErrorIs(t, s.Rename(ctx, ann, strings.Repeat("x", 257)), backends.ErrInvalid)
		entries, err = s.Read(ctx, ann, store.Range{After: 2, Limit: 3})
		require.NoError(t, err)
		require.Len(t, entries, 2, "without the mark")
		require.Equal(t, "b", entries[0].Content)

		require.ErrorIs(t, s.Expire(ctx, ann, -1), backends.ErrInvalid)
		require.NoError(t, s.Expire(ctx, ann, time.Minute))
		require.Equal(t, x.clock.Now().Add(time.Minute), x.state(ann).Expires.UTC())
		require.NoError(t, s.Expire(ctx, ann, 0))
		x.clock.Advance(time.Hour)
		require.Zero(t, x.state(ann).Expires)
		require.NoError(t, s.Expire(ctx, ann, time.Minute))
		x.clock.Advance(time.Minute)
		_, err = s.Get(ctx, ann)
		require.ErrorIs(t, err, backends.ErrNotFound)

		for i := range 7 {
			x.clock.Advance(time.Second)
			x.say(session(fmt.Sprint("l", i)), "a-0! user a")
		}
		x.say(backends.Scope{UserID: "bob", SessionID: "s"}, "a-0! user a")
		x.clock.Advance(time.Second)
		x.say(session("l0"), "b-0! user b")
		var ids []string
		for page := (store.Page{Limit: 3}); ; {
			found, err := s.List(ctx, backends.Scope{UserID: "ann"}, page)
			require.NoError(t, err)
			require.LessOrEqual(t, len(found.Sessions), 3)
			for _, st := range found.Sessions {
				ids = append(ids, st.ID)
			}
			if page.Cursor = found.Next; page.Cursor == "" {
				break
			}
		}
		require.Equal(t, []string{"l0", "l1", "l2", "l3", "l4", "l5", "l6"}, ids, "in the order in which they began")
	})
}

// A store that does not answer is neither an absent session nor an empty one.
func TestErrorsOfSessionsAreDistinct(t *testing.T) {
	ctx, x := t.Context(), newFixture(t, 8000)
	x.filled(ann, 2)
	calls := []func(s *window.Sessions, scope backends.Scope) error{
		func(s *window.Sessions, c backends.Scope) error { _, err := s.List(ctx, c, store.Page{}); return err },
		func(s *window.Sessions, c backends.Scope) error { _, err := s.Read(ctx, c, store.Range{}); return err },
		func(s *window.Sessions, c backends.Scope) error { _, err := s.Get(ctx, c); return err },
		func(s *window.Sessions, c backends.Scope) error { return s.Rename(ctx, c, "x") },
		func(s *window.Sessions, c backends.Scope) error { return s.Expire(ctx, c, time.Hour) },
		func(s *window.Sessions, c backends.Scope) error { _, err := s.Fork(ctx, c, "s2", 1); return err },
		func(s *window.Sessions, c backends.Scope) error { _, err := s.KeepSummary(ctx, c, 1, "x"); return err },
	}
	for i, call := range calls {
		x.db.FailOn(backends.ErrUnavailable, "Session", "Read", "Update", "List")
		require.ErrorIs(t, call(x.Sessions(), ann), backends.ErrUnavailable)
		require.ErrorIs(t, call(x.Sessions(), backends.Scope{SessionID: "s1"}), backends.ErrNoScope)
		require.ErrorIs(t, call(x.Sessions(), backends.Scope{UserID: "a\x00", SessionID: "s1"}), backends.ErrInvalid)
		x.db.Arm(nil)
		require.Equal(t, i > 1, errors.Is(call(x.Sessions(), session("none")), backends.ErrNotFound))
	}
}

// killedChild leads the life of a session on a file, and kills itself before or after the n-th
// call of the store.
func killedChild(spec string) error {
	var path string
	var n int
	if _, err := fmt.Sscan(spec, &path, &n); err != nil {
		return err
	}
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	spy := testkit.Spy(db)
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.N == n/2 && n%2 == 0 {
			testkit.Die()
		} else if c.N == n/2 {
			c.After = testkit.Die
		}
		return nil
	})
	w, err := window.New(&window.Config{Sessions: spy, Budget: compaction.Budget{Window: 8000}})
	if err != nil {
		return err
	}
	_, err = w.Sessions().KeepSummary(ctx, ann, int64(n+1), "gist")
	_, forked := w.Sessions().Fork(ctx, ann, fmt.Sprint("fork", n), 240)
	return errors.Join(err, forked, db.Close())
}

func TestKilledAtAnyCall(t *testing.T) {
	testkit.SlowUnderRace(t)
	path := t.TempDir() + "/memory.db"
	db, err := sqlitestore.Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer db.Close()
	x := newFixtureOn(t, testkit.Spy(db), testkit.NewClock(), 8000)
	x.filled(ann, 255)
	for n, killed := 0, true; killed; n++ {
		killed = testkit.StartChild(t, fmt.Sprint(path, " ", n)).Wait(t)
		require.True(t, killed || n > 16, "there were calls")
		x.load(&window.LoadRequest{Scope: session(fmt.Sprint("fork", n))})
		x.keep(int64(n+1), "gist")
		require.EqualValues(t, n+1, x.state(ann).SummaryUpto)
		st, err := x.Sessions().Fork(t.Context(), ann, fmt.Sprint("fork", n), 240)
		require.NoError(t, err, "killed at call %d", n)
		require.Equal(t, x.entries(ann)[:240], x.entries(session(st.ID)))
		require.False(t, st.Pending())
	}
}
