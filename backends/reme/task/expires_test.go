// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
)

func TestExperienceEndsWhenItIsSaidTo(t *testing.T) {
	soon, later := start.Add(time.Hour), start.Add(2*time.Hour)
	for name, c := range map[string]struct{ first, second, want time.Time }{
		"alone":                  {first: soon, want: soon},
		"joined with what lasts": {second: soon},
		"lasting":                {first: soon},
		"the longer of both":     {first: later, second: soon, want: later},
		"the longer of the two":  {first: soon, second: later, want: later},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.brain.decide = func(experience, experience) (string, string, string) {
				return "merge", "When reading pages", "All of it."
			}
			_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages), Expires: c.first})
			require.NoError(t, err)
			text := what(pages)
			if name != "alone" {
				_, err = w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear), Expires: c.second})
				require.NoError(t, err)
				text = "All of it."
			}
			require.Equal(t, c.want, w.find(text).Expires)
		})
	}
	for verdict, lesson := range map[string]string{"word for word": pages, "same": pagesNear} {
		for _, c := range []struct{ first, second, want time.Time }{
			{first: soon, second: later, want: later}, {first: soon}, {second: soon}, {first: later, second: soon, want: later}, {first: soon, second: soon, want: soon},
		} {
			w := open(t)
			w.brain.decide = func(experience, experience) (string, string, string) { return "same", "", "" }
			_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages), Expires: c.first})
			require.NoError(t, err)
			again := &task.SummaryRequest{Scope: shop, Trajectories: attempts(lesson), Expires: c.second}
			resp, err := w.Summarize(ctx, again)
			require.NoError(t, err)
			require.Equal(t, c.want, w.find(what(pages)).Expires, "what is learnt again %s is not lost before its time: %v", verdict, c)
			changed := verdict == "same" || !c.want.Equal(c.first)
			require.Equal(t, changed, resp.Items[0].Outcome == backends.OutcomeUpdated)
			require.Equal(t, c.want, resp.Items[0].Memory.Expires)
			before := w.version()
			_, err = w.Summarize(ctx, again)
			require.NoError(t, err)
			require.Equal(t, before, w.version())
		}
	}
	_, err := open(t).Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages), Expires: start.Add(-1)})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
