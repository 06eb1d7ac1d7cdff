// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/scripted"
)

// program runs the example and returns what it printed.
func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// trained returns the memory of an arm after its training.
func trained(t *testing.T, c *course, a *arm) *memory {
	t.Helper()
	m, err := newMemory(t.Context(), scripted.Player())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.close(t.Context())) })
	require.NoError(t, m.train(t.Context(), c.training(a), a))
	return m
}

// The arms have the same attempts at the same cellars, and differ in what stands in
// the context alone.
func TestMemoryHelpsAndAnotherFamilysDoesNot(t *testing.T) {
	const seeds, most = 3, 2
	s, err := newSeries(t.Context(), &options{seed: 1, seeds: seeds, train: 5, instances: 6})
	require.NoError(t, err)
	for _, arms := range [][2]*arm{{&withTask, &without}, {&withTools, &without}, {&withRetry, &withoutRetry}} {
		assert.GreaterOrEqual(t, s.compare(arms[0], arms[1]).better, most, arms[0].name)
	}
	assert.Less(t, s.compare(&irrelevant, &without).better, most, "another family's memories help")
	fewer := 0
	for i, r := range s.results[&withTools] {
		if r.failures < s.results[&withTask][i].failures {
			fewer++
		}
	}
	assert.GreaterOrEqual(t, fewer, most, "tool memory spares calls that fail")
	for _, a := range arms {
		for _, got := range s.results[a] {
			assert.Equal(t, 6, got.tests, a.name)
			assert.LessOrEqual(t, got.attempts, got.tests*max(a.attempts, 1), a.name)
			assert.GreaterOrEqual(t, got.attempts, got.tests, a.name)
			assert.Equal(t, a.memory, got.stored > 0, a.name)
			assert.Equal(t, a.memory, got.taught > 0, a.name)
		}
	}
}

func TestWhatIsLearntAreTheRulesOfTheFamily(t *testing.T) {
	c := newCourse(2, 8, 1)
	for _, a := range []*arm{&withTools, &irrelevant} {
		want := map[bool]rules{false: c.rules, true: c.foreignRules}[a.foreign]
		all, err := trained(t, c, a).list(t.Context())
		require.NoError(t, err)
		var texts []string
		used := 0
		for _, m := range all {
			texts = append(texts, strings.ToLower(m.Text))
			if n, _ := m.Metadata["freq"].(float64); n > 0 {
				used++
			}
		}
		learnt := strings.Join(texts, "\n")
		shape := map[string]string{"capitals": "in capital letters", "capitalised": "with a capital letter first", "initial": "as its first letter alone"}[want.form.name]
		assert.Contains(t, learnt, "do not step on "+want.pit+" ground", "%s", want)
		assert.NotContains(t, learnt, want.pit+" ground holds")
		assert.Contains(t, learnt, "in calls of open_door write colour "+shape, "%s", want)
		assert.Contains(t, learnt, "in calls of scan keep radius at", "%s", want)
		assert.Positive(t, used, "memories that an attempt began with are counted as used")
	}
}

// Lessons reach the agent through the middleware alone: with an empty workspace the
// agent with memory plays as the one without.
func TestWithoutTrainingMemoryChangesNothing(t *testing.T) {
	c := newCourse(3, 0, 8)
	bare, err := play(t.Context(), c, &without)
	require.NoError(t, err)
	empty, err := play(t.Context(), c, &withTools)
	require.NoError(t, err)
	empty.taught = 0
	assert.Equal(t, bare, empty)
}

func TestMemoriesWithTheirWordsShuffledDoNotHelp(t *testing.T) {
	c := newCourse(1, 8, 12)
	m := trained(t, c, &withTools)
	all, err := m.list(t.Context())
	require.NoError(t, err)
	var straight, shuffled []*schema.Message
	r := rand.New(rand.NewPCG(1, 1))
	for _, known := range all {
		assert.Contains(t, []backends.Kind{backends.KindTask, backends.KindTool}, known.Kind)
		words := strings.Fields(known.Text)
		straight = append(straight, schema.UserMessage(known.Text))
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		shuffled = append(shuffled, schema.UserMessage(strings.Join(words, " ")))
	}
	tested := func(known []*schema.Message) (total result) {
		for _, at := range c.test {
			v, _, err := attempt(t.Context(), m.plain, at, at.task(), known...)
			require.NoError(t, err)
			total.add([]*visit{v})
		}
		return total
	}
	assert.Equal(t, tested(nil), tested(shuffled))
	assert.Greater(t, tested(straight).won, tested(shuffled).won)
}

func TestSpreads(t *testing.T) {
	assert.Equal(t, spread{}, spreadOf(nil))
	assert.Equal(t, spread{mean: 3}, spreadOf([]float64{3}))
	assert.Equal(t, spread{mean: 2, sd: 1}, spreadOf([]float64{1, 2, 3}))
}

// A figure says which models made it, on what split, with how many attempts an arm,
// over how many seeds and cellars, who judged, and how far the seeds lie apart.
func TestTheProgramPrintsTheSameEachTimeAndHowItWasMeasured(t *testing.T) {
	small := []string{"-seeds", "2", "-train", "2", "-instances", "2", "-v"}
	code, first, errs := program(t, small...)
	require.Equal(t, 0, code, errs)
	for _, part := range []string{
		"2 seeds from 1 on", "2 to train on, 2 others to test on", "±", "no memory", "task and tool memory", "control: another family's memories", "superseded", "teacher calls", "better on",
		"Models: ", "Split: ", "n = 4 test cellars an arm", "Attempts: ", "there is no judge", "Not claimed: ", "ground gives way", "task: ", "tool: ",
	} {
		assert.Contains(t, first, part)
	}
	_, again, _ := program(t, small...)
	assert.Equal(t, first, again)
}

func TestNothingIsClaimedThatTheNumbersDoNotShow(t *testing.T) {
	code, out, errs := program(t, "-seeds", "1", "-train", "0", "-instances", "2", "-seed", "40")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, out, nothing)
	assert.NotContains(t, out, claimed)
}

func TestInvalidFlags(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-seeds", "0"}, {"-instances", "0"}, {"-train", "-1"}, {"-seed", "18446744073709551615"}, {"-nonsense"}} {
		code, _, errs := program(t, args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, "experience: ")
	}
	code, _, errs := program(t, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, errs, "-instances")
}
