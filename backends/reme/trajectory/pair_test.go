// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

func attempt(task, query string, score float64) trajectory.Trajectory {
	return trajectory.Trajectory{TaskID: task, Query: query, Score: score}
}

// ReMe compares the best and the worst of the whole request, whatever they were about.
func TestDEF11OnlyAttemptsAtTheSameTaskAreCompared(t *testing.T) {
	assert.Empty(t, trajectory.Pairs([]trajectory.Trajectory{attempt("a", "", 1), attempt("b", "", 0)}))
	assert.Empty(t, trajectory.Pairs([]trajectory.Trajectory{attempt("a", "same words", 1), attempt("b", "same words", 0)}))
	assert.Empty(t, trajectory.Pairs([]trajectory.Trajectory{attempt("a", "same words", 1), attempt("", "same words", 0)}))
	assert.Empty(t, trajectory.Pairs([]trajectory.Trajectory{attempt("", "", 1), attempt("", "", 0)}))
}

func TestR6BestAgainstWorstOfEachTask(t *testing.T) {
	ts := []trajectory.Trajectory{
		attempt("b", "", 0.5), attempt("a", "", 0), attempt("a", "", 1), attempt("b", "", 0.7), attempt("a", "", 0.5), attempt("c", "", 1), attempt("c", "", 1),
		attempt("a", "", 1), attempt("", "open  the door", 0), attempt("", "open the\tdoor", 1), attempt("a", "", 0),
	}
	pairs := trajectory.Pairs(ts)
	require.Len(t, pairs, 3)
	for i, want := range [][2]int{{3, 0}, {2, 1}, {9, 8}} {
		assert.Same(t, &ts[want[0]], pairs[i].Better, i)
		assert.Same(t, &ts[want[1]], pairs[i].Worse, i)
	}
}

func TestR6TheUsersFirstWordsNameATaskThatHasNoOther(t *testing.T) {
	ts := []trajectory.Trajectory{
		{Score: 0, Messages: []*schema.Message{schema.UserMessage("open the door"), schema.AssistantMessage("no", nil)}},
		{Score: 1, Messages: []*schema.Message{schema.UserMessage("open the door"), schema.AssistantMessage("yes", nil)}},
	}
	assert.Equal(t, []trajectory.Pair{{Better: &ts[1], Worse: &ts[0]}}, trajectory.Pairs(ts))
}

func TestPairsHoldForAnyAttempts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) trajectory.Trajectory {
			return attempt(rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "task"), rapid.SampledFrom([]string{"", "p", "q"}).Draw(rt, "query"),
				rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "score"))
		}), 0, 12).Draw(rt, "attempts")
		key := func(x *trajectory.Trajectory) string {
			if x.TaskID != "" {
				return "id " + x.TaskID
			}
			return strings.TrimSuffix("query "+x.Query, "query ")
		}
		paired := map[string]bool{}
		for _, p := range trajectory.Pairs(ts) {
			k := key(p.Better)
			require.Equal(rt, k, key(p.Worse))
			require.NotEmpty(rt, k)
			require.False(rt, paired[k], "one pair a task")
			paired[k] = true
			require.Greater(rt, p.Better.Score, p.Worse.Score)
			for i := range ts {
				if key(&ts[i]) == k {
					require.LessOrEqual(rt, ts[i].Score, p.Better.Score)
					require.GreaterOrEqual(rt, ts[i].Score, p.Worse.Score)
				}
			}
		}
		for i := range ts {
			for j := range ts {
				if k := key(&ts[i]); k != "" && k == key(&ts[j]) && ts[i].Score != ts[j].Score {
					require.True(rt, paired[k], "a task with different scores is compared")
				}
			}
		}
	})
}

func segment(id string, words string) trajectory.Segment {
	t := &trajectory.Trajectory{TaskID: id, Messages: []*schema.Message{schema.AssistantMessage(words, nil)}}
	segments, _ := t.Segments(nil)
	return segments[0]
}

func TestR6SimilarStretchesArePaired(t *testing.T) {
	success := []trajectory.Segment{segment("a", "find the key and open the door"), segment("b", "paint the wall blue"), segment("c", "open the red door with a key")}
	failure := []trajectory.Segment{segment("d", "break the door without a key"), segment("a", "find the key and open the door"), segment("e", "sing")}
	similar, err := trajectory.Similar{}.WithDefaults()
	require.NoError(t, err)
	assert.Equal(t, trajectory.Similar{Threshold: 0.3, PerSide: 5, Pairs: 3}, similar)
	pairs := similar.Match(success, failure, func(i, j int) float64 { return trajectory.Overlap(&success[i], &failure[j]) })
	var names []string
	for _, p := range pairs {
		names = append(names, p.Better.Trajectory.TaskID+p.Worse.Trajectory.TaskID)
		assert.Greater(t, p.Similarity, 0.3)
	}
	assert.Equal(t, []string{"cd", "ca", "ad"}, names, "the most similar first, and none of the same task")
}

func TestSimilarLimits(t *testing.T) {
	var success, failure []trajectory.Segment
	for range 9 {
		success, failure = append(success, segment("a", "x")), append(failure, segment("b", "x"))
	}
	asked := 0
	similar := trajectory.Similar{Threshold: 0.5, PerSide: 4, Pairs: 2}
	pairs := similar.Match(success, failure, func(i, j int) float64 {
		asked++
		if i == j {
			return 0.5
		}
		return 0.6
	})
	assert.Equal(t, 16, asked)
	assert.Len(t, pairs, 2)
	assert.Empty(t, similar.Match(success, failure, func(int, int) float64 { return 0.5 }), "the threshold itself is not above it")
	for _, bad := range []trajectory.Similar{{Threshold: -1}, {Threshold: 1}, {PerSide: -1}, {Pairs: -1}} {
		_, err := bad.WithDefaults()
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestOverlapCountsWordsAndChineseCharacters(t *testing.T) {
	near := func(a, b string) float64 {
		x, y := segment("", a), segment("", b)
		return trajectory.Overlap(&x, &y)
	}
	assert.InDelta(t, 1, near("Open the DOOR", "the door, open!"), 1e-9)
	assert.InDelta(t, 0.5, near("打开门锁", "打开窗户"), 1e-9)
	assert.Zero(t, near("?!", "a"))
}
