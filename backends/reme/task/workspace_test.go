// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

// Workspaces know nothing of each other, whatever the call and whatever the id.
func TestR22WorkspacesAreIsolated(t *testing.T) { eachStore(t, onR22WorkspacesAreIsolated) }

func onR22WorkspacesAreIsolated(t *testing.T, st store.Store) {
	w := open(t, on(st))
	id := w.summarize(login).Memories[0].ID
	before := w.version()
	other := backends.Scope{Workspace: "inn"}
	for _, scope := range []backends.Scope{other, {Namespace: "tenant", Workspace: "shop"}} {
		resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: scope, Trajectories: attempts(login)})
		require.NoError(t, err)
		require.Len(t, resp.Memories, 1, "known elsewhere is not known here")
		assert.NotEqual(t, id, resp.Memories[0].ID)
		counted, err := w.Record(ctx, &task.RecordRequest{Scope: scope, IDs: []string{id}})
		require.NoError(t, err)
		assert.Equal(t, []string{id}, counted.Unknown)
		for range 5 {
			_, err = w.Record(ctx, &task.RecordRequest{Scope: scope, IDs: []string{resp.Memories[0].ID}})
			require.NoError(t, err)
		}
		gone, err := w.Forget(ctx, &task.ForgetRequest{Scope: scope})
		require.NoError(t, err)
		assert.Len(t, gone.Deleted, 1)
	}
	assert.Equal(t, before, w.version())
	assert.Equal(t, []string{what(login)}, w.active())
}

// What holds no more is no reason not to learn it again.
func TestWhatHoldsNoMoreIsLearntAnew(t *testing.T) {
	eachStore(t, onWhatHoldsNoMoreIsLearntAnew)
}

func onWhatHoldsNoMoreIsLearntAnew(t *testing.T, st store.Store) {
	ended := start.Add(-time.Minute)
	for name, leave := range map[string]func(w *world, id string){
		"retracted": func(w *world, id string) {
			_, err := w.keeper.Store().Apply(ctx, inn, &store.Batch{Mutations: []store.Mutation{store.Retract(id, start)}})
			require.NoError(w.t, err)
		},
		"expired": func(w *world, id string) {
			_, err := w.keeper.Update(ctx, inn, &backends.UpdateRequest{ID: id, Expires: &ended})
			require.NoError(w.t, err)
		},
		"deleted": func(w *world, id string) {
			require.NoError(w.t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: id}))
		},
		"its successor is deleted": func(w *world, _ string) {
			next := joining(w).summarize(pagesNear).Memories[0]
			w.brain.decide = nil
			require.NoError(w.t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: next.ID}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, on(st))
			_, err := w.keeper.DeleteAll(ctx, inn, &backends.DeleteAllRequest{})
			require.NoError(t, err)
			for range 3 { // one id of the wording after another is taken
				id := w.summarize(pages).Memories[0].ID
				assert.Equal(t, []string{what(pages)}, w.active())
				leave(w, id)
				assert.Empty(t, w.active())
			}
			resp := w.summarize(pages)
			assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
			assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(pages)))
		})
	}
}

// A wording is known wherever its words went, over several joinings.
func TestR8AWordingIsKnownAlongTheChain(t *testing.T) {
	w := open(t)
	n := 0
	w.brain.decide = func(_, known experience) (string, string, string) {
		n++
		return "merge", known.WhenToUse, fmt.Sprintf("%s Then rest %d times.", known.Content, n)
	}
	w.summarize(pages)
	for range 3 {
		w.summarize(fmt.Sprintf("%s Now and then %d.", pages, n))
	}
	require.Equal(t, 3, n)
	require.Len(t, w.active(), 1)
	before := w.version()
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(pages)))
	assert.Equal(t, before, w.version())
}

