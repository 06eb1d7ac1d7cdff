// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

func TestADeadOwnersLeaseIsTakenOver(t *testing.T) {
	w := newWorld(t)
	w.append(say("a", ann))
	p, _ := ann.Speaker()
	dead, err := w.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "dead", For: 30 * time.Second}})
	require.NoError(t, err)

	w = w.restart(func(w *world) { w.cfg.Idle = 1 })
	w.clock.Advance(30*time.Second - 1)
	w.sweep()
	assert.Empty(t, w.back.stored())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = w.mem.Consolidate(ctx, ann) // waits for the other
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, backends.ErrConflict)

	w.clock.Advance(1)
	w.sweep()
	assert.Len(t, w.back.stored(), 1)
	assert.Greater(t, w.session(ann).Lease.Token, dead.Lease.Token)
	_, err = w.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Token: dead.Lease.Token, Summary: new(string)})
	require.ErrorIs(t, err, backends.ErrConflict, "the dead owner, should it wake up, is refused")
}

// TestTheSlowerOneIsRefused pauses a process in the middle of a model call for so
// long that another takes its session over.
func TestTheSlowerOneIsRefused(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		slow := newWorld(t)
		fast := joinWorld(t, slow.db, slow.clock)
		slow.back.workspace, fast.back.workspace = workspace, workspace
		slow.append(say("a", ann))
		slow.back.before = func(context.Context, *backends.AddRequest) error {
			slow.back.before = nil
			slow.clock.Advance(time.Minute) // its renewals, too, came to a halt
			fast.append(say("b", ann))      // a longer stretch than the slow one has
			fast.consolidate(ann)
			return nil
		}
		slow.consolidate(ann)
		p, _ := slow.back.partition(ann)
		assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, learnt(t, slow.db, p))
		assert.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, fast.back.stored(), "the stretch that was begun comes first")
		assert.EqualValues(t, 4, slow.session(ann).Watermark)
		assert.Zero(t, slow.session(ann).Retry)
		assert.Zero(t, slow.mem.Stats().GivenUp)
	}
}

func TestTheLeaseIsRenewedWhileTheModelWorks(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Lease = 3 * time.Millisecond })
	renewed := make(chan struct{}, 1000)
	w.append(say("a", ann))
	w.back.before = func(context.Context, *backends.AddRequest) error {
		for len(renewed) > 0 {
			<-renewed
		}
		for range 5 {
			<-renewed
		}
		return nil
	}
	w.log.after = func(op string, arg any) error {
		if u, ok := arg.(*store.SessionUpdate); ok && op == "update" && u.Acquire != nil && u.Retry == nil {
			renewed <- struct{}{}
		}
		return nil
	}
	w.consolidate(ann)
	assert.Len(t, w.back.stored(), 1)
}

func TestAModelCallEndsWhenItsSessionIsErased(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Lease = 3 * time.Millisecond })
	w.append(say("a", ann))
	p, _ := ann.Speaker()
	w.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
		_, err := w.db.Drop(context.Background(), p)
		assert.NoError(t, err)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	assert.Empty(t, w.consolidate(ann).Items)
	assert.Empty(t, learnt(t, w.db, p), "nobody is remembered who asked to be forgotten")
	assert.Zero(t, w.mem.Stats().Sessions)
}

// TestASessionThatComesAgainIsLearntFrom deletes a session and uses its id again:
// its numbers start at 1 again, and its keys must not be those of before.
func TestASessionThatComesAgainIsLearntFrom(t *testing.T) {
	w := newWorld(t)
	p, _ := ann.Speaker()
	for range 2 {
		w.append(say("a", ann))
		resp := w.consolidate(ann)
		assert.False(t, resp.Replayed)
		require.NoError(t, w.db.Delete(t.Context(), p, "s1"))
		w.clock.Advance(time.Second)
	}
	assert.Equal(t, map[string]int{"a-0": 2, "a-1": 2}, learnt(t, w.db, p))
}

func TestProcessesShareTheWork(t *testing.T) {
	path := t.TempDir() + "/memory.db"
	const sessions, turns = 6, 12
	scopes := make([]backends.Scope, sessions)
	var worlds []*world
	for range 2 {
		c := newClock()
		w := joinWorld(t, openStore(t, path, backends.SystemClock), c, func(w *world) {
			w.cfg.Clock, w.cfg.Idle, w.cfg.MaxTurns, w.cfg.Backoff, w.cfg.Sweep = nil, time.Millisecond, 3, time.Millisecond, 5*time.Millisecond
		})
		worlds = append(worlds, w)
	}
	var wg sync.WaitGroup
	for i := range scopes {
		scopes[i] = backends.Scope{UserID: "ann", SessionID: string(rune('a' + i))}
		for n, w := range worlds {
			wg.Go(func() {
				for k := range turns {
					turn := say(string(rune('a'+i))+string(rune('0'+n))+"-"+string(rune('a'+k)), scopes[i])
					assert.NoError(t, w.mem.Record(t.Context(), turn))
					if k%5 == 4 {
						_, err := w.mem.Consolidate(t.Context(), scopes[i])
						assert.NoError(t, err)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, w := range worlds {
		require.NoError(t, w.mem.Flush(t.Context()))
	}
	p, _ := scopes[0].Speaker()
	counts := learnt(t, worlds[0].db, p)
	assert.Len(t, counts, sessions*turns*2*2)
	for id, n := range counts {
		assert.Equal(t, 1, n, id)
	}
}
