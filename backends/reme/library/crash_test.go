// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
)

// The workspaces of before and after a load: some ids are in both.
var (
	before = many("a", 3) + task("both", "w", "before")
	after  = many("b", 50) + task("both", "w", "after")
)

// staging makes the load one of three blobs.
const staging = 20

// disaster is one way in which the nth call of the store goes wrong.
type disaster struct {
	name string
	make func(f *faulty, n int)
}

var errAway = fmt.Errorf("the store is away: %w", backends.ErrUnavailable)

var disasters = []disaster{
	{"the process dies before the call", func(f *faulty, n int) {
		f.before = func(call int, _ string) error { return failIf(call >= n) }
	}},
	{"the process dies after the call", func(f *faulty, n int) {
		f.before = func(call int, _ string) error { return failIf(call > n) }
		f.after = func(call int, _ string) error { return failIf(call == n) }
	}},
	{"one call fails", func(f *faulty, n int) {
		f.before = func(call int, _ string) error { return failIf(call == n) }
	}},
	{"the answer of one call is lost", func(f *faulty, n int) {
		f.after = func(call int, _ string) error { return failIf(call == n) }
	}},
}

func failIf(fails bool) error {
	if fails {
		return errAway
	}
	return nil
}

// Whatever goes wrong at whichever call of the store, the workspace is as it was or
// loaded whole: at once where the load says which, and else after a Resume. The next
// load then does as if nothing had been.
func TestR21LoadsAreAllOrNothing(t *testing.T) {
	for _, d := range disasters {
		t.Run(d.name, func(t *testing.T) {
			t.Run("at once", func(t *testing.T) { everyCall(t, d, 0) })
			t.Run("staged", func(t *testing.T) { everyCall(t, d, staging) })
		})
	}
}

func everyCall(t *testing.T, d disaster, oneBatch int) {
	for n := 1; ; n++ {
		w := open(t, options{})
		w.load(shop, before)
		was := w.all(shop)
		f := &faulty{Store: w.store}
		d.make(f, n)
		dying := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: oneBatch}})
		got, err := dying.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(after))
		if f.calls < n {
			require.NoError(t, err)
			require.Greater(t, n, 4)
			return
		}
		at := fmt.Sprintf("call %d: %v", n, err)
		next := open(t, options{store: w.store, clock: w.clock})
		if err == nil || strings.Contains(err.Error(), "it is as it was)") {
			require.Equal(t, err == nil, whole(t, next, was), at)
		} else {
			require.ErrorIs(t, err, backends.ErrUnavailable)
		}
		if got.Committed {
			_, err := next.Dump(w.ctx, &library.DumpRequest{Scope: shop}, &strings.Builder{})
			if st, serr := w.store.Session(w.ctx, partition(shop), library.SessionID); serr == nil && st.Summary != "" {
				require.ErrorIs(t, err, backends.ErrConflict, "no dump of half a load: "+at)
			}
		}
		w.clock.pass(library.LeaseFor)
		resumed, rerr := next.Resume(w.ctx, shop)
		require.NoError(t, rerr, at)
		require.False(t, resumed.Cleared && resumed.Finished > 0)
		require.True(t, whole(t, next, was) || !got.Committed && resumed.Finished == 0, at)
		next.nothingStaged(shop)
		require.Equal(t, 2, next.load(shop, many("c", 2)).Loaded, at)
		require.Equal(t, []string{"c0", "c1"}, next.ids(shop))
	}
}

// whole reports whether the workspace is loaded whole, and proves that it is as it
// was if it is not.
func whole(t *testing.T, w *world, was map[string]backends.Memory) bool {
	t.Helper()
	all := w.all(shop)
	if _, loaded := all["b0"]; !loaded {
		require.Equal(t, was, all)
		return false
	}
	require.Len(t, all, 51)
	require.Equal(t, "after", all["both"].Text)
	return true
}

