// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/session"
)

func testCommitSummary(t *testing.T, w *world) {
	w.turns(w.ann, 1, 5)
	require.True(t, w.commit(w.ann, 0, 4, "one"))
	assert.False(t, w.commit(w.ann, 0, 6, "rival"), "made from another one")
	assert.True(t, w.commit(w.ann, 0, 4, "one"), "again")
	require.True(t, w.commit(w.ann, 4, 6, "two"))
	assert.False(t, w.commit(w.ann, 0, 4, "one"), "it does not come back")
	st := w.state(w.ann)
	assert.Equal(t, "two", st.Summary)
	assert.EqualValues(t, 6, st.SummaryUpto)
	assert.EqualValues(t, 10, st.LastSeq)
}

func TestCommitSummaryRefuses(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 2)
	for name, sum := range map[string]*session.Summary{
		"nil": nil, "no text": {Upto: 2}, "nothing covered": {From: 2, Upto: 2, Text: "x"}, "backwards": {From: 3, Upto: 2, Text: "x"},
		"negative": {From: -1, Upto: 2, Text: "x"}, "beyond the log": {Upto: 5, Text: "x"},
	} {
		ok, err := w.CommitSummary(t.Context(), ann, sum)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
		assert.False(t, ok)
	}
	other := ann
	other.SessionID = "none"
	_, err := w.CommitSummary(t.Context(), other, &session.Summary{Upto: 1, Text: "x"})
	assert.ErrorIs(t, err, backends.ErrNotFound)
	_, err = w.CommitSummary(t.Context(), backends.Scope{}, &session.Summary{Upto: 1, Text: "x"})
	assert.ErrorIs(t, err, backends.ErrNoScope)
}

// A turn of which something may still come is not covered.
func TestCommitSummaryEndsBeforeAnOpenTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		log  []said
		wait time.Duration
		want int64
	}{
		"all done":                 {log: []said{user("a", 0, "a").end(), user("b", 0, "b").end(), user("c", 0, "c").end()}, want: 3},
		"the last is open":         {log: []said{user("a", 0, "a").end(), user("b", 0, "b").end(), user("c", 0, "c")}, want: 2},
		"one between is open":      {log: []said{user("a", 0, "a").end(), user("b", 0, "b"), user("c", 0, "c").end()}, want: 1},
		"the first is open":        {log: []said{user("a", 0, "a"), user("b", 0, "b").end(), user("c", 0, "c").end()}, want: 0},
		"for too long":             {log: []said{user("a", 0, "a"), user("b", 0, "b").end(), user("c", 0, "c").end()}, wait: 2 * time.Minute, want: 3},
		"not quite":                {log: []said{user("a", 0, "a"), user("b", 0, "b").end(), user("c", 0, "c").end()}, wait: 2*time.Minute - 1, want: 0},
		"done behind the summary":  {log: []said{user("a", 0, "a"), user("b", 0, "b").end(), user("c", 0, "c").end(), reply("a", 1, "A").end()}, want: 3},
		"done by a mark":           {log: []said{user("a", 0, "a"), user("b", 0, "b").end(), user("c", 0, "c").end(), mark("a")}, want: 3},
		"heard of behind":          {log: []said{user("a", 0, "a").end(), user("b", 0, "b"), user("c", 0, "c").end(), {turn: "b", index: 1, msg: reply("", 0, "B").msg, at: epoch.Add(time.Hour)}}, wait: time.Hour, want: 1},
		"open behind the summary":  {log: []said{user("a", 0, "a").end(), user("b", 0, "b").end(), user("c", 0, "c").end(), user("d", 0, "d")}, want: 3},
		"ends in a turn, and done": {log: []said{user("a", 0, "a").end(), user("b", 0, "b"), reply("b", 1, "B"), reply("b", 2, "B").end()}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			w.say(ann, tc.log...)
			w.clock.Advance(tc.wait)
			assert.Equal(t, tc.want > 0, w.commit(ann, 0, 3, "gist"))
			assert.Equal(t, tc.want, w.state(ann).SummaryUpto)
			if tc.want > 0 {
				assert.True(t, w.commit(ann, 0, 3, "gist"), "again")
			}
		})
	}
}

// The answer to a write is lost: a second call finds it done.
func TestCommitSummaryThatMayHaveBeenStored(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 2)
	w.log.after = func(c call) error {
		if c.op == "update" {
			return fmt.Errorf("the line is cut: %w", backends.ErrUnavailable)
		}
		return nil
	}
	sum := &session.Summary{Upto: 2, Text: "gist"}
	ok, err := w.CommitSummary(t.Context(), ann, sum)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.False(t, ok)
	w.log.after = nil
	require.True(t, w.commit(ann, 0, 2, "gist"))
	require.EqualValues(t, 2, w.state(ann).SummaryUpto)
}

func TestCommitSummarySaysWhatItCouldNotRead(t *testing.T) {
	for _, op := range []string{"session", "read", "update"} {
		w := onSQLite(t)
		w.turns(ann, 1, 2)
		w.log.before = func(c call) error {
			if c.op == op {
				return fmt.Errorf("the line is cut: %w", backends.ErrUnavailable)
			}
			return nil
		}
		_, err := w.CommitSummary(t.Context(), ann, &session.Summary{Upto: 2, Text: "gist"})
		require.ErrorIs(t, err, backends.ErrUnavailable, op)
	}
}

// Whatever others append between the look and the write: it is one write.
func TestAppendsKeepNoSummaryFromBeingKept(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 2)
	n := 0
	w.log.before = func(c call) error {
		if c.op == "update" {
			n++
			w.turns(ann, 2+n, 2+n)
		}
		return nil
	}
	ok, err := w.CommitSummary(t.Context(), ann, &session.Summary{Upto: 2, Text: "gist"})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 1, n)
	st := w.state(ann)
	require.Equal(t, []int64{2, 6}, []int64{st.SummaryUpto, st.LastSeq})
}

