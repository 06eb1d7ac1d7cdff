// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

// joining makes the model join what is near.
func joining(w *world) *world {
	w.brain.decide = func(_, known experience) (string, string, string) {
		return "merge", known.WhenToUse, known.Content + " Then stop."
	}
	return w
}

// An outage of the model at any call is an error of a request, which leaves the
// workspace as it was; the repeat of the request does all of it.
func TestAnOutageOfTheModelAtEachCall(t *testing.T) {
	calls := 0
	for n := 1; n == 1 || n <= calls; n++ {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			w := joining(open(t))
			w.summarize(pages)
			before := w.version()
			r := &task.SummaryRequest{Scope: shop, Trajectories: []trajectory.Trajectory{attempt(1, pagesNear, login), attempt(0, "gate | knock")}}
			w.brain.failAt = w.brain.calls() + n
			resp, err := w.Summarize(ctx, r)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.NotNil(t, resp)
			require.ErrorIs(t, resp.Report.Err(), backends.ErrUnavailable, "the report names it")
			assert.Empty(t, resp.Memories)
			assert.Equal(t, before, w.version(), "nothing was stored")

			w.brain.failAt = 0
			from := w.brain.calls()
			resp, err = w.Summarize(ctx, r)
			require.NoError(t, err)
			calls = w.brain.calls() - from
			assert.Len(t, resp.Memories, 3)
			assert.ElementsMatch(t, []string{what(pages) + " Then stop.", what(login), "knock"}, w.active())
		})
	}
	assert.GreaterOrEqual(t, calls, 5, "two or three extractions, judges, and one decision")
}

// The same of the store, whichever call it is (DEF-09: nothing is deleted before its
// replacement is stored).
func TestDEF09AnOutageOfTheStoreAtEachCall(t *testing.T) {
	flows := map[string]func(w *world, id string) error{
		"summarize": func(w *world, _ string) error {
			resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear, login), IdempotencyKey: "k"})
			if err != nil && resp != nil && !errors.Is(resp.Report.Err(), backends.ErrUnavailable) {
				return errors.New("the report does not tell")
			}
			return err
		},
		"record": func(w *world, id string) error {
			_, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}})
			return err
		},
		"forget": func(w *world, _ string) error {
			_, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop, Rule: &task.Rule{MaxUtility: 1}})
			return err
		},
		"retrieve": func(w *world, _ string) error {
			_, err := w.Retrieve(ctx, &task.RetrieveRequest{Scope: shop, Query: "api"})
			return err
		},
	}
	for name, call := range flows {
		for _, once := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, once %t", name, once), func(t *testing.T) { failAtEachCall(t, call, once) })
		}
	}
}

// failAtEachCall lets one call of the store fail, or all from one on: the flow fails,
// nothing is written, and the repeat does it all.
func failAtEachCall(t *testing.T, call func(w *world, id string) error, once bool) {
	e := &testkit.Embedder{Dim: 64}
	var want []string
	for n := 0; ; n++ { // 0: nothing fails
		f := &faulty{Store: openStore(t), once: once}
		w := joining(open(t, on(f), embedded(e), config(func(c *task.Config) { c.Duplicate = 0.8 })))
		id := w.summarize(pages).Memories[0].ID
		_, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}})
		require.NoError(t, err)
		before := w.version()
		f.calls, f.failAt = 0, n
		err = call(w, id)
		f.mu.Lock()
		done := f.calls < n
		f.failAt = 0
		f.mu.Unlock()
		if n == 0 {
			require.NoError(t, err)
			want = w.active()
			continue
		}
		if done {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, backends.ErrUnavailable, "call %d", n)
		require.NotErrorIs(t, err, backends.ErrNotFound)
		require.Equal(t, before, w.version(), "call %d: nothing was written", n)
		require.Equal(t, []string{what(pages)}, w.active())
		require.NoError(t, call(w, id))
		require.Equal(t, want, w.active(), "call %d: after the repeat", n)
	}
}

// An embedder that fails stores nothing, and deletes nothing (DEF-09).
func TestDEF09AnOutageOfTheEmbedder(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	w := joining(open(t, embedded(e), config(func(c *task.Config) { c.Duplicate = 0.8 })))
	w.summarize(pages)
	before := w.version()
	e.Err = errDown
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear)})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Error(t, resp.Report.Err())
	assert.Equal(t, before, w.version())

	found := w.retrieve(task.RetrieveRequest{Query: "paginated results"})
	assert.Len(t, found.Hits, 1, "words alone still find it")
	require.ErrorIs(t, found.Degraded, errDown)
	e.Err = nil
	resp, err = w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear)})
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
}

