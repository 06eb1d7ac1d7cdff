// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

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
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// gate is a task that succeeds when what the agent knows says how.
func gate(needs string, seen *[]*task.Attempt) func(context.Context, *task.Attempt) (*trajectory.Trajectory, error) {
	return func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
		*seen = append(*seen, a)
		if strings.Contains(a.Answer, needs) {
			t := attempt(1, fmt.Sprintf("opening a gate | What worked at attempt %d was to %s.", a.N, needs))
			return &t, nil
		}
		t := attempt(0, fmt.Sprintf("gate stays shut | After failure %d, %s.", a.N, []string{"", "knock", "ring twice", "give up"}[a.N]))
		return &t, nil
	}
}

// Lessons of failures are kept when a retry that had them succeeds.
func TestR12LessonsThatHelpedAreKept(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*task.Attempt
	resp, err := w.Retry(ctx, &task.RetryRequest{Scope: shop, TaskID: "gate", Query: "open the harbour gate", Run: gate("ring twice", &seen)})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Equal(t, 3, resp.Attempts)
	require.Len(t, seen, 3)
	assert.Equal(t, "Memory 1\n  When to use: open the harbour gate\n  Experience: Bring a lamp.", seen[0].Answer)
	assert.Empty(t, seen[0].Lessons)
	assert.Len(t, seen[1].Lessons, 1)
	assert.Len(t, seen[2].Lessons, 2)
	assert.Contains(t, seen[2].Answer, "Bring a lamp.\n\nWhat the earlier attempts at this very task taught:\n\nMemory 1\n")
	assert.Equal(t, []string{"Bring a lamp.", "After failure 1, knock.", "After failure 2, ring twice.", "What worked at attempt 3 was to ring twice."}, w.active())
	assert.Len(t, resp.Kept, 3)
	assert.Empty(t, resp.Dropped)
	m := w.find("After failure 1, knock.")
	assert.Equal(t, "failure", m.Metadata[task.MetaSource])
	assert.Equal(t, "gate", m.Metadata[task.MetaTaskID])
	assert.Equal(t, []task.Recorded{{ID: "known", As: "known", Freq: 1, Utility: 1}}, resp.Recorded.Recorded)
	for _, tr := range resp.Trajectories {
		assert.Equal(t, "gate", tr.TaskID)
	}
}

// Where no retry succeeds nothing is kept, and what was known did not help.
func TestR12LessonsThatDidNotHelpAreDropped(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*task.Attempt
	resp, err := w.Retry(ctx, &task.RetryRequest{Scope: shop, Query: "open the harbour gate", Attempts: 2, Run: gate("fly", &seen)})
	require.NoError(t, err)
	assert.False(t, resp.Succeeded)
	assert.Equal(t, 2, resp.Attempts)
	assert.Empty(t, resp.Kept)
	require.Len(t, resp.Dropped, 1, "of the last failure nothing is drawn: nobody would use it")
	assert.Equal(t, []string{"Bring a lamp."}, w.active())
	assert.EqualValues(t, 1, w.find("Bring a lamp.").Metadata[task.MetaFreq])
	assert.EqualValues(t, 0, w.find("Bring a lamp.").Metadata[task.MetaUtility])
}

// A success at the first attempt is learnt from as it is (selective addition).
func TestR12ASuccessAtOnceIsLearntFrom(t *testing.T) {
	w := open(t)
	var seen []*task.Attempt
	r := &task.RetryRequest{Scope: shop, Query: "open a gate", IdempotencyKey: "gate 1", Author: "porter", Metadata: map[string]any{"run": "7"}, Run: gate("", &seen)}
	resp, err := w.Retry(ctx, r)
	require.NoError(t, err)
	assert.Equal(t, 1, resp.Attempts)
	assert.Nil(t, resp.Recorded, "nothing was known")
	require.Len(t, resp.Kept, 1)
	assert.Equal(t, "porter", resp.Kept[0].Memory.Origin.Author)
	assert.Equal(t, "7", resp.Kept[0].Memory.Metadata["run"])
	assert.Equal(t, "success", resp.Kept[0].Memory.Metadata[task.MetaSource])
	_, err = w.Retry(ctx, r)
	require.NoError(t, err)
	assert.Len(t, w.active(), 1)
}

