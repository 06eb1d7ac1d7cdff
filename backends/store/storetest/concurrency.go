// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// together calls fn n times at the same time, each time with the next handle, and
// returns the errors.
func (e *env) together(n int, fn func(i int, e *env) error) []error {
	errs, start := make([]error, n), make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = fn(i, e.handle(i))
		})
	}
	close(start)
	all.Wait()
	return errs
}

// allTogether is together where every call must succeed.
func (e *env) allTogether(n int, fn func(i int, e *env) error) {
	e.Helper()
	for _, err := range e.together(n, fn) {
		require.NoError(e, err)
	}
}

// tryAppend appends to the session "s".
func (e *env) tryAppend(a *store.Append) error { return errOf(e.Append(e.ctx, e.p, "s", a)) }

var concurrencyBehaviours = []behaviour{
	{"writers leave no gap and lose nothing", func(e *env) {
		const writers, turns = 16, 8
		e.apply(put("count", "x"))
		e.allTogether(writers, func(w int, e *env) error {
			for i := range turns {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := errOf(e.Apply(e.ctx, e.p, batch(store.Increment("count", "n", 1), put(id, id)))); err != nil {
					return err
				}
				if err := e.tryAppend(&store.Append{Entries: []store.Entry{message(id+"a", id), message(id+"b", id)}, Learnt: true}); err != nil {
					return err
				}
				if err := errOf(e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Summary: ptr(id)})); err != nil {
					return err
				}
			}
			return nil
		})
		require.Equal(e, float64(writers*turns), e.one("count").Metadata["n"])
		x := e.index().follow()
		require.Len(e, x.records, writers*turns+1)
		require.Equal(e, int64(writers*turns+1), x.version)
		require.Equal(e, e.state(), e.handle(1).state(), "every handle reads the same")
		require.Equal(e, e.partitions(0), e.handle(1).partitions(0))

		got := e.read("s", store.Range{})
		require.Len(e, got, writers*turns*2)
		next := map[int]int{}
		for i := 0; i < len(got); i += 2 {
			require.Equal(e, []int64{int64(i + 1), int64(i + 2)}, seqs(got[i:i+2]))
			require.Equal(e, got[i].Content+"a", got[i].ID)
			require.Equal(e, got[i].Content+"b", got[i+1].ID, "the two of one call stand together")
			var w, turn int
			require.NoError(e, errOf(fmt.Sscanf(got[i].Content, "%d-%d", &w, &turn)))
			require.Equal(e, next[w], turn, "each writer's turns are in its order")
			next[w]++
		}
		s := e.session("s")
		require.Equal(e, []int64{writers * turns * 2, writers * turns * 2}, []int64{s.Watermark, s.LastSeq}, "what was learnt leaves nothing pending")
		require.Empty(e, e.list(store.SessionQuery{Pending: true}))
	}},
	{"writers of the same messages store them once", func(e *env) {
		const n = 12
		e.allTogether(16, func(w int, e *env) error {
			for i := range n {
				if err := e.tryAppend(&store.Append{Entries: []store.Entry{message(fmt.Sprint((i+w)%n), "x")}}); err != nil {
					return err
				}
			}
			return nil
		})
		got := e.read("s", store.Range{})
		require.Len(e, got, n)
		for i, entry := range got {
			require.Equal(e, int64(i+1), entry.Seq)
		}
	}},
	{"of calls that exclude each other one succeeds", func(e *env) {
		v := e.append("s", message("m1", "hi")).Version
		update := &store.SessionUpdate{Session: "s", Version: v, Summary: ptr("x")}
		for _, exclusive := range []struct {
			name string
			call func(i int, e *env) error
		}{
			{"puts that create", func(_ int, e *env) error {
				return errOf(e.Apply(e.ctx, e.p, batch(expecting(put("a", "x"), store.MustNotExist))))
			}},
			{"updates of one version", func(_ int, e *env) error { return errOf(e.Update(e.ctx, e.p, update)) }},
			{"requests for a lease", func(i int, e *env) error { return errOf(e.Update(e.ctx, e.p, lease(fmt.Sprint("w", i)))) }},
			{"requests for an expired lease", func(i int, e *env) error { return errOf(e.Update(e.ctx, e.p, lease(fmt.Sprint("v", i)))) }},
		} {
			succeeded := 0
			for _, err := range e.together(16, exclusive.call) {
				if err == nil {
					succeeded++
					continue
				}
				require.ErrorIs(e, err, backends.ErrConflict, exclusive.name)
			}
			require.Equal(e, 1, succeeded, exclusive.name)
			e.clock.pass(time.Minute)
		}
		require.Len(e, e.history("a"), 1)
	}},
}