// Until a staged load is decided searches find what was there, and from then on
// never too few.
func TestR21WhatSearchesSeeOfAStagedLoad(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	was := w.ids(shop)
	f := &faulty{Store: w.store}
	decided, moved := false, 0
	f.after = func(_ int, name string) error {
		st, err := w.store.Session(w.ctx, partition(shop), library.SessionID)
		require.NoError(t, err)
		decided = decided || st.Summary != ""
		ids := w.ids(shop)
		if !decided {
			require.Equal(t, was, ids)
		} else if name == "Apply" {
			require.GreaterOrEqual(t, len(ids), moved)
			if len(ids) < 51 {
				require.Subset(t, ids, was)
			}
			moved = min(len(ids), 51)
		}
		return nil
	}
	loading := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	loading.load(shop, after)
	require.True(t, decided)
	require.True(t, whole(t, w, nil))
}

// Cancelling has its effect before the decision, and none after it.
func TestR21CancelledAtEveryCall(t *testing.T) {
	for n := 1; ; n++ {
		w := open(t, options{})
		w.load(shop, before)
		was := w.all(shop)
		ctx, cancel := context.WithCancel(w.ctx)
		f := &faulty{Store: w.store}
		f.before = func(call int, _ string) error {
			if call == n {
				cancel()
			}
			return nil
		}
		l := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
		_, err := l.Load(ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(after))
		if cancel(); f.calls < n {
			require.NoError(t, err)
			return
		}
		require.Equal(t, err == nil, whole(t, w, was), "%d: %v", n, err)
		w.nothingStaged(shop)
	}
}

// The embedder may fail at any text.
func TestR21EmbedderOutages(t *testing.T) {
	for _, oneBatch := range []int{0, staging} {
		for _, n := range []int{1, 21, 50, 51} {
			e := &embedder{}
			w := open(t, options{embedder: e, config: library.Config{OneBatch: oneBatch}})
			w.load(shop, before)
			was, used := w.all(shop), e.count()
			e.fail = func(texts int) error { return failIf(texts-used >= n) } // at once: in its one call
			_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(after))
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.Equal(t, was, w.all(shop))
			w.nothingStaged(shop)
			e.fail = nil
			require.Equal(t, 51, w.load(shop, after).Loaded)
		}
	}
}

// A process that was only slow is refused when another one took over.
func TestR21ASlowLoadIsRefused(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	f.before = func(call int, name string) error {
		if name == "PutBlob" && f.calls > 0 {
			f.before = nil
			w.clock.pass(2 * library.LeaseFor)
			require.Equal(t, 2, w.load(shop, many("c", 2)).Loaded, "it counts as dead")
		}
		return nil
	}
	slow := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	_, err := slow.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(after))
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Equal(t, []string{"c0", "c1"}, w.ids(shop))
	require.Equal(t, 4, w.load(shop, before).Loaded)
}

// One that was silent for long goes on if nobody came in between.
func TestR21ASilentLoadGoesOn(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	puts := 0
	f.before = func(_ int, name string) error {
		if name == "PutBlob" {
			if puts++; puts <= 4 { // three of memories, one of ids
				w.clock.pass(2 * library.LeaseFor)
			}
		}
		return nil
	}
	silent := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	silent.load(shop, after)
	require.True(t, whole(t, w, nil))
	w.nothingStaged(shop)
}

// When it gives up, it leaves alone what the other one has put aside.
func TestR21ASlowLoadLeavesItsSuccessorAlone(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	stalled, goOn, failed := make(chan bool), make(chan bool), make(chan bool)
	slowStore := &faulty{Store: w.store}
	puts := 0
	slowStore.before = func(_ int, name string) error {
		if name == "PutBlob" {
			if puts++; puts == 2 {
				stalled <- true
				<-goOn
			}
		}
		return nil
	}
	slow := open(t, options{store: slowStore, clock: w.clock, config: library.Config{OneBatch: staging}})
	var slowErr error
	go func() {
		_, slowErr = slow.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(many("slow", 100)))
		close(failed)
	}()
	<-stalled
	w.clock.pass(2 * library.LeaseFor)
	f := &faulty{Store: w.store}
	f.before = func(_ int, name string) error {
		if name == "GetBlob" && goOn != nil { // decided: all that is put aside is needed
			close(goOn)
			<-failed
			goOn = nil
		}
		return nil
	}
	next := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	next.load(shop, after)
	require.ErrorIs(t, slowErr, backends.ErrConflict)
	require.True(t, whole(t, w, nil))
	_, err := w.Resume(w.ctx, shop)
	require.NoError(t, err)
}

