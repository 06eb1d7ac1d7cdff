// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/session"
)

func (w *world) fork(s backends.Scope, to string, upto int64) *session.Info {
	w.t.Helper()
	info, err := w.Fork(context.Background(), s, to, upto)
	require.NoError(w.t, err)
	return info
}

// filled appends so many messages in one step.
func (w *world) filled(s backends.Scope, messages int) {
	w.t.Helper()
	log := make([]said, 0, messages)
	for i := 0; len(log)+2 <= messages; i++ {
		id := fmt.Sprint("t", i)
		log = append(log, user(id, 0, "question "+id), reply(id, 1, "answer "+id).end())
	}
	if len(log) < messages {
		log = append(log, user("last", 0, "question"))
	}
	w.say(s, log...)
}

func testFork(t *testing.T, w *world) {
	w.filled(w.ann, 501)
	require.NoError(t, w.Rename(t.Context(), w.ann, "holidays"))
	require.NoError(t, w.Expire(t.Context(), w.ann, time.Hour))
	before, log := w.state(w.ann), w.entries(w.ann)

	w.clock.Advance(time.Second)
	info := w.fork(w.ann, "s2", 403)
	two := scoped(w, "s2")
	assert.Equal(t, &session.Info{
		ID: "s2", Title: "holidays", Agent: "bot", Created: w.clock.Now(), Updated: w.clock.Now(), Expires: before.Expires,
		Messages: 403, Tokens: 4030, LearntUpto: 403,
	}, info)
	assert.Equal(t, log[:403], w.entries(two), "the same messages, ids and numbers")
	st := w.state(two)
	assert.Equal(t, "s2", st.Scope.SessionID)
	assert.Equal(t, before.Scope.UserID, st.Scope.UserID)
	assert.Empty(t, st.Lease.Owner)
	assert.Zero(t, st.Retry)
	assert.Equal(t, before, w.state(w.ann), "the source is as it was")
	assert.Equal(t, log, w.entries(w.ann))

	// Repeated, and repeated when it went its own way.
	assert.Equal(t, info, w.fork(w.ann, "s2", 403))
	assert.Equal(t, st, w.state(two))
	w.say(two, user("new", 0, "another way"))
	w.clock.Advance(time.Second)
	assert.EqualValues(t, 404, w.fork(w.ann, "s2", 403).Messages)
	assert.Len(t, w.entries(w.ann), 501)

	// Of all, of a fork, and where something is in the way.
	assert.EqualValues(t, 501, w.fork(w.ann, "s3", 0).Messages)
	w.say(w.ann, user("late", 0, "after the fork"))
	assert.EqualValues(t, 501, w.fork(w.ann, "s3", 0).Messages, "the same fork again")
	assert.EqualValues(t, 404, w.fork(two, "s4", 0).Messages)
	assert.Equal(t, w.entries(two), w.entries(scoped(w, "s4")))
	w.turns(scoped(w, "s5"), 1, 1)
	for name, tc := range map[string]struct {
		to   string
		upto int64
		want error
	}{
		"itself":                 {"s1", 3, backends.ErrConflict},
		"another session":        {"s5", 3, backends.ErrConflict},
		"a fork of more":         {"s2", 404, backends.ErrConflict},
		"a fork of less":         {"s2", 402, backends.ErrConflict},
		"a fork of another":      {"s4", 404, backends.ErrConflict},
		"messages it has not":    {"s6", 503, backends.ErrInvalid},
		"a negative number":      {"s6", -1, backends.ErrInvalid},
		"no name":                {"", 1, backends.ErrInvalid},
		"a name that is illegal": {" s6", 1, backends.ErrInvalid},
	} {
		_, err := w.Fork(t.Context(), w.ann, tc.to, tc.upto)
		require.ErrorIs(t, err, tc.want, name)
	}
	require.NoError(t, w.Delete(t.Context(), two))
	assert.EqualValues(t, 7, w.fork(w.ann, "s2", 7).Messages, "the name is free again")
}

