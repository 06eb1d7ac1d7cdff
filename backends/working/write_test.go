// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
)

// logged returns the ids of the session's entries; those that end a turn have a
// full stop.
func (w *world) logged() []string {
	w.t.Helper()
	var out []string
	for _, e := range w.entries(ann) {
		id := e.ID
		if e.Done {
			id += "."
		}
		out = append(out, id)
	}
	return out
}

func TestDoneIsSeenOnMessagesThatTheLogHolds(t *testing.T) {
	said := piece("t", 0, false, "1", "2")
	told := piece("t", 0, true, "1", "2")
	alone := &working.Turn{Scope: ann, ID: "t", Done: true}
	other := piece("u", 0, true, "x")
	for name, tc := range map[string]struct {
		turns []*working.Turn
		log   []string
	}{
		"told at once":            {[]*working.Turn{told}, []string{"t-0", "t-1."}},
		"told twice":              {[]*working.Turn{told, told, alone, alone}, []string{"t-0", "t-1."}},
		"told after it was said":  {[]*working.Turn{said, told, told, alone}, []string{"t-0", "t-1", "t-1done."}},
		"others are in between":   {[]*working.Turn{said, other, told, told}, []string{"t-0", "t-1", "u-0.", "t-1done."}},
		"the end is new":          {[]*working.Turn{said, piece("t", 0, true, "1", "2", "3"), told}, []string{"t-0", "t-1", "t-2."}},
		"only its beginning":      {[]*working.Turn{said, piece("t", 0, true, "1")}, []string{"t-0", "t-1", "t-1done."}},
		"the beginning is missed": {[]*working.Turn{piece("t", 1, false, "2"), told}, []string{"t-1", "t-0", "t-0done."}},
		"it goes on after all":    {[]*working.Turn{told, piece("t", 2, false, "3"), alone, piece("t", 3, false, "4"), alone}, []string{"t-0", "t-1.", "t-2", "t-2done.", "t-3", "t-3done."}},
		"nothing was said":        {[]*working.Turn{alone, alone, other}, []string{"t-done.", "u-0."}},
		"the end comes first":     {[]*working.Turn{alone, said, alone}, []string{"t-done.", "t-0", "t-1", "t-1done."}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.append(tc.turns...)
			assert.Equal(t, tc.log, w.logged())
			w.consolidate(ann)
			s := w.session(ann)
			assert.Equal(t, s.LastSeq, s.Watermark, "all of it is complete")
		})
	}
}

func TestDoneIsSeenFarBack(t *testing.T) {
	w := newWorld(t)
	w.append(piece("t", 0, false, "1"))
	for i := range 250 {
		w.append(piece(fmt.Sprint("u", i), 0, true, "x"))
	}
	w.append(piece("t", 0, true, "1"))
	assert.Equal(t, "t-0done.", w.logged()[251])
}

func TestDoneOfWhatWasLearntAddsNothing(t *testing.T) {
	w := newWorld(t)
	w.append(piece("t", 0, false, "1"))
	w.clock.Advance(2 * time.Minute) // counts as complete
	assert.Len(t, w.consolidate(ann).Items, 1)
	w.append(piece("t", 0, true, "1"))
	assert.Equal(t, []string{"t-0"}, w.logged())
	assert.False(t, w.session(ann).Pending())
}

func TestDoneInAnotherProcessNeedsNoPatience(t *testing.T) {
	w := newWorld(t)
	w.append(piece("t", 0, false, "1"))
	learnt := make(chan int, 10)
	other := joinWorld(t, w.db, w.clock, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.back.after = func(r *backends.AddRequest) error { learnt <- len(r.Messages); return nil }
	})
	require.NoError(t, other.mem.Record(t.Context(), piece("t", 0, true, "1")))
	assert.Equal(t, 1, <-learnt, "as soon as it is idle, not after OpenTurn")
}

func TestDoneThatCouldNotBeWritten(t *testing.T) {
	for _, op := range []string{"read", "session", "append"} {
		w := newWorld(t)
		turn := piece("t", 0, true, "1")
		if w.append(piece("t", 0, false, "1")); op == "session" {
			turn.Messages = nil
		}
		w.log.before = func(o string, arg any) error {
			if a, ok := arg.(*store.Append); ok && a.Entries[0].Content != "" || o != op {
				return nil
			}
			return fmt.Errorf("away: %w", backends.ErrUnavailable)
		}
		err := w.mem.Append(t.Context(), turn)
		require.ErrorIs(t, err, backends.ErrUnavailable, op)
		require.ErrorContains(t, err, `turn "t"`, op)
		w.log.before = nil
		assert.Empty(t, w.consolidate(ann).Items, "%s: it is open still", op)
		w.append(turn)
		assert.Equal(t, []string{"t-0", "t-0done."}, w.logged(), op)
		assert.Len(t, w.consolidate(ann).Items, 1, op)
	}
}

func TestTheEndOfATurnNamesItsAgent(t *testing.T) {
	w := newWorld(t)
	w.append(piece("t", 0, false, "1"), &working.Turn{Scope: with("guide"), ID: "t", Done: true})
	assert.Equal(t, "guide", w.entries(ann)[1].AgentID)
	assert.Equal(t, schema.Assistant, w.entries(ann)[1].Role)
	w.consolidate(ann)
	assert.Equal(t, [][]string{{"t-0"}}, w.back.stored(), "nobody is asked to learn from the mark")
}
