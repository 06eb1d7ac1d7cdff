// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"sync/atomic"
	"time"
)

// Stats are the numbers of one Memory since it was made. They say nothing of
// other processes.
type Stats struct {
	Queued   int       // recorded turns that wait to be appended
	Sessions int       // sessions with turns that were appended here and not learnt from yet
	Oldest   time.Time // since when the oldest of those waits; zero: none does

	Appended     int64 // turns, or pieces of turns, written to the log
	Consolidated int64 // batches learnt from
	Failed       int64 // calls of the backend that failed
	GivenUp      int64 // batches put among the failures
}

// counters are the numbers that only rise.
type counters struct{ appended, consolidated, failed, givenUp atomic.Int64 }

// Stats returns the numbers of now. It works on a closed Memory, too.
func (m *Memory) Stats() Stats {
	s := Stats{
		Queued: len(m.queue.slots), Appended: m.counters.appended.Load(), Consolidated: m.counters.consolidated.Load(),
		Failed: m.counters.failed.Load(), GivenUp: m.counters.givenUp.Load(),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Sessions = len(m.backlogs)
	for _, b := range m.backlogs {
		if s.Oldest.IsZero() || b.since.Before(s.Oldest) {
			s.Oldest = b.since
		}
	}
	return s
}