func TestR12AnErrorOfTheAttemptEndsTheRetries(t *testing.T) {
	boom := errors.New("boom")
	for name, run := range map[string]func(n int) (*trajectory.Trajectory, error){
		"an error":      func(int) (*trajectory.Trajectory, error) { return nil, boom },
		"no trajectory": func(int) (*trajectory.Trajectory, error) { return nil, nil },
		"no messages":   func(int) (*trajectory.Trajectory, error) { return &trajectory.Trajectory{Score: 1}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.put(backends.Memory{ID: "known", WhenToUse: "gate", Text: "Bring a lamp."})
			before := w.version()
			resp, err := w.Retry(ctx, &task.RetryRequest{Scope: shop, Query: "gate", Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
				if a.N < 2 {
					t := attempt(0, login)
					return &t, nil
				}
				return run(a.N)
			}})
			require.Error(t, err)
			assert.Equal(t, 1, resp.Attempts)
			assert.Len(t, resp.Dropped, 1)
			assert.Equal(t, before, w.version(), "nothing is stored, nothing counted")
		})
	}
}

// What fails beside the attempts costs no attempt.
func TestR12AttemptsComeFirst(t *testing.T) {
	for n := 1; n <= 4; n++ { // two failures and a success are drawn from, then judged
		t.Run(fmt.Sprint("model call ", n), func(t *testing.T) {
			for _, partial := range []bool{false, true} {
				w := open(t)
				w.brain.failAt = n
				attempts := 0
				resp, err := w.Retry(ctx, &task.RetryRequest{Scope: shop, Query: "gate", KeepPartial: partial, Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
					attempts++
					tr := attempt(float64(a.N/2), fmt.Sprintf("gate %d | hint %d", a.N, a.N))
					return &tr, nil
				}})
				require.ErrorIs(t, err, backends.ErrUnavailable)
				assert.Equal(t, 2, attempts)
				assert.True(t, resp.Succeeded)
				require.Error(t, resp.Report.Err())
				if partial {
					assert.Len(t, w.active(), 1)
				} else {
					assert.Empty(t, w.active())
					assert.Len(t, resp.Dropped, 1)
				}
			}
		})
	}
	t.Run("the store", func(t *testing.T) {
		f := &faulty{Store: openStore(t), failAt: 1}
		resp, err := open(t, on(f)).Retry(ctx, &task.RetryRequest{Scope: shop, Query: "gate", Run: func(context.Context, *task.Attempt) (*trajectory.Trajectory, error) {
			tr := attempt(1, login)
			return &tr, nil
		}})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		assert.True(t, resp.Succeeded)
		assert.Len(t, resp.Dropped, 1)
	})
}

func TestR12RetriesStopWithTheirContext(t *testing.T) {
	w := open(t)
	c, cancel := context.WithCancel(ctx)
	attempts := 0
	_, err := w.Retry(c, &task.RetryRequest{Scope: shop, Query: "gate", Run: func(context.Context, *task.Attempt) (*trajectory.Trajectory, error) {
		attempts++
		cancel()
		tr := attempt(0, login)
		return &tr, nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, attempts)
	assert.Empty(t, w.active())
}

func TestRetryRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	seen := new([]*task.Attempt)
	run := gate("", seen)
	for name, r := range map[string]*task.RetryRequest{
		"nothing": nil, "no run": {Scope: shop, Query: "x"}, "no query": {Scope: shop, Run: run},
		"top k": {Scope: shop, Query: "x", Run: run, TopK: -1}, "success": {Scope: shop, Query: "x", Run: run, SuccessAt: math.NaN()},
		"attempts": {Scope: shop, Query: "x", Run: run, Attempts: -1}, "key": {Scope: shop, Query: "x", Run: run, IdempotencyKey: strings.Repeat("k", 481)},
	} {
		_, err := w.Retry(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	assert.Empty(t, *seen, "no attempt was made in vain")
	_, err := open(t, withModel(nil)).Retry(ctx, &task.RetryRequest{Scope: shop, Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.Retry(ctx, &task.RetryRequest{Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestR12InChinese(t *testing.T) {
	w := open(t)
	var answers []string
	resp, err := w.Retry(ctx, &task.RetryRequest{Scope: shop, Query: "打开港口的大门", Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
		answers = append(answers, a.Answer)
		tr := attempt(float64(a.N-1), "大门锁着的时候 | 先按两次铃")
		tr.Query = "打开港口的大门"
		return &tr, nil
	}})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Contains(t, answers[1], "之前对同一任务的尝试得到的教训")
	assert.Equal(t, []string{"先按两次铃"}, w.active(), "success and failure taught the same words")
}
