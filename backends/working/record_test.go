// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
)

func TestRecordKeepsTheOrderOfEachSession(t *testing.T) {
	const writers, sessions, turns = 32, 16, 3
	w := newWorld(t, func(w *world) { w.cfg.Queue, w.cfg.Workers = 8, 4 }) // full most of the time
	scope := func(s int) backends.Scope {
		return backends.Scope{UserID: fmt.Sprint("user", s%3), SessionID: fmt.Sprint("s", s)}
	}
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range turns {
				for s := g % 2; s < sessions; s += 2 {
					assert.NoError(t, w.mem.Record(context.Background(), say(fmt.Sprintf("%02d.%02d", g, i), scope(s))))
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, w.mem.Flush(t.Context()))
	for s := range sessions {
		last := map[string]string{}
		entries := w.entries(scope(s))
		assert.Len(t, entries, writers/2*turns*2)
		for _, e := range entries {
			writer := e.ID[:2]
			assert.Greater(t, e.ID, last[writer], "each writer's turns are in its order")
			last[writer] = e.ID
		}
		session := w.session(scope(s))
		assert.Equal(t, session.LastSeq, session.Watermark)
	}
	assert.Equal(t, int64(writers*sessions/2*turns), w.mem.Stats().Appended)
	assert.Zero(t, w.mem.Stats().Sessions)
}

// blocked makes the log's appends wait until release is called. The first one is
// made, and waits, when it returns.
func blocked(w *world, first *working.Turn) (release func()) {
	gate, entered := make(chan struct{}), make(chan struct{}, 1000)
	w.log.before = func(op string, _ any) error {
		if op == "append" {
			entered <- struct{}{}
			<-gate
		}
		return nil
	}
	require.NoError(w.t, w.mem.Record(context.Background(), first))
	<-entered
	return func() { close(gate) }
}

func TestRecordWaitsOnlyWhenTheQueueIsFull(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Queue = 2 })
	release := blocked(w, say("a", ann))
	require.NoError(t, w.mem.Record(t.Context(), say("b", ann)))
	assert.Equal(t, 2, w.mem.Stats().Queued)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.mem.Record(ctx, say("c", ann))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, `turn "c": the queue of 2 turns is full`)

	waiting := make(chan error)
	go func() { waiting <- w.mem.Record(t.Context(), say("d", ann)) }()
	release()
	require.NoError(t, <-waiting)
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Equal(t, [][]string{{"a-0", "a-1", "b-0", "b-1", "d-0", "d-1"}}, w.back.stored())
}

func TestRecordTakesACopy(t *testing.T) {
	w := newWorld(t)
	release := blocked(w, say("first", ann))
	turn := say("a", ann)
	require.NoError(t, w.mem.Record(t.Context(), turn))
	turn.Messages[0].Content = "changed"
	turn.Messages[1] = schema.UserMessage("changed")
	release()
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Equal(t, "question a", w.entries(ann)[2].Content)
	assert.Equal(t, "answer a", w.entries(ann)[3].Content)
}

func TestAppendComesAfterWhatWasRecorded(t *testing.T) {
	w := newWorld(t)
	release := blocked(w, say("a", ann))
	require.NoError(t, w.mem.Record(t.Context(), say("b", ann)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.mem.Append(ctx, say("c", ann)), context.DeadlineExceeded)
	release()
	w.append(say("c", ann))
	got := w.entries(ann)
	assert.Equal(t, []string{"a-0", "b-0", "c-0"}, []string{got[0].ID, got[2].ID, got[4].ID})
}

func TestAppendsThatFailAreTriedAgainInOrder(t *testing.T) {
	failures := 5
	done := make(chan struct{})
	w := newWorld(t, func(w *world) {
		w.cfg.Backoff, w.cfg.Workers = time.Millisecond, 1
		w.log.before = func(op string, _ any) error {
			if op != "append" || failures == 0 {
				return nil
			}
			failures--
			return fmt.Errorf("disk: %w", backends.ErrUnavailable)
		}
		w.log.after = func(op string, arg any) error {
			if op == "append" && w.mem.Stats().Appended == 1 {
				close(done)
			}
			return nil
		}
	})
	require.NoError(t, w.mem.Record(t.Context(), say("a", ann)))
	require.NoError(t, w.mem.Record(t.Context(), say("b", ann)))
	err := <-w.errs
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.ErrorContains(t, err, `append: appending turn "a"`)
	assert.ErrorContains(t, err, "3 times; it is kept in memory and tried again")
	<-done
	require.NoError(t, w.mem.Flush(t.Context()))
	got := w.entries(ann)
	require.Len(t, got, 4)
	assert.Equal(t, "a-0", got[0].ID)
	assert.Empty(t, w.errs, "reported once in three failures")
}

func TestFlushAndAppendDoNotWaitForThePause(t *testing.T) {
	away := true
	tried := make(chan struct{}, 100)
	w := newWorld(t, func(w *world) {
		w.cfg.Backoff = time.Hour
		w.log.before = func(op string, _ any) error {
			if op == "append" && away {
				tried <- struct{}{}
				return backends.ErrUnavailable
			}
			return nil
		}
	})
	require.NoError(t, w.mem.Record(t.Context(), say("a", ann)))
	<-tried
	require.NoError(t, w.mem.Record(t.Context(), say("later", ann)))
	err := w.mem.Append(t.Context(), say("b", ann))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "an earlier one comes first")
	require.ErrorIs(t, w.mem.Flush(t.Context()), backends.ErrUnavailable)
	_, err = w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, 2, w.mem.Stats().Queued)
	assert.Len(t, tried, 3, "each of them tried once; a turn that is recorded behind does not")
	away = false
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Zero(t, w.mem.Stats().Queued)
	assert.Equal(t, [][]string{{"a-0", "a-1", "later-0", "later-1"}}, w.back.stored())
}

func TestATurnThatTheStoreRefusesForGoodIsReportedAndDropped(t *testing.T) {
	w := newWorld(t)
	w.log.before = func(op string, arg any) error {
		if op == "append" && len(w.errs) == 0 {
			return fmt.Errorf("no such encoding: %w", backends.ErrInvalid)
		}
		return nil
	}
	require.NoError(t, w.mem.Record(t.Context(), say("a", ann)))
	require.NoError(t, w.mem.Record(t.Context(), say("b", ann)))
	require.NoError(t, w.mem.Flush(t.Context()))
	err := <-w.errs
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.ErrorContains(t, err, `turn "a"`)
	assert.Equal(t, [][]string{{"b-0", "b-1"}}, w.back.stored())
}

func TestConsolidateAppendsWhatIsRecorded(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		require.NoError(t, w.mem.Record(t.Context(), say(id, ann)))
		assert.Len(t, w.consolidate(ann).Items, 2, "this is AwaitWrite")
	}
}

func TestConfigIsChecked(t *testing.T) {
	w := newWorld(t)
	for name, cfg := range map[string]*working.Config{
		"nil":        nil,
		"sessions":   {Backend: w.back},
		"backend":    {Sessions: w.db},
		"max turns":  {Sessions: w.db, Backend: w.back, MaxTurns: -1},
		"lease":      {Sessions: w.db, Backend: w.back, Lease: -1},
		"idle":       {Sessions: w.db, Backend: w.back, Idle: -time.Second},
		"open turns": {Sessions: w.db, Backend: w.back, OpenTurn: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := working.New(t.Context(), cfg)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	before := w.cfg
	assert.Zero(t, before.MaxTurns, "the caller's config is not changed")
}
