// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import "strings"

// Pair is two attempts that are worth comparing.
type Pair struct {
	Better, Worse *Trajectory
}

// Pairs returns for each task the best and the worst of its attempts, where their
// scores differ: of attempts with the same score the first. Attempts are of one task
// when they have the same TaskID, or have none and the same [Trajectory.Task] but for
// spaces; attempts at different tasks are never compared. The pairs point into ts, in
// the order in which their tasks begin in it.
func Pairs(ts []Trajectory) []Pair {
	var order []string
	groups := map[string]*Pair{}
	for i := range ts {
		t := &ts[i]
		key, ok := t.taskKey()
		if !ok {
			continue
		}
		g := groups[key]
		if g == nil {
			groups[key] = &Pair{Better: t, Worse: t}
			order = append(order, key)
			continue
		}
		if t.Score > g.Better.Score {
			g.Better = t
		}
		if t.Score < g.Worse.Score {
			g.Worse = t
		}
	}
	var out []Pair
	for _, key := range order {
		if g := groups[key]; g.Better.Score > g.Worse.Score {
			out = append(out, *g)
		}
	}
	return out
}

// taskKey names the task among the trajectories of a request; false when nothing
// does.
func (t *Trajectory) taskKey() (string, bool) {
	if t.key != "" {
		return t.key, true
	}
	if id := strings.TrimSpace(t.TaskID); id != "" {
		return "id " + id, true
	}
	words := strings.Join(strings.Fields(t.Task()), " ")
	return "query " + words, words != ""
}
