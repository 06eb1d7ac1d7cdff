// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/session"
)

func TestNewRefuses(t *testing.T) {
	db := openSQLite(t, ":memory:", nil)
	for name, cfg := range map[string]*session.Config{
		"nil": nil, "no store": {}, "open turn": {Sessions: db, OpenTurn: -1}, "language": {Sessions: db, Language: "tlh"},
	} {
		_, err := session.New(cfg)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	cfg := session.Config{Sessions: db}
	_, err := session.New(&cfg)
	require.NoError(t, err)
	assert.Equal(t, session.Config{Sessions: db}, cfg, "it is left as it is")
}

func testManage(t *testing.T, w *world) {
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"get":    func() error { _, err := w.Get(ctx, w.ann); return err },
		"rename": func() error { return w.Rename(ctx, w.ann, "x") },
		"expire": func() error { return w.Expire(ctx, w.ann, time.Hour) },
		"fork":   func() error { _, err := w.Fork(ctx, w.ann, "s2", 0); return err },
	} {
		require.ErrorIs(t, do(), backends.ErrNotFound, name)
	}
	entries, err := w.Window(ctx, w.ann, store.Range{})
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoError(t, w.Delete(ctx, w.ann), "one that does not exist is left so")

	born := w.clock.Now()
	w.turns(w.ann, 1, 2)
	w.say(w.ann, user("t3", 0, "question t3"), reply("t3", 1, "answer t3"), mark("t3"))
	require.True(t, w.commit(w.ann, 0, 2, "gist"))
	w.clock.Advance(time.Second)
	require.NoError(t, w.Rename(ctx, w.ann, "旅行"))
	info, err := w.Get(ctx, w.ann)
	require.NoError(t, err)
	assert.Equal(t, &session.Info{
		ID: "s1", Title: "旅行", Agent: "bot", Created: born, Updated: w.clock.Now(), Messages: 7, Tokens: 60, Summary: "gist", SummaryUpto: 2,
	}, info)
	require.NoError(t, w.Rename(ctx, w.ann, ""))
	require.ErrorIs(t, w.Rename(ctx, w.ann, strings.Repeat("x", store.MaxTitle+1)), backends.ErrInvalid)

	entries, err = w.Window(ctx, w.ann, store.Range{After: 4, Limit: 3})
	require.NoError(t, err)
	require.Len(t, entries, 2, "without the mark")
	assert.EqualValues(t, 5, entries[0].Seq)
	assert.Equal(t, "question t3", entries[0].Content)

	// The end comes, and is taken back.
	require.ErrorIs(t, w.Expire(ctx, w.ann, -1), backends.ErrInvalid)
	require.NoError(t, w.Expire(ctx, w.ann, time.Minute))
	info, err = w.Get(ctx, w.ann)
	require.NoError(t, err)
	assert.Equal(t, w.clock.Now().Add(time.Minute), info.Expires)
	require.NoError(t, w.Expire(ctx, w.ann, 0))
	w.clock.Advance(time.Hour)
	info, err = w.Get(ctx, w.ann)
	require.NoError(t, err)
	assert.Zero(t, info.Expires)
	require.NoError(t, w.Expire(ctx, w.ann, time.Minute))
	w.clock.Advance(time.Minute)
	_, err = w.Get(ctx, w.ann)
	require.ErrorIs(t, err, backends.ErrNotFound)
	list, err := w.List(ctx, &session.ListRequest{Scope: w.ann})
	require.NoError(t, err)
	assert.Empty(t, list.Sessions)
	assert.Zero(t, list.Total)

	// Deleted with all that belongs to it.
	w.turns(w.ann, 1, 2)
	for _, name := range []string{"archive/x", "open-turn/y"} {
		require.NoError(t, w.db.PutBlob(ctx, partition(t, w.ann), "s1", name, []byte("x")))
	}
	require.NoError(t, w.Delete(ctx, w.ann))
	_, err = w.Get(ctx, w.ann)
	require.ErrorIs(t, err, backends.ErrNotFound)
	for _, name := range []string{"archive/x", "open-turn/y"} {
		_, err := w.db.GetBlob(ctx, partition(t, w.ann), "s1", name)
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
	assert.Empty(t, w.entries(w.ann))
}

// A store that does not answer is neither an absent session nor an empty one.
func TestErrorsAreDistinct(t *testing.T) {
	ctx := t.Context()
	calls := map[string]func(w *world, s backends.Scope) error{
		"load": func(w *world, s backends.Scope) error {
			_, err := w.Load(ctx, &session.LoadRequest{Scope: s})
			return err
		},
		"get": func(w *world, s backends.Scope) error { _, err := w.Get(ctx, s); return err },
		"list": func(w *world, s backends.Scope) error {
			_, err := w.List(ctx, &session.ListRequest{Scope: s})
			return err
		},
		"window": func(w *world, s backends.Scope) error { _, err := w.Window(ctx, s, store.Range{}); return err },
		"usage":  func(w *world, s backends.Scope) error { _, err := w.Usage(ctx, s, 1, 0); return err },
		"rename": func(w *world, s backends.Scope) error { return w.Rename(ctx, s, "x") },
		"expire": func(w *world, s backends.Scope) error { return w.Expire(ctx, s, time.Hour) },
		"delete": func(w *world, s backends.Scope) error { return w.Delete(ctx, s) },
		"fork":   func(w *world, s backends.Scope) error { _, err := w.Fork(ctx, s, "s2", 1); return err },
		"commit": func(w *world, s backends.Scope) error {
			_, err := w.CommitSummary(ctx, s, &session.Summary{Upto: 1, Text: "x"})
			return err
		},
	}
	for name, do := range calls {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			w.turns(ann, 1, 2)
			require.ErrorIs(t, do(w, backends.Scope{SessionID: "s1"}), backends.ErrNoScope)
			require.ErrorIs(t, do(w, backends.Scope{UserID: "a\x00", SessionID: "s1"}), backends.ErrInvalid)
			w.log.before = func(call) error { return fmt.Errorf("the line is cut: %w", backends.ErrUnavailable) }
			err := do(w, ann)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			for _, other := range []error{backends.ErrNotFound, backends.ErrConflict, backends.ErrInvalid} {
				require.NotErrorIs(t, err, other)
			}
			w.log.before = nil
			require.NoError(t, do(w, ann))
		})
	}
}