// While a load is under way others are told so.
func TestR21OneLoadAtATime(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	tried := false
	f.before = func(_ int, name string) error {
		if name == "PutBlob" && !tried {
			tried = true
			for _, oneBatch := range []int{0, 1} {
				other := open(t, options{store: w.store, clock: w.clock, config: library.Config{OneBatch: oneBatch}})
				_, err := other.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(many("c", 2)))
				require.ErrorIs(t, err, backends.ErrConflict)
				_, err = other.Resume(w.ctx, shop)
				require.ErrorIs(t, err, backends.ErrConflict)
				_, err = other.Delete(w.ctx, &library.DeleteRequest{Scope: shop})
				require.ErrorIs(t, err, backends.ErrConflict)
				require.Equal(t, 2, other.load(lab, many("c", 2)).Loaded, "other workspaces are free")
			}
		}
		return nil
	}
	loading := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	loading.load(shop, after)
	require.True(t, tried)
	require.True(t, whole(t, w, nil))
}

// Loads at the same time leave one of them, whole.
func TestR21LoadsTogether(t *testing.T) {
	w := open(t, options{})
	const n = 6
	errs := make(chan error, n)
	for i := range n {
		go func() {
			l, err := library.New(&library.Config{Keeper: w.keeper, OneBatch: []int{4000, 3}[i%2]})
			if err == nil {
				_, err = l.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(many(fmt.Sprint("l", i, "-"), 20)))
			}
			errs <- err
		}()
	}
	good := 0
	for range n {
		if err := <-errs; err == nil {
			good++
		} else {
			require.ErrorIs(t, err, backends.ErrConflict)
		}
	}
	require.Positive(t, good)
	ids := w.ids(shop)
	require.Len(t, ids, 20)
	for _, id := range ids {
		require.Equal(t, ids[0][:3], id[:3])
	}
	w.nothingStaged(shop)
}

// What agents learn while a load is decided stays; the counts of a memory go on.
func TestR21LearningBesideAStagedLoad(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	learnt := false
	f.after = func(_ int, name string) error {
		if st, err := w.store.Session(w.ctx, partition(shop), library.SessionID); err == nil && st.Summary != "" && !learnt {
			learnt = true
			w.put(shop, backends.Memory{ID: "new", Kind: backends.KindTask, Text: "learnt after the decision"})
			_, err := w.store.Apply(w.ctx, partition(shop), &store.Batch{Mutations: []store.Mutation{store.Increment("a0", "freq", 1)}})
			require.NoError(t, err)
		}
		return nil
	}
	loading := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	loading.load(shop, after)
	require.True(t, learnt)
	all := w.all(shop)
	require.Contains(t, all, "new")
	require.NotContains(t, all, "a0", "one that the load replaces goes, used meanwhile or not")
	require.Len(t, all, 52)
}

// What a dead load wrote already is not written over what was learnt since.
func TestR21ResumedLoadsWriteNothingTwice(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	applied := 0
	f.before = func(_ int, name string) error {
		if name == "Apply" {
			applied++
		}
		return failIf(applied > 2) // the decision, and the first batch
	}
	dying := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}})
	got, err := dying.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(after))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.True(t, got.Committed)
	_, err = w.store.Apply(w.ctx, partition(shop), &store.Batch{Mutations: []store.Mutation{store.Increment("b0", "freq", 1), store.Delete("b1")}})
	require.NoError(t, err)
	w.clock.pass(library.LeaseFor)
	resumed, err := w.Resume(w.ctx, shop)
	require.NoError(t, err)
	require.Equal(t, &library.ResumeResponse{Finished: 51}, resumed)
	all := w.all(shop)
	require.Len(t, all, 50)
	require.Equal(t, 1.0, all["b0"].Metadata["freq"])
}

// A load that comes between the look and the write of another is replaced by it, not
// mixed with it.
func TestR21ALoadBetweenLookAndWrite(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	between := 0
	f.before = func(_ int, name string) error {
		if name == "Apply" && between < 2 {
			between++
			w.load(shop, many(fmt.Sprint("between", between, "-"), 3))
		}
		return nil
	}
	slow := open(t, options{store: f, clock: w.clock})
	require.Equal(t, &library.LoadResponse{Loaded: 51, Removed: 3}, slow.load(shop, after))
	require.True(t, whole(t, w, nil))
}
