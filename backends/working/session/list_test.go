// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/session"
)

func (w *world) begin(id string) {
	w.clock.Advance(time.Second)
	s := w.ann
	s.SessionID = id
	w.turns(s, 1, 1)
}

func (w *world) list(limit int, cursor string) *session.ListResponse {
	w.t.Helper()
	page, err := w.List(w.t.(*testing.T).Context(), &session.ListRequest{Scope: w.ann, Limit: limit, Cursor: cursor})
	require.NoError(w.t, err)
	return page
}

func ids(page *session.ListResponse) []string {
	out := []string{}
	for _, s := range page.Sessions {
		out = append(out, s.ID)
	}
	return out
}

func testList(t *testing.T, w *world) {
	assert.Empty(t, w.list(0, "").Sessions)
	for i := range 5 {
		w.begin(fmt.Sprint("s", i))
	}
	other := w.ann
	other.UserID += "'s friend"
	w.turns(other, 1, 1)
	first := w.list(2, "")
	assert.Equal(t, []string{"s4", "s3"}, ids(first))
	assert.Equal(t, 5, first.Total)
	w.clock.Advance(time.Second)
	w.turns(scoped(w, "s1"), 2, 2) // not met yet
	w.turns(scoped(w, "s4"), 2, 2) // met
	require.NoError(t, w.Delete(t.Context(), scoped(w, "s2")))
	w.begin("s5")
	second := w.list(1, first.Next)
	assert.Equal(t, []string{"s1"}, ids(second), "it changed last, and was not met")
	third := w.list(2, second.Next)
	assert.Equal(t, []string{"s0"}, ids(third), "without the one that was deleted, and the one that came")
	assert.Empty(t, third.Next)
	all := w.list(0, "")
	assert.Equal(t, []string{"s5", "s1", "s4", "s3", "s0"}, ids(all))
	assert.Empty(t, all.Next)
}

func scoped(w *world, id string) backends.Scope {
	s := w.ann
	s.SessionID = id
	return s
}

// A thousand sessions, of which many change between the pages: each is met once.
func TestListWhileSessionsChange(t *testing.T) {
	w := onSQLite(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 1000
	for i := range n {
		if i%3 == 0 {
			w.clock.Advance(time.Millisecond)
		}
		w.turns(scoped(w, fmt.Sprint("s", i)), 1, 1)
	}
	met := map[string]int{}
	for cursor, turn := "", 2; ; turn++ {
		page := w.list(1+r.IntN(200), cursor)
		for _, s := range page.Sessions {
			met[s.ID]++
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		for range 50 {
			w.turns(scoped(w, fmt.Sprint("s", r.IntN(n))), turn, turn)
			if r.IntN(3) == 0 {
				w.clock.Advance(time.Millisecond)
			}
		}
	}
	require.Len(t, met, n)
	for id, times := range met {
		require.Equal(t, 1, times, id)
	}
}

func TestListRefuses(t *testing.T) {
	w := onSQLite(t)
	w.begin("s1")
	w.begin("s2")
	_, err := w.List(t.Context(), nil)
	assert.ErrorIs(t, err, backends.ErrInvalid)
	for _, cursor := range []string{"x", "!", "AAAA", w.list(1, "").Next + "AAAA"} {
		_, err := w.List(t.Context(), &session.ListRequest{Scope: ann, Cursor: cursor})
		assert.ErrorIs(t, err, backends.ErrInvalid, cursor)
	}
}

func FuzzListCursor(f *testing.F) {
	w := onSQLite(f)
	w.t = f
	w.turns(ann, 1, 1)
	for _, cursor := range []string{"", "AAZgyqHZWXCtMohGqhg", "AAAAAAAAAAA", "________w"} {
		f.Add(cursor)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		page, err := w.List(t.Context(), &session.ListRequest{Scope: ann, Cursor: cursor})
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		require.LessOrEqual(t, len(page.Sessions), 1)
	})
}
