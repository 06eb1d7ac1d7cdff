// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
)

// gate is a task that succeeds when what the agent knows says how.
func gate(needs string, seen *[]*Attempt) func(context.Context, *Attempt) (*Trajectory, error) {
	return func(_ context.Context, a *Attempt) (*Trajectory, error) {
		*seen = append(*seen, a)
		t := attempted(0, fmt.Sprintf("gate stays shut | After failure %d, %s.", a.N, []string{"", "knock", "ring twice", "give up"}[a.N]))
		if strings.Contains(a.Answer, needs) {
			t = attempted(1, fmt.Sprintf("opening a gate | What worked at attempt %d was to %s.", a.N, needs))
		}
		return &t, nil
	}
}

func TestWhatFailuresTaughtIsKeptWhenARetrySucceeds(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, TaskID: "gate", Query: "open the harbour gate", Run: gate("ring twice", &seen)})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Equal(t, 3, resp.Attempts)
	require.Len(t, seen, 3)
	assert.Equal(t, "Memory 1\n  When to use: open the harbour gate\n  Experience: Bring a lamp.", seen[0].Answer)
	assert.Equal(t, []int{0, 1, 2}, []int{len(seen[0].Learnt), len(seen[1].Learnt), len(seen[2].Learnt)})
	assert.Contains(t, seen[2].Answer, "Bring a lamp.\n\nWhat the earlier attempts at this very task taught:\n\nMemory 1\n")
	assert.Equal(t, []string{"Bring a lamp.", "After failure 1, knock.", "After failure 2, ring twice.", "What worked at attempt 3 was to ring twice."}, w.active())
	assert.Len(t, resp.Kept, 3)
	assert.Empty(t, resp.Dropped)
	m := w.find("After failure 1, knock.")
	assert.Equal(t, []any{"failure", "gate"}, []any{m.Metadata[MetaSource], m.Metadata[MetaTaskID]})
	assert.Equal(t, []Recorded{{ID: "known", As: "known", Freq: 1, Utility: 1}}, resp.Recorded.Recorded)
	for _, tr := range resp.Trajectories {
		assert.Equal(t, "gate", tr.TaskID)
	}
	assert.Equal(t, 7, resp.Report.Usage.ModelCalls, "a question and a judge an attempt, and one about duplicates")
}

func TestWhereNoRetrySucceedsNothingIsKept(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "open the harbour gate", Attempts: 2, Run: gate("fly", &seen)})
	require.NoError(t, err)
	assert.False(t, resp.Succeeded)
	assert.Equal(t, 2, resp.Attempts)
	assert.Empty(t, resp.Kept)
	require.Len(t, resp.Dropped, 1, "the last failure is not learnt from: no attempt would use it")
	assert.Equal(t, []string{"Bring a lamp."}, w.active())
	m := w.find("Bring a lamp.")
	assert.Equal(t, []any{1.0, 0.0}, []any{m.Metadata[MetaFreq], m.Metadata[MetaUtility]})
}

func TestASuccessAtOnceIsLearntFrom(t *testing.T) {
	for _, key := range []string{"", "gate 1"} {
		w := open(t)
		var seen []*Attempt
		r := &RetryRequest{Scope: shop, Query: "open a gate", IdempotencyKey: key, Author: "porter", Metadata: map[string]any{"run": "7"}, Run: gate("", &seen)}
		resp, err := w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, 1, resp.Attempts)
		assert.Nil(t, resp.Recorded, "nothing was known")
		require.Len(t, resp.Kept, 1)
		m := resp.Kept[0].Memory
		assert.Equal(t, []any{"porter", "7", "success"}, []any{m.Origin.Author, m.Metadata["run"], m.Metadata[MetaSource]})
		resp, err = w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, backends.OutcomeUnchanged, resp.Kept[0].Outcome)
		assert.Len(t, w.active(), 1)
		require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: m.ID}))
		_, err = w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Len(t, w.active(), map[string]int{"": 1}[key], "a key is used up")
	}
}

// An error of an attempt, of learning or of the store ends the retries, and leaves what was
// done in the response and the workspace as it was.
func TestAnErrorEndsTheRetries(t *testing.T) {
	for name, c := range map[string]struct {
		run     func() (*Trajectory, error)
		failAt  int
		want    error
		dropped int
	}{
		"an error":            {run: func() (*Trajectory, error) { return nil, errors.New("boom") }, dropped: 1},
		"no trajectory":       {run: func() (*Trajectory, error) { return nil, nil }, want: backends.ErrInvalid, dropped: 1},
		"no messages":         {run: func() (*Trajectory, error) { return &Trajectory{Score: 1}, nil }, want: backends.ErrInvalid, dropped: 1},
		"an extraction":       {failAt: 1, want: errDown},
		"a judge":             {failAt: 2, want: errDown},
		"the next extraction": {failAt: 3, want: errDown, dropped: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.put(backends.Memory{ID: "known", WhenToUse: "gate", Text: "Bring a lamp."})
			w.failAt = c.failAt
			before := w.version()
			resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "gate", Run: func(_ context.Context, a *Attempt) (*Trajectory, error) {
				if a.N == 2 && c.run != nil {
					return c.run()
				}
				tr := attempted(float64(a.N/2), login)
				return &tr, nil
			}})
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			assert.Equal(t, resp.Attempts, len(resp.Trajectories))
			assert.Len(t, resp.Dropped, c.dropped)
			assert.Equal(t, before, w.version(), "nothing is stored, nothing counted")
		})
	}
	spy := testkit.Spy(testkit.SQLite(t))
	w := open(t, on(spy))
	spy.FailOn(backends.ErrUnavailable, "Apply")
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "gate", Run: gate("", &seen)})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.True(t, resp.Succeeded)
	assert.Len(t, resp.Dropped, 1)
	require.Error(t, resp.Report.Err())
	c, cancel := context.WithCancel(ctx)
	resp, err = w.Retry(c, &RetryRequest{Scope: shop, Query: "gate", Run: func(context.Context, *Attempt) (*Trajectory, error) {
		cancel()
		tr := attempted(0, login)
		return &tr, nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, resp.Attempts)
}

func TestRetryRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	var seen []*Attempt
	run := gate("", &seen)
	for name, r := range map[string]*RetryRequest{
		"nothing": nil, "no run": {Scope: shop, Query: "x"}, "no query": {Scope: shop, Run: run}, "top k": {Scope: shop, Query: "x", Run: run, TopK: -1},
		"success": {Scope: shop, Query: "x", Run: run, SuccessAt: math.NaN()}, "attempts": {Scope: shop, Query: "x", Run: run, Attempts: -1},
		"key": {Scope: shop, Query: "x", Run: run, IdempotencyKey: strings.Repeat("k", 481)},
	} {
		_, err := w.Retry(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := open(t, noModel).Retry(ctx, &RetryRequest{Scope: shop, Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.Retry(ctx, &RetryRequest{Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrNoScope)
	assert.Empty(t, seen, "no attempt was made in vain")
}

func TestRetryInChinese(t *testing.T) {
	w := open(t)
	var answers []string
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "打开港口的大门", Run: func(_ context.Context, a *Attempt) (*Trajectory, error) {
		answers = append(answers, a.Answer)
		tr := attempted(float64(a.N-1), "大门锁着的时候 | 先按两次铃")
		tr.Query = "打开港口的大门"
		return &tr, nil
	}})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Contains(t, answers[1], "之前对同一任务的尝试得到的教训")
	assert.Equal(t, []string{"先按两次铃"}, w.active(), "success and failure taught the same words")
}