// What working memory writes is what is loaded: a turn in pieces, and one that was
// interrupted and is completed by another process.
func TestTurnsOfWorkingMemory(t *testing.T) {
	w := onSQLite(t)
	mem := func() *working.Memory {
		m, err := working.New(context.Background(), &working.Config{Sessions: w.db, Backend: &learner{}, Sweep: -1, Idle: time.Hour, Clock: w.clock.Now})
		require.NoError(t, err)
		return m
	}
	one, other := mem(), mem()
	ask := []said{user("a", 0, "find it"), calls("a", 1, "x")}
	rest := []said{result("a", 2, "x"), reply("a", 3, "found")}
	tell := func(m *working.Memory, first int, done bool, messages ...said) {
		turn := &working.Turn{Scope: ann, ID: messages[0].turn, First: first, Done: done}
		for _, s := range messages {
			turn.Messages = append(turn.Messages, s.msg)
		}
		require.NoError(t, m.Append(t.Context(), turn))
	}
	tell(one, 0, false, ask...)
	assert.Equal(t, "tool", string(last(w.load(&session.LoadRequest{Scope: ann}).Messages).Role), "a result is made up")
	require.NoError(t, one.Close(t.Context()))
	tell(other, 0, true, user("b", 0, "and this?"), reply("b", 1, "no"))
	tell(other, 2, false, rest...)
	tell(other, 0, true, append(ask, rest...)...) // as a whole: only the mark is new
	require.NoError(t, other.Close(t.Context()))
	assert.Equal(t, []string{"1 user: find it", "2 assistant: call x", "5 tool: result of x", "6 assistant: found", "3 user: and this?", "4 assistant: no"},
		brief(w.load(&session.LoadRequest{Scope: ann}).Messages))
	assert.EqualValues(t, 7, w.state(ann).LastSeq)
	require.True(t, w.commit(ann, 0, 6, "gist"), "both turns are done")
}

func last[E any](list []E) E { return list[len(list)-1] }