// Pairs that do not fit into one prompt are decided by several, none is left out.
func TestDEF17PairsBeyondOnePrompt(t *testing.T) {
	w := open(t, func(s *setup) { s.limits.Prompt = 600 })
	tail := strings.Repeat(" and look at the next one", 12)
	var known, fresh []extract.Candidate
	for _, topic := range []string{"apples pears plums", "nails screws bolts", "boats ships rafts", "songs hymns chants", "roofs walls doors", "cats dogs mice"} {
		known = append(known, extract.Candidate{WhenToUse: fmt.Sprint("sorting ", topic), Content: "Put " + topic + " apart" + tail})
		fresh = append(fresh, extract.Candidate{WhenToUse: fmt.Sprint("sorting ", topic), Content: "Put " + topic + " far apart" + tail})
	}
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		if fresh.WhenToUse == known.WhenToUse {
			return "same", "", ""
		}
		return "distinct", "", ""
	}
	_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: known})
	require.NoError(t, err)
	calls := w.brain.calls("task_duplicates")
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: fresh})
	require.NoError(t, err)
	assert.Greater(t, w.brain.calls("task_duplicates")-calls, 1)
	for _, o := range outcomes(resp) {
		assert.Equal(t, backends.OutcomeUpdated, o)
	}
	assert.Len(t, w.active(), 6)
}

// Embeddings grow with the number of lessons, not with its square (DEF-17), and each
// text is compared by one embedding however many it resembles.
func TestDEF17EmbeddingsGrowWithTheLessons(t *testing.T) {
	spent := func(n int) int64 {
		e := &testkit.Embedder{Dim: 64}
		w := open(t, embedded(e))
		var all []extract.Candidate
		for i := range n {
			all = append(all, extract.Candidate{WhenToUse: fmt.Sprintf("sorting %d", i), Content: fmt.Sprintf("Put number %d into box %d.", i, i*7)})
		}
		resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: all})
		require.NoError(t, err)
		assert.EqualValues(t, e.Texts.Load(), resp.Report.Usage.EmbeddedTexts-n, "the search of an empty workspace embeds nothing")
		return e.Texts.Load()
	}
	assert.Equal(t, 2*spent(10), spent(20))
}

// Learning, counting, forgetting and asking at the same time: nothing is stored twice,
// nothing fails, and what is asked for is there.
func TestAllAtTheSameTime(t *testing.T) { eachStore(t, onAllAtTheSameTime) }

func onAllAtTheSameTime(t *testing.T, st store.Store) {
	worlds := []*world{joining(open(t, on(st))), joining(open(t, on(st)))}
	var all sync.WaitGroup
	for i := range 4 {
		w := worlds[i%2]
		all.Go(func() {
			for j := range 4 {
				_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(fmt.Sprintf("sorting %d | Put %d apart.", j, j), login)})
				assert.NoError(t, err)
			}
		})
		all.Go(func() {
			for range 4 {
				found, err := w.Retrieve(ctx, &task.RetrieveRequest{Scope: shop, Query: "sorting after a login is refused", TopK: 3})
				if !assert.NoError(t, err) {
					return
				}
				_, err = w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: found.IDs(), AllUseful: true})
				assert.NoError(t, err)
				_, err = w.Forget(ctx, &task.ForgetRequest{Scope: shop})
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	texts := worlds[0].active()
	assert.Contains(t, texts, what(login))
	seen := map[string]bool{}
	for _, text := range texts {
		assert.False(t, seen[text], text)
		seen[text] = true
	}
}

// Who waits for another to store in the same workspace stops with the context.
func TestWaitingToStoreEndsWithTheContext(t *testing.T) {
	f := &faulty{Store: openStore(t)}
	w := open(t, on(f))
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.before = func(call string) {
		if call == "Apply" {
			once.Do(func() { close(inside); <-goOn })
		}
	}
	var first sync.WaitGroup
	first.Go(func() { w.summarize(login) })
	<-inside
	c, cancel := context.WithCancel(ctx)
	d, err := w.Draft(c, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages)})
	require.NoError(t, err)
	cancel()
	_, err = w.Store(c, d)
	require.ErrorIs(t, err, context.Canceled)
	close(goOn)
	first.Wait()
	resp, err := w.Store(ctx, d)
	require.NoError(t, err, "the draft may be stored later")
	assert.Len(t, resp.Memories, 1)
}

// A retry that learnt a part alone, and was told to keep it, leaves its key unused.
func TestR12APartialRetryLeavesItsKeyUnused(t *testing.T) {
	w := open(t)
	w.brain.failAt = 1
	r := &task.RetryRequest{Scope: shop, Query: "gate", KeepPartial: true, IdempotencyKey: "k", Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
		tr := attempt(float64(a.N/2), fmt.Sprintf("gate %d | hint %d", a.N, a.N))
		return &tr, nil
	}}
	_, err := w.Retry(ctx, r)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, []string{"hint 2"}, w.active())
	_, err = w.Retry(ctx, r)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"hint 1", "hint 2"}, w.active())
}