func testForkOfASummarisedSession(t *testing.T, w *world) {
	w.filled(w.ann, 20)
	require.True(t, w.commit(w.ann, 0, 10, "gist"))
	for upto, summary := range map[int64]int64{9: 0, 10: 10, 20: 10} {
		info := w.fork(w.ann, fmt.Sprint("upto", upto), upto)
		assert.Equal(t, summary, info.SummaryUpto)
		assert.Equal(t, summary > 0, info.Summary == "gist")
		h := w.load(&session.LoadRequest{Scope: scoped(w, info.ID)})
		assert.Equal(t, upto, h.Upto)
		assert.Equal(t, summary+1, h.From)
	}
}

var errCut = fmt.Errorf("the line is cut: %w", backends.ErrUnavailable)

// Whatever call fails, before or after it was carried out: what is there loads, and
// the same call completes the fork.
func testForkInterruptedAtAnyStep(t *testing.T, w *world) {
	w.filled(w.ann, 410)
	require.True(t, w.commit(w.ann, 0, 10, "gist"))
	want := w.entries(w.ann)
	for n := 1; ; n += pace {
		left := n
		step := func(call) error {
			if left--; left == 0 {
				return errCut
			}
			return nil
		}
		w.log.before, w.log.after = step, step
		to := fmt.Sprint("fork", n)
		_, err := w.Fork(t.Context(), w.ann, to, 410)
		w.log.before, w.log.after = nil, nil
		if left > 0 {
			require.NoError(t, err)
			require.Greater(t, n, 20, "there were steps")
			return
		}
		require.ErrorIs(t, err, backends.ErrUnavailable)
		h := w.load(&session.LoadRequest{Scope: scoped(w, to)})
		if h.Session != nil && h.Session.LastSeq > 0 {
			require.Equal(t, h.Session.LastSeq, h.Upto)
			info, err := w.Get(t.Context(), scoped(w, to))
			require.NoError(t, err)
			require.True(t, info.Incomplete || info.LearntUpto == 410)
		}
		if n%2 == 0 {
			w.clock.Advance(time.Minute) // past the lease
		}
		info := w.fork(w.ann, to, 410)
		require.False(t, info.Incomplete)
		require.EqualValues(t, 410, info.LearntUpto)
		require.EqualValues(t, 10, info.SummaryUpto)
		require.Equal(t, want, w.entries(scoped(w, to)))
	}
}

func testTheSameForkAtOnce(t *testing.T, w *world) {
	w.filled(w.ann, 900)
	var all sync.WaitGroup
	var mu sync.Mutex
	outcome := map[bool]int{}
	for range 8 {
		all.Go(func() {
			_, err := w.Fork(context.Background(), w.ann, "s2", 900)
			if err != nil {
				assert.ErrorIs(t, err, backends.ErrConflict, "the others are in its way")
			}
			mu.Lock()
			outcome[err == nil]++
			mu.Unlock()
		})
	}
	all.Wait()
	require.Positive(t, outcome[true], "%v", outcome)
	require.EqualValues(t, 900, w.fork(w.ann, "s2", 900).LearntUpto)
	require.Equal(t, w.entries(w.ann), w.entries(scoped(w, "s2")))
}

