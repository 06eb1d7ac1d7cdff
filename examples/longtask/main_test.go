// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
)

// program runs the example and returns what it printed.
func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", "")
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// An agent that reads many times its window answers from what left its context,
// whatever the reports are made from, and no context is larger than the window.
func TestTheClerkAnswersFromWhatItRead(t *testing.T) {
	for seed := range 3 {
		for _, window := range []int{2500, 6000} {
			t.Run(fmt.Sprintf("seed %d, window %d", seed, window), func(t *testing.T) {
				code, out, _ := program(t, "-reports", "24", "-words", "300", "-window", strconv.Itoa(window), "-seed", strconv.Itoa(seed), "-v")
				require.Equal(t, 0, code, out)
				require.Contains(t, out, "3 of 3 right")
				limit := compaction.Budget{Window: window}
				limit, err := limit.WithDefaults()
				require.NoError(t, err)
				sizes := regexp.MustCompile(`(\d+) tokens (?:→ +(\d+))?`).FindAllStringSubmatch(out, -1)
				require.Greater(t, len(sizes), 25)
				for _, s := range sizes[1:] { // the first is that of all reports
					size, err := strconv.Atoi(cmp.Or(s[2], s[1])) // after, or as it was
					require.NoError(t, err)
					require.LessOrEqual(t, size, limit.Limit())
				}
			})
		}
	}
}

// The corpus is larger than the window many times over, and each answer stands in
// one report alone: nothing else can be where it was found.
func TestEachAnswerStandsInOneReport(t *testing.T) {
	c := newCorpus(60, 900, 1)
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
	require.Greater(t, strings.Index(c.reports[45], "QX-5517"), 20_000, "in the middle of one long line")
	require.NotContains(t, c.reports[45], "\n")
}

func TestInvalidFlags(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-reports", "3"}, {"-window", "100"}, {"-words", "1"}, {"-nonsense"}} {
		code, _, errs := program(t, args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, "longtask: ")
	}
	code, _, errs := program(t, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, errs, "-window")
}
