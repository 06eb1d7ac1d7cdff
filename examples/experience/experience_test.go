// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/internal/cellar"
	"github.com/einomem/einomem/examples/experience/internal/player"
)

// played returns all arms on a few seeds.
func played(t *testing.T, o *options) *series {
	t.Helper()
	s := &series{options: o}
	require.NoError(t, s.run(t.Context()))
	return s
}

// on reports on how many seeds f holds of the results of two arms.
func (s *series) on(a, b *arm, f func(a, b *result) bool) int {
	n := 0
	for i, r := range s.row(a).results {
		if f(r, s.row(b).results[i]) {
			n++
		}
	}
	return n
}

func won(a, b *result) bool { return a.won > b.won }

// R28: the arms have the same attempts at the same cellars, and what they differ in is
// what stands in the context.
func TestMemoryHelpsAndTheControlDoesNot(t *testing.T) {
	const seeds = 3
	s := played(t, &options{seed: 1, seeds: seeds, train: 5, instances: 6})
	most := seeds/2 + 1
	assert.GreaterOrEqual(t, s.on(&withTask, &without, won), most)
	assert.GreaterOrEqual(t, s.on(&withTools, &without, won), most)
	assert.GreaterOrEqual(t, s.on(&withRetry, &withoutRetry, won), most)
	assert.Less(t, s.on(&irrelevant, &without, won), most, "another family's memories help")
	fewer := func(a, b *result) bool { return a.failures < b.failures }
	assert.GreaterOrEqual(t, s.on(&withTools, &withTask, fewer), most, "tool memory spares calls that fail")
	for _, r := range s.rows {
		for _, got := range r.results {
			assert.Equal(t, 6, got.tests, r.arm.name)
			assert.LessOrEqual(t, got.attempts, got.tests*max(r.arm.attempts, 1), r.arm.name)
			if r.arm.attempts == 0 {
				assert.Equal(t, got.tests, got.attempts, r.arm.name)
			}
			assert.Equal(t, r.arm.memory, got.stored > 0, r.arm.name)
			assert.Equal(t, r.arm.memory, got.taught > 0, r.arm.name)
		}
	}
}

// What was learnt are the rules of the family, and never those of another.
func TestWhatIsLearntAreTheRulesOfTheFamily(t *testing.T) {
	c := newCourse(2, 8, 1)
	for _, a := range []*arm{&withTools, &irrelevant} {
		rules := map[bool]cellar.Rules{false: c.rules, true: c.foreignRules}[a.foreign]
		v, err := newRemembering(t.Context(), &options{}, c, a, newCounted(&player.Model{}))
		require.NoError(t, err)
		require.NoError(t, v.train(t.Context(), c.training(a)))
		var r result
		require.NoError(t, v.tally(t.Context(), &r))
		require.NoError(t, v.close(t.Context()))
		var texts []string
		for _, m := range r.memories {
			texts = append(texts, m.Text)
		}
		assert.Condition(t, func() bool { return anyHas(texts, "Do not step on "+rules.Pit+" ground") }, "%s: %v", rules, texts)
		assert.False(t, anyHas(texts, rules.Pit+" ground holds"))
		form := map[cellar.Form]string{cellar.Capitals: "in capital letters", cellar.Capitalised: "with a capital letter first", cellar.Initial: "as its first letter alone"}[rules.Colour]
		assert.Condition(t, func() bool { return anyHas(texts, "In calls of open_door write colour "+form) }, "%s: %v", rules, texts)
		assert.Condition(t, func() bool { return anyHas(texts, "In calls of scan keep radius at") }, "%s: %v", rules, texts)
	}
}

// Lessons reach the agent through the middleware alone: with an empty workspace the
// agent with memory plays as the one without.
func TestWithoutTrainingMemoryChangesNothing(t *testing.T) {
	s := played(t, &options{seed: 3, seeds: 1, train: 0, instances: 8})
	bare, empty := s.row(&without).results[0], s.row(&withTools).results[0]
	assert.Equal(t, bare.won, empty.won)
	assert.Equal(t, bare.steps, empty.steps)
	assert.Equal(t, bare.failures, empty.failures)
	assert.Zero(t, empty.stored)
}

// The same memories with their words in another order are as good as none.
func TestShuffledMemoriesDoNotHelp(t *testing.T) {
	c := newCourse(1, 8, 12)
	v, err := newRemembering(t.Context(), &options{}, c, &withTools, newCounted(&player.Model{}))
	require.NoError(t, err)
	defer func() { require.NoError(t, v.close(t.Context())) }()
	require.NoError(t, v.train(t.Context(), c.train))
	all, err := v.memories(t.Context())
	require.NoError(t, err)
	var told, shuffled []*schema.Message
	r := rand.New(rand.NewPCG(1, 1))
	for _, m := range all {
		words := strings.Fields(m.Text)
		told = append(told, schema.UserMessage(m.Text))
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		shuffled = append(shuffled, schema.UserMessage(strings.Join(words, " ")))
	}
	play := func(told []*schema.Message) (total result) {
		for _, at := range c.test {
			visit, _, err := attempt(t.Context(), v.plain, at, at.Task(), told...)
			require.NoError(t, err)
			total.add(visit)
			total.won += int(visit.Score())
		}
		return total
	}
	assert.Equal(t, play(nil), play(shuffled))
	assert.Greater(t, play(told).won, play(shuffled).won)
}

func TestMemoriesAreCountedAsUsed(t *testing.T) {
	c := newCourse(2, 6, 1)
	v, err := newRemembering(t.Context(), &options{}, c, &withTask, newCounted(&player.Model{}))
	require.NoError(t, err)
	defer func() { require.NoError(t, v.close(t.Context())) }()
	require.NoError(t, v.train(t.Context(), c.train))
	all, err := v.memories(t.Context())
	require.NoError(t, err)
	used := 0
	for _, m := range all {
		assert.Equal(t, backends.KindTask, m.Kind, "no tool memory in this arm")
		if freq, _ := m.Metadata["freq"].(float64); freq > 0 {
			used++
		}
	}
	assert.Positive(t, used)
}

func TestNoTestCellarIsATrainingCellar(t *testing.T) {
	for seed := range uint64(4) {
		c := newCourse(seed, 20, 40)
		seen := map[string]bool{}
		for _, at := range append(append(c.train[:len(c.train):len(c.train)], c.foreignTraining...), c.test...) {
			require.False(t, seen[at.Map()] || seen[at.Name()])
			seen[at.Map()], seen[at.Name()] = true, true
		}
	}
}

func TestSpreads(t *testing.T) {
	assert.Equal(t, spread{}, spreadOf(nil))
	assert.Equal(t, spread{mean: 3}, spreadOf([]float64{3}))
	got := spreadOf([]float64{1, 2, 3})
	assert.InDelta(t, 2, got.mean, 1e-9)
	assert.InDelta(t, 1, got.sd, 1e-9)
}