// A verdict that is missing or makes no sense is no verdict: nothing is stored.
func TestDuplicatesAreDecidedOrNothingIsStored(t *testing.T) {
	for name, answer := range map[string]string{
		"empty":       `{}`,
		"undecided":   `{"decisions":[]}`,
		"no number":   `{"decisions":[{"verdict":"same"}]}`,
		"other pair":  `{"decisions":[{"pair":1,"verdict":"same"}]}`,
		"twice":       `{"decisions":[{"pair":0,"verdict":"same"},{"pair":0,"verdict":"distinct"}]}`,
		"other word":  `{"decisions":[{"pair":0,"verdict":"perhaps"}]}`,
		"blank merge": `{"decisions":[{"pair":0,"verdict":"merge","when_to_use":"x","content":" "}]}`,
		"no object":   `{"decisions":["same"]}`,
		"cut off":     `{"decisions":[{"pair":0,"verdict":"sa`,
		"a list":      `["same"]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.summarize(pages)
			before := w.version()
			w.brain.says["task_duplicates"] = answer
			r := &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear)}
			resp, err := w.Summarize(ctx, r)
			require.ErrorIs(t, err, backends.ErrModel)
			require.ErrorIs(t, resp.Report.Err(), backends.ErrModel)
			assert.Equal(t, 2, w.brain.calls("task_duplicates"), "asked once more")
			assert.Equal(t, before, w.version())
		})
	}
}

// What came through is stored where the caller wants that, and the error comes
// beside it.
func TestKeepPartialStoresWhatCameThrough(t *testing.T) {
	w := open(t, func(s *setup) { s.limits.Concurrency = 1 })
	other := attempt(0, "gate | knock")
	other.Query = "open a gate" // there is nothing to compare
	r := &task.SummaryRequest{Scope: shop, KeepPartial: true, IdempotencyKey: "k", Trajectories: []trajectory.Trajectory{attempt(1, login), other}}
	w.brain.failAt = 1
	resp, err := w.Summarize(ctx, r)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.NotEmpty(t, resp.Memories)
	assert.NotEmpty(t, w.active())
	assert.Len(t, w.active(), 1)
	require.Error(t, resp.Report.Err())
	w.brain.failAt = 0
	resp, err = w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.False(t, resp.Replayed, "the key is not used up")
	assert.ElementsMatch(t, []string{what(login), "knock"}, w.active(), "the repeat adds the rest alone")
}

func TestLimitsEndARequest(t *testing.T) {
	w := open(t, func(s *setup) { s.limits.Calls = 1 })
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(login)})
	require.ErrorIs(t, err, flow.ErrLimit)
	assert.Equal(t, 1, resp.Report.Usage.ModelCalls)
	assert.Empty(t, w.active())
	require.ErrorIs(t, resp.Report.Stage(extract.StageValidate).Err, flow.ErrLimit)
}

// A conflict that never ends is given up.
func TestConflictsAreBounded(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st))
	id := other.summarize(pages).Memories[0].ID
	f := &faulty{Store: st}
	w := joining(open(t, on(f)))
	f.before = func(call string) {
		if call == "Apply" {
			_, err := other.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}})
			assert.NoError(t, err)
		}
	}
	_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear)})
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.Equal(t, 1, w.brain.calls("task_duplicates"), "the verdict stands")
	f.before = nil
	resp := w.summarize(pagesNear)
	assert.EqualValues(t, 16, resp.Memories[0].Metadata[task.MetaFreq], "no count was lost on the way")
}

// What will not be stored is not judged.
func TestAFailedExtractionAsksNoJudge(t *testing.T) {
	for _, partial := range []bool{false, true} {
		w := open(t)
		w.brain.failAt = 1
		_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, KeepPartial: partial, Trajectories: []trajectory.Trajectory{attempt(1, login), attempt(1, pages)}})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		assert.Equal(t, partial, w.brain.calls("extract_verdicts") > 0)
		assert.Equal(t, partial, len(w.active()) > 0)
	}
}

// All or nothing counts what is written down already, too.
func TestAFailedExtractionStoresNothingBesides(t *testing.T) {
	w := open(t)
	w.brain.failAt = 1
	resp, err := w.Summarize(ctx, &task.SummaryRequest{
		Scope: shop, Trajectories: attempts(login), Candidates: []extract.Candidate{{WhenToUse: "gate", Content: "knock"}},
	})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Empty(t, resp.Items)
	assert.Empty(t, w.active())
}
