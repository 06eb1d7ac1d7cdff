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
	_, err := open(t).Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages), Expires: start.Add(-1)})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
