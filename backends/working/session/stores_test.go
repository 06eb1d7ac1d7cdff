// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import "testing"

func TestOnEveryStore(t *testing.T) {
	type test = func(t *testing.T, w *world)
	onEvery(t, map[string]test{
		"load none":                  testLoadOfASessionThatDoesNotExist,
		"commit":                     testCommitSummary,
		"append and summarise":       testAppendWhileAModelSummarises,
		"many append and summarise":  testSummariesAndAppendsAtOnce,
		"usage":                      testUsage,
		"manage":                     testManage,
		"list":                       testList,
		"fork":                       testFork,
		"fork of a summarised one":   testForkOfASummarisedSession,
		"fork that is interrupted":   testForkInterruptedAtAnyStep,
		"the same fork at once":      testTheSameForkAtOnce,
		"fork while somebody writes": testForkWhileSomebodyWrites,
	})
}
