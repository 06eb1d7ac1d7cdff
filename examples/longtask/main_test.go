// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
)

// An agent that reads many times its window answers from what left its context, and no
// context is larger than the window.
func TestTheClerkAnswersFromWhatItRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, window := range []int{2500, 6000} {
		t.Run(fmt.Sprintf("window %d", window), func(t *testing.T) {
			var out bytes.Buffer
			clerk := &tour{window: window, corpus: newCorpus(24, 30), out: &out}
			require.NoError(t, clerk.run(t.Context(), io.Discard), out.String())
			require.Contains(t, out.String(), "3 of 3 right")
			require.Greater(t, strings.Count(out.String(), "tokens →"), 5, "the context shrank")
			budget, err := compaction.Budget{Window: window}.WithDefaults()
			require.NoError(t, err)
			require.LessOrEqual(t, clerk.largest, budget.Limit())
		})
	}
}

// Each answer stands in one report alone: it can be found nowhere else.
func TestEachAnswerStandsInOneReport(t *testing.T) {
	c := newCorpus(60, 90)
	require.Len(t, c.questions, 3)
	for _, q := range c.questions {
		var at []int
		for i, r := range c.reports {
			if strings.Contains(r, q.answer) {
				at = append(at, i+1)
			}
		}
		require.Equal(t, []int{q.where}, at, q.ask)
	}
}