// Many append while many summarise, each from what it has read. The text of a
// summary is what it has seen: how many turns, by their ids.
func testSummariesAndAppendsAtOnce(t *testing.T, w *world) {
	writers, rivals, turns := 48, 16, 3
	if long {
		turns = 30
	}
	var wrote, done sync.WaitGroup
	var over atomic.Bool
	var committed, refused atomic.Int64
	w.turns(w.ann, 0, 0)
	for n := range writers {
		wrote.Go(func() {
			for i := range turns {
				id := fmt.Sprint("w", n, "x", i)
				w.say(w.ann, user(id, 0, "question "+id), reply(id, 1, "answer "+id).end())
			}
		})
	}
	for range rivals {
		done.Go(func() {
			last := int64(0)
			for stop := false; !stop; {
				stop = over.Load()
				h, err := w.Load(context.Background(), &session.LoadRequest{Scope: w.ann})
				if !assert.NoError(t, err) {
					return
				}
				assert.GreaterOrEqual(t, h.Session.SummaryUpto, last, "a summary never moves back")
				last = h.Session.SummaryUpto
				text := strings.TrimSpace(h.Session.Summary + " " + strings.Join(answers(h), " "))
				if h.Upto == h.Session.SummaryUpto || h.Earlier > 0 {
					continue
				}
				ok, err := w.CommitSummary(context.Background(), w.ann, &session.Summary{From: h.Session.SummaryUpto, Upto: h.Upto, Text: text})
				if !assert.NoError(t, err) {
					return
				}
				if ok {
					committed.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	wrote.Wait()
	over.Store(true)
	done.Wait()
	t.Logf("%d summaries kept, %d came too late", committed.Load(), refused.Load())
	require.Positive(t, committed.Load())
	st := w.state(w.ann)
	log := w.entries(w.ann)
	require.Len(t, log, 2*(writers*turns+1), "nothing is lost")
	require.NotEmpty(t, st.Summary)
	var covered []string
	for _, e := range log[:st.SummaryUpto] {
		if id, ok := strings.CutPrefix(e.Content, "answer "); ok {
			covered = append(covered, id)
		}
	}
	require.Equal(t, covered, strings.Fields(st.Summary), "it has seen what it covers, and nothing else")
}

// answers returns the ids of the turns in a history.
func answers(h *session.History) []string {
	var out []string
	for _, m := range h.Messages {
		if id, ok := strings.CutPrefix(m.Content, "answer "); ok {
			out = append(out, id)
		}
	}
	return out
}

// What a model takes time for is not waited for by anybody.
func testAppendWhileAModelSummarises(t *testing.T, w *world) {
	w.turns(w.ann, 1, 4)
	h := w.load(&session.LoadRequest{Scope: w.ann})
	w.turns(w.ann, 5, 6) // while the model thinks
	require.True(t, w.commit(w.ann, h.Session.SummaryUpto, h.Upto, "four turns"))
	h = w.load(&session.LoadRequest{Scope: w.ann})
	assert.Equal(t, []string{"log-1-8 user: four turns", "9 user: question t5", "10 assistant: answer t5", "11 user: question t6", "12 assistant: answer t6"}, brief(h.Messages))
}

func testUsage(t *testing.T, w *world) {
	w.turns(w.ann, 1, 7) // 20 tokens each
	u, err := w.Usage(t.Context(), w.ann, 200, 0.7)
	require.NoError(t, err)
	assert.Equal(t, 140, u.Tokens)
	assert.InDelta(t, 70, u.Percent(), 1e-9)
	assert.InDelta(t, 100, u.UntilSummary(), 1e-9)
	require.True(t, w.commit(w.ann, 0, 10, "gist"))
	u, err = w.Usage(t.Context(), w.ann, 200, 0)
	require.NoError(t, err)
	assert.Equal(t, 40, u.Tokens)
	assert.InDelta(t, 20, u.Percent(), 1e-9)
	assert.InDelta(t, 20, u.UntilSummary(), 1e-9)
}

func TestUsageRefuses(t *testing.T) {
	w := onSQLite(t)
	for _, bad := range []struct {
		limit int
		share float64
	}{{0, 0}, {-1, 0}, {1, -1}, {1, 1.1}} {
		_, err := w.Usage(t.Context(), ann, bad.limit, bad.share)
		assert.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err := w.Usage(t.Context(), ann, 1, 0)
	assert.ErrorIs(t, err, backends.ErrNotFound)
	w.turns(ann, 1, 2)
	require.True(t, w.commit(ann, 0, 2, "gist"))
	w.log.before = func(c call) error {
		if _, ok := c.arg.(store.Range); ok {
			return backends.ErrUnavailable
		}
		return nil
	}
	_, err = w.Usage(t.Context(), ann, 1, 0)
	assert.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestKeepSummaryReachesFurther(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 3)
	for _, tc := range []struct {
		upto int64
		text string
		ok   bool
	}{{2, "one turn", true}, {2, "one turn again", false}, {4, "two turns", true}, {2, "back", false}} {
		ok, err := w.KeepSummary(t.Context(), ann, tc.upto, tc.text)
		require.NoError(t, err)
		require.Equal(t, tc.ok, ok, tc.text)
	}
	require.Equal(t, "two turns", w.state(ann).Summary)
	_, err := w.KeepSummary(t.Context(), backends.Scope{UserID: "bob", SessionID: "s1"}, 2, "x")
	require.ErrorIs(t, err, backends.ErrNotFound)
}