// Somebody begins a conversation of the new name while it is forked to. What was
// said is kept, and the fork does not pretend to be one.
func testForkWhileSomebodyWrites(t *testing.T, w *world) {
	w.filled(w.ann, 410)
	for n := 1; ; n += pace {
		to := fmt.Sprint("s2-", n)
		left := n
		w.log.after = func(c call) error {
			if left--; left == 0 {
				w.say(scoped(w, to), user("mine", 0, "hello"), reply("mine", 1, "hello").end())
			}
			return nil
		}
		info, err := w.Fork(t.Context(), w.ann, to, 410)
		w.log.after = nil
		if left > 0 {
			require.NoError(t, err)
			require.Greater(t, n, 10)
			return
		}
		said := 0
		for _, e := range w.entries(scoped(w, to)) {
			if e.Turn == "mine" {
				said++
			}
		}
		require.Equal(t, 2, said, "step %d", n)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrConflict, "step %d", n)
			continue
		}
		// It came when the copy was complete.
		require.GreaterOrEqual(t, info.Messages, int64(410), "step %d", n)
		require.LessOrEqual(t, info.LearntUpto, int64(410))
		require.Equal(t, w.entries(w.ann), w.entries(scoped(w, to))[:410])
	}
}

func TestForkOfASessionThatIsDeletedMeanwhile(t *testing.T) {
	for _, which := range []string{"s1", "s2"} {
		for n := 1; ; n += pace {
			w := onSQLite(t)
			w.filled(ann, 410)
			left := n
			w.log.after = func(call) error {
				if left--; left == 0 {
					return w.db.Delete(context.Background(), partition(t, ann), which)
				}
				return nil
			}
			_, err := w.Fork(t.Context(), ann, "s2", 410)
			if left > 0 {
				require.NoError(t, err)
				break
			}
			if err != nil {
				require.True(t, errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrConflict), "step %d: %v", n, err)
			} else if which == "s1" {
				require.Len(t, w.entries(scoped(w, "s2")), 410)
			}
		}
	}
}

// learner counts how often it is shown each message.
type learner struct {
	mu    sync.Mutex
	shown map[string]int // by session and message
}

func (l *learner) Add(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range r.Messages {
		if l.shown == nil {
			l.shown = make(map[string]int)
		}
		l.shown[r.Checkpoint.Session+" "+m.ID]++
	}
	return &backends.AddResponse{}, nil
}

func (l *learner) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, nil
}

func (l *learner) Close(context.Context) error { return nil }

func (l *learner) of(session string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := maps.Clone(l.shown)
	maps.DeleteFunc(out, func(k string, _ int) bool { return len(k) <= len(session) || k[:len(session)+1] != session+" " })
	return out
}

// What was copied is not learnt again, neither when the fork is complete nor while
// it is not.
func TestForksAreNotLearntAgain(t *testing.T) {
	for n := 0; ; n += pace {
		w := onSQLite(t)
		w.filled(ann, 410)
		left := n
		w.log.after = func(call) error {
			if left--; left == 0 {
				return errCut
			}
			return nil
		}
		_, err := w.Fork(t.Context(), ann, "s2", 410)
		w.log.after = nil
		require.Equal(t, n > 0 && left <= 0, err != nil)
		w.clock.Advance(time.Hour) // past the lease, and any open turn

		// Somebody else looks for sessions that were left, and learns a later one.
		back := &learner{}
		w.turns(scoped(w, "s9"), 1, 1)
		w.clock.Advance(time.Hour)
		mem, err2 := working.New(context.Background(), &working.Config{Sessions: w.db, Backend: back, Clock: w.clock.Now, Sweep: time.Millisecond})
		require.NoError(t, err2)
		require.Eventually(t, func() bool { return len(back.of("s9")) == 2 && len(back.of("s1")) == 410 }, 10*time.Second, time.Millisecond)

		w.fork(ann, "s2", 410)
		require.NoError(t, mem.Append(t.Context(), &working.Turn{Scope: scoped(w, "s2"), ID: "new", Messages: []*schema.Message{user("", 0, "another way").msg}, Done: true}))
		_, err2 = mem.Consolidate(t.Context(), scoped(w, "s2"))
		require.NoError(t, err2)
		require.NoError(t, mem.Close(t.Context()))
		require.Equal(t, map[string]int{"s2 new-0": 1}, back.of("s2"), "step %d", n)
		if n > 0 && left > 0 {
			require.Greater(t, n, 10)
			return
		}
	}
}
