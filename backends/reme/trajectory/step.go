// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/cloudwego/eino/schema"
)

// Step is a message as a step of a trajectory. System prompts and notes of memory's
// own are no steps.
type Step struct {
	Number  int             // from 1, in the whole trajectory
	Message *schema.Message // shared, not to be changed
	Tool    string          // of a tool's result: the name of the tool, where it can be known
}

// Steps returns the steps of the trajectory.
func (t *Trajectory) Steps() []Step {
	var out []Step
	var calls openCalls
	for _, m := range t.Messages {
		if !shown(m) {
			continue
		}
		step := Step{Number: len(out) + 1, Message: m}
		if m.Role == schema.Tool {
			step.Tool = calls.answer(m)
		}
		calls.add(callsOf(m))
		out = append(out, step)
	}
	return out
}

// openCalls are the tool calls that have no result yet.
type openCalls struct {
	calls    []schema.ToolCall
	answered []bool
	first    int              // the first that may be open
	byID     map[string][]int // those that may be open, in order
}

func (c *openCalls) add(calls []schema.ToolCall) {
	for _, call := range calls {
		if c.byID == nil {
			c.byID = map[string][]int{}
		}
		c.byID[call.ID] = append(c.byID[call.ID], len(c.calls))
		c.calls, c.answered = append(c.calls, call), append(c.answered, false)
	}
}

// take returns the open call that a result with the id answers, or nil. A result that
// names no call is that of the first open one.
func (c *openCalls) take(id string) *schema.ToolCall {
	for id == "" && c.first < len(c.calls) {
		i := c.first
		if c.first++; !c.answered[i] {
			c.answered[i] = true
			return &c.calls[i]
		}
	}
	for id != "" && len(c.byID[id]) > 0 {
		i := c.byID[id][0]
		if c.byID[id] = c.byID[id][1:]; !c.answered[i] {
			c.answered[i] = true
			return &c.calls[i]
		}
	}
	return nil
}

func callsOf(m *schema.Message) []schema.ToolCall {
	if m.Role != schema.Assistant {
		return nil
	}
	return m.ToolCalls
}

// answer returns the name of the tool whose result m is.
func (c *openCalls) answer(m *schema.Message) string {
	call, name := c.take(m.ToolCallID), m.ToolName
	if name == "" && call != nil {
		name = call.Function.Name
	}
	if name == "" {
		name = m.Name
	}
	return name
}

// Segment is a stretch of steps of a trajectory.
type Segment struct {
	Trajectory *Trajectory
	Number, Of int // the segment's place, from 1, and how many there are
	Steps      []Step
}

// Points returns where the metadata say, under "segments", that the trajectory falls
// into segments: the number of the last step of each. An entry that is no number is
// 0, which is none. Nil when they do not say.
func (t *Trajectory) Points() []int {
	switch list := t.Metadata["segments"].(type) {
	case []int:
		return list
	case []any:
		out := make([]int, len(list))
		for i, v := range list {
			out[i] = pointIn(v)
		}
		return out
	}
	return nil
}

func pointIn(v any) int {
	f := math.NaN()
	switch n := v.(type) {
	case int:
		return n
	case float64:
		f = n
	case json.Number:
		if parsed, err := n.Float64(); err == nil {
			f = parsed
		}
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<31 {
		return int(f)
	}
	return 0
}

// Segments divides the trajectory behind the steps of the given numbers, in any
// order; without points it is one segment. Points that are no step's, and repeats,
// divide nothing: how many there were is ignored. A trajectory without steps has no
// segments.
func (t *Trajectory) Segments(points []int) (segments []Segment, ignored int) {
	steps := t.Steps()
	if len(steps) == 0 {
		return nil, len(points)
	}
	ends := slices.Clone(points)
	slices.Sort(ends)
	from := 0
	for _, end := range ends {
		if end <= from || end > len(steps) {
			ignored++
			continue
		}
		segments = append(segments, Segment{Trajectory: t, Steps: steps[from:end:end]})
		from = end
	}
	if from < len(steps) {
		segments = append(segments, Segment{Trajectory: t, Steps: steps[from:]})
	}
	for i := range segments {
		segments[i].Number, segments[i].Of = i+1, len(segments)
	}
	return segments, ignored
}
