// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWorklistGivesAKeyToOneWorkerAtATime(t *testing.T) {
	w := newWorklist[int]()
	var running [4]atomic.Int32
	var seen [4]atomic.Int32
	var workers, adders sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for {
				k, ok := w.get()
				if !ok {
					return
				}
				assert.EqualValues(t, 1, running[k].Add(1))
				seen[k].Add(1)
				running[k].Add(-1)
				w.done(k)
			}
		})
	}
	for range 8 {
		adders.Go(func() {
			for i := range 200 {
				w.add(i % 4)
			}
		})
	}
	adders.Wait()
	w.close()
	workers.Wait()
}

func TestWorklistHoldsAKeyOnceAndAgain(t *testing.T) {
	w := newWorklist[string]()
	w.add("a")
	w.add("b")
	w.add("a")
	k, _ := w.get()
	assert.Equal(t, "a", k)
	w.add("a") // while it is worked on
	w.add("a")
	w.done("a")
	k, _ = w.get()
	assert.Equal(t, "b", k)
	w.done("b")
	k, _ = w.get()
	assert.Equal(t, "a", k, "what was added during the work comes again")
	w.done("a")
	assert.Empty(t, w.items)
	assert.Empty(t, w.states)
}

func TestWorklistAfter(t *testing.T) {
	w := newWorklist[string]()
	w.after("late", time.Hour)
	w.after("soon", time.Hour)
	w.after("soon", time.Millisecond) // the last word counts
	k, _ := w.get()
	assert.Equal(t, "soon", k)
	w.done(k)
	w.after("late", 0)
	k, _ = w.get()
	assert.Equal(t, "late", k)
	assert.Empty(t, w.timers)
	w.after("cancelled", time.Hour)
	w.cancel("cancelled")
	assert.Empty(t, w.timers)
	w.after("never", time.Hour)
	w.close()
	assert.Empty(t, w.timers)
	w.after("never", 0)
	_, ok := w.get()
	assert.False(t, ok)
}
