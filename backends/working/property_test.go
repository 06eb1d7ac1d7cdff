// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

// model is two processes on one session, whatever happens to them.
type model struct {
	t     *rapid.T
	ctx   context.Context
	w     *world
	pen   *working.Memory // appends, and never consolidates: so that nothing happens by itself
	procs []*working.Memory
	backs []*learner
	fate  string          // of the next Add
	bad   map[string]bool // turns that no model understands
	turns []int           // messages appended to each turn so far
	done  []bool
}

func newModel(t *rapid.T, db *sqlitestore.Store, c *clock, workspace string) *model {
	m := &model{t: t, ctx: context.Background(), w: &world{t: t, db: db, clock: c}, bad: make(map[string]bool)}
	for i := range 2 {
		back := &learner{records: db, ids: backends.NewID, workspace: workspace}
		back.before = func(_ context.Context, r *backends.AddRequest) error {
			if err := m.meet(i, "before"); err != nil {
				return err
			}
			return m.poisoned(r)
		}
		back.after = func(*backends.AddRequest) error { return m.meet(i, "after") }
		m.backs = append(m.backs, back)
		m.procs = append(m.procs, m.start(back, 4, 40))
	}
	m.pen = m.start(m.backs[0], 1<<20, 1<<30)
	return m
}

func (m *model) start(back *learner, turns, tokens int) *working.Memory {
	mem, err := working.New(m.ctx, &working.Config{
		Sessions: m.w.db, Backend: back, Clock: m.w.clock.Now, Sweep: -1, Idle: time.Hour, MaxTurns: turns, MaxTokens: tokens, MaxAttempts: 2,
	})
	require.NoError(m.t, err)
	return mem
}

// meet lets an Add meet its fate.
func (m *model) meet(proc int, when string) error {
	fate := m.fate
	if fate == "" || fate[:len(fate)-2] != when {
		return nil
	}
	m.fate = ""
	switch fate[len(fate)-1] {
	case 'm':
		return backends.ErrModel
	case 'u':
		return backends.ErrUnavailable
	}
	// 't': it stands still for so long that the other takes over
	m.w.clock.Advance(time.Minute)
	_, err := m.procs[1-proc].Consolidate(m.ctx, ann)
	require.True(m.t, err == nil || len(m.bad) > 0, "failed without a cause: %v", err)
	return nil
}

func (m *model) poisoned(r *backends.AddRequest) error {
	for _, msg := range r.Messages {
		if m.bad[msg.Turn] {
			return backends.ErrModel
		}
	}
	return nil
}

func (m *model) append(turn int, done bool) {
	if turn == len(m.turns) {
		m.turns, m.done = append(m.turns, 0), append(m.done, false)
	}
	msg := schema.UserMessage("xxxx")
	err := m.pen.Append(m.ctx, &working.Turn{Scope: ann, ID: fmt.Sprint("t", turn), First: m.turns[turn], Messages: []*schema.Message{msg}, Done: done})
	require.NoError(m.t, err)
	m.turns[turn]++
	m.done[turn] = done
}

func (m *model) consolidate(proc int, fate string) {
	m.fate = fate
	_, err := m.procs[proc].Consolidate(m.ctx, ann)
	m.fate = ""
	if err != nil {
		require.True(m.t, fate != "" || len(m.bad) > 0, "failed without a cause: %v", err)
	}
}

// check: every message before the watermark was learnt from exactly once, or is
// among the failures; and none after it.
func (m *model) check() {
	p, err := ann.Speaker()
	require.NoError(m.t, err)
	if len(m.turns) == 0 {
		return
	}
	s := m.w.session(ann)
	into, err := m.backs[0].partition(ann)
	require.NoError(m.t, err)
	got := learnt(m.t, m.w.db, into)
	entries := m.w.entries(ann)
	for _, e := range entries {
		times := got[e.ID]
		failed := false
		for _, f := range s.Failures {
			failed = failed || f.From <= e.Seq && e.Seq <= f.Upto
		}
		switch {
		case failed:
			require.LessOrEqual(m.t, times, 1, e.ID) // stored, and the answer lost each time
		case e.Seq <= s.Watermark:
			require.Equal(m.t, 1, times, "%s of %s before the watermark", e.ID, p)
		case e.Seq > s.Retry.Upto:
			require.Zero(m.t, times, "%s after the watermark", e.ID)
		}
	}
}

// ordered: what was stored in the order of the log, but for failures tried again.
func (m *model) ordered() {
	seq := make(map[string]int64)
	for _, e := range m.w.entries(ann) {
		seq[e.ID] = e.Seq
	}
	for _, b := range m.backs {
		last := int64(0)
		for _, ids := range b.stored() {
			for _, id := range ids {
				require.Greater(m.t, seq[id], last, "in order")
				last = seq[id]
			}
		}
	}
}

func TestWhateverHappensEachMessageIsLearntOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workspace := rapid.SampledFrom([]string{"", "team"}).Draw(rt, "workspace")
		c := newClock()
		db, err := sqlitestore.Open(context.Background(), ":memory:", &sqlitestore.Config{Clock: c.Now, Synchronous: sqlitestore.Normal})
		require.NoError(rt, err)
		defer db.Close()
		m := newModel(rt, db, c, workspace)
		defer func() {
			for _, p := range append(m.procs, m.pen) {
				require.NoError(rt, p.Close(m.ctx))
			}
		}()
		proc := func() int { return rapid.IntRange(0, 1).Draw(rt, "process") }
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				m.append(rapid.IntRange(max(0, len(m.turns)-2), len(m.turns)).Draw(rt, "turn"), rapid.Bool().Draw(rt, "done"))
			},
			"consolidate": func(rt *rapid.T) {
				fates := []string{"", "", "", "before-m", "before-m", "before-u", "before-t", "after-u", "after-t"}
				if workspace == "" { // elsewhere, an error but ErrUnavailable says that nothing was stored
					fates = append(fates, "after-m")
				}
				m.consolidate(proc(), rapid.SampledFrom(fates).Draw(rt, "fate"))
			},
			"poison": func(rt *rapid.T) {
				if n := len(m.turns); n > 0 {
					m.bad[fmt.Sprint("t", rapid.IntRange(max(0, n-4), n-1).Draw(rt, "turn"))] = true
				}
			},
			"heal": func(*rapid.T) { clear(m.bad) },
			"wait": func(rt *rapid.T) {
				m.w.clock.Advance(time.Duration(rapid.IntRange(1, 150).Draw(rt, "seconds")) * time.Second)
			},
			"": func(*rapid.T) { m.check() },
		})
		m.ordered()

		// In the end all of it is learnt, once.
		clear(m.bad)
		m.w.clock.Advance(time.Hour)
		m.consolidate(0, "")
		require.NoError(rt, m.procs[1].RetryFailures(m.ctx, ann))
		m.check()
		if len(m.turns) > 0 {
			s := m.w.session(ann)
			require.Equal(rt, s.LastSeq, s.Watermark)
			require.Empty(rt, s.Failures)
		}
	})
}
