// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/modelanswer"
	"github.com/einomem/einomem/internal/work"
)

// minSegmented is how many steps a trajectory must have to be divided by a model.
const minSegmented = 4

// segment divides the trajectories where their metadata say, or a model; one that
// cannot be divided stays whole.
func (e *Extractor) segment(ctx context.Context, run *flow.Run, ts []trajectory.Trajectory, failed *failures) divided {
	points := make([][]int, len(ts))
	errs := make([]error, len(ts))
	taken := 0
	var all errgroup.Group
	all.SetLimit(run.Limits().Concurrency)
	for i := range ts {
		points[i] = ts[i].Points()
		byModel := points[i] == nil && e.config.Segment && len(ts[i].Steps()) >= minSegmented
		if points[i] != nil || byModel {
			taken++
		}
		if byModel {
			all.Go(func() error {
				errs[i] = work.Catch("extract", func() (err error) {
					points[i], err = e.askPoints(ctx, run, &ts[i])
					return err
				})
				return nil
			})
		}
	}
	_ = all.Wait() // every error has its place in errs
	out := divided{}
	if taken > 0 {
		run.Stage(StageSegment).Took(taken)
	}
	for i := range ts {
		segments, ignored := ts[i].Segments(points[i])
		out[&ts[i]] = segments
		if points[i] != nil {
			run.Stage(StageSegment).Gave(len(segments))
			run.Stage(StageSegment).Drop(ignored)
		}
		if errs[i] != nil {
			failed.add(run.Stage(StageSegment), StageSegment, errs[i])
		}
	}
	return out
}

// askPoints asks where a trajectory falls into segments.
func (e *Extractor) askPoints(ctx context.Context, run *flow.Run, t *trajectory.Trajectory) ([]int, error) {
	lang := e.language(t)
	whole, _ := t.Segments(nil)
	material := []fenced{{"trajectory", e.whole(t, whole, t.Score >= e.config.Threshold, lang, e.limit())}}
	points := []int{}
	q := e.question(lang, func(p *Prompts) string { return p.Segment }, toolSegments, 0, fences(material))
	err := run.Ask(ctx, q, func(m *schema.Message) (err error) {
		points, err = readPoints(m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return points, nil
}

var errNoPoints = errors.New(`the JSON holds no list "segment_points"`) // shown to the model

// readPoints reads the points of an answer. What is no number is 0, which is no point.
func readPoints(m *schema.Message) ([]int, error) {
	v, err := answerIn(m, toolSegments)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if o, isObject := v.(map[string]any); isObject {
		list, ok = listOf(o, []string{"segment_points", "points", "segments"})
	}
	if !ok {
		return nil, errNoPoints
	}
	points := make([]int, len(list))
	for i, p := range list {
		points[i], _ = wholeNumber(p)
	}
	return points, nil
}

// answerIn returns the JSON of an answer. Several calls are an array of theirs.
func answerIn(m *schema.Message, tool string) (any, error) {
	all, err := modelanswer.Of(m, tool)
	if err != nil || len(all) > 1 {
		return all, err
	}
	return all[0], nil
}

// wholeNumber reads 3, 3.0 and "3".
func wholeNumber(v any) (int, bool) {
	f, ok := numberIn(v)
	if !ok || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}
