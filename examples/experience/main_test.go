// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program runs the example and returns what it printed.
func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func anyHas(texts []string, part string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			return true
		}
	}
	return false
}

var (
	small = []string{"-seeds", "2", "-train", "2", "-instances", "2"}
	tiny  = []string{"-seeds", "1", "-train", "2", "-instances", "1"}
)

func TestTheProgramPrintsTheSameEachTime(t *testing.T) {
	code, first, errs := program(t, append(small, "-v")...)
	require.Equal(t, 0, code, errs)
	require.Empty(t, errs)
	for _, part := range []string{
		"2 seeds from 1 on", "2 to train on, 2 others to test on", "no memory", "task and tool memory", "control: another family's memories", "up to 3 attempts",
		"stored", "superseded", "deleted", "teacher calls", "better on", "n = 4 test cellars an arm", "Not claimed", "ground gives way", "task: ", "tool: ",
	} {
		assert.Contains(t, first, part)
	}
	_, again, _ := program(t, append(small, "-v")...)
	assert.Equal(t, first, again)
	_, other, _ := program(t, append(tiny, "-v", "-seed", "40")...)
	assert.NotEqual(t, first, other)
}

// R28: a figure says which models made it, on what split, with how many attempts an
// arm, over how many seeds and cellars, who judged, and how far the seeds lie apart.
func TestR28AClaimSaysHowItWasMade(t *testing.T) {
	code, out, errs := program(t, "-seeds", "2", "-train", "2", "-instances", "3")
	require.Equal(t, 0, code, errs)
	for _, said := range []string{"2 seeds from 1 on", "2 to train on, 3 others to test on", "±", "Models: ", "Split: ", "n = 6", "Attempts: ", "there is no judge", "Not claimed: "} {
		assert.Contains(t, out, said)
	}
}

func TestNothingIsClaimedThatTheNumbersDoNotShow(t *testing.T) {
	code, out, errs := program(t, "-seeds", "1", "-train", "0", "-instances", "2")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, out, nothing)
	assert.NotContains(t, out, claimed)
}

// Where the memories are kept makes no difference, and nothing is left behind.
func TestOnRedis(t *testing.T) {
	_, want, _ := program(t, tiny...)
	server := miniredis.RunT(t)
	code, got, errs := program(t, append(tiny, "-redis", "redis://"+server.Addr())...)
	require.Equal(t, 0, code, errs)
	assert.Equal(t, want, got)
	for _, key := range server.Keys() {
		assert.NotContains(t, key, "workspace")
		assert.NotContains(t, key, "visitor")
	}
}

func TestAServerThatIsNotThereIsAFailure(t *testing.T) {
	code, _, errs := program(t, append(tiny, "-redis", "redis://127.0.0.1:1/0?dial_timeout=100ms&max_retries=-1")...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "experience: seed ")
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-seeds", "0"}, {"-instances", "0"}, {"-train", "-1"}, {"-seed", "18446744073709551615"}, {"-nonsense"}} {
		code, _, errs := program(t, args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, "experience: ")
	}
	code, _, errs := program(t, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, errs, "-instances")
}
