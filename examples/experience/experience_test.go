// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// trained returns the memory of an arm after its training.
func trained(t *testing.T, c *course, a *arm) *memory {
	t.Helper()
	m, err := newMemory(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.close(t.Context())) })
	require.NoError(t, m.train(t.Context(), c.training(a), a))
	return m
}

// The arms have the same attempts at the same cellars, and differ in what stands in
// the context alone.
func TestMemoryHelpsAndAnotherFamilysDoesNot(t *testing.T) {
	const seeds, most = 3, 2
	s, err := newSeries(t.Context(), seeds, 5, 6)
	require.NoError(t, err)
	for _, arms := range [][2]*arm{{&withTask, &without}, {&withTools, &without}, {&withRetry, &withoutRetry}} {
		assert.GreaterOrEqual(t, s.better(arms[0], arms[1]), most, arms[0].name)
	}
	assert.Less(t, s.better(&irrelevant, &without), most, "another family's memories help")
	assert.Less(t, s.failures(&withTools), s.failures(&withTask), "tool memory spares calls that fail")

	var first, second strings.Builder
	require.NoError(t, s.print(&first))
	for _, part := range []string{
		"scripted player", "3 seeds", "5 to train on", "6 others to test on, n = 18 an arm", "One attempt at each cellar",
		"| no memory | ", " ± ", "| control: another family's memories | ", "on 3 of 3 seeds |",
	} {
		assert.Contains(t, first.String(), part, "a figure says how it was measured")
	}
	s, err = newSeries(t.Context(), seeds, 5, 6)
	require.NoError(t, err)
	require.NoError(t, s.print(&second))
	assert.Equal(t, first.String(), second.String(), "there is no chance")
	_, err = newSeries(t.Context(), 0, 5, 6)
	require.ErrorContains(t, err, "-seeds")
}

// known returns all that the workspace holds.
func (m *memory) known(t *testing.T) (all []backends.Memory) {
	for r := (&backends.ListRequest{Scope: workspace}); ; {
		page, err := m.backend.List(t.Context(), r)
		require.NoError(t, err)
		all = append(all, page.Memories...)
		if r.Cursor = page.Next; r.Cursor == "" {
			return all
		}
	}
}

func TestWhatIsLearntAreTheRulesOfTheFamily(t *testing.T) {
	c := newCourse(2, 8, 1)
	for _, a := range []*arm{&withTools, &irrelevant} {
		want := map[bool]rules{false: c.rules, true: c.foreignRules}[a.foreign]
		var texts []string
		used := 0
		for _, m := range trained(t, c, a).known(t) {
			texts = append(texts, strings.ToLower(m.Text))
			if n, _ := m.Metadata["freq"].(float64); n > 0 {
				used++
			}
		}
		learnt := strings.Join(texts, "\n")
		assert.Contains(t, learnt, "do not step on "+want.pit+" ground", "%v", want)
		assert.NotContains(t, learnt, want.pit+" ground holds")
		assert.Contains(t, learnt, "in calls of open_door write colour "+string(want.form), "%v", want)
		assert.Contains(t, learnt, "in calls of scan keep radius at", "%v", want)
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
	assert.Equal(t, bare, empty)
}

func TestMemoriesWithTheirWordsShuffledDoNotHelp(t *testing.T) {
	c := newCourse(1, 8, 12)
	m := trained(t, c, &withTools)
	var straight, shuffled []*schema.Message
	r := rand.New(rand.NewPCG(1, 1))
	for _, known := range m.known(t) {
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

func TestMeansAndDeviations(t *testing.T) {
	s := &series{results: map[*arm][]result{&without: {{4, 1, 8}, {4, 2, 0}, {4, 3, 4}}, &withTask: {{4, 1, 0}, {4, 3, 0}, {4, 4, 0}}, &cautious: {{4, 3, 0}}}}
	mean, sd := s.rate(&without)
	assert.Equal(t, []float64{50, 25, 1}, []float64{mean, sd, s.failures(&without)})
	assert.Equal(t, 2, s.better(&withTask, &without))
	mean, sd = s.rate(&cautious)
	assert.Equal(t, []float64{75, 0}, []float64{mean, sd}, "one seed does not deviate")
}

// walk goes the shortest safe way from one cell to another.
func walk(t *testing.T, v *visit, to point) {
	t.Helper()
	for v.at != to {
		for _, d := range directions {
			next := v.at.to(d)
			left := v.way(next, to)
			if !v.wallAt(next) && !v.pitAt(next) && left >= 0 && left < v.way(v.at, to) {
				_, err := v.move(d.name)
				require.NoError(t, err)
				break
			}
		}
	}
}

func TestCellarsFollowFromTheSeedAndDiffer(t *testing.T) {
	for seed := range uint64(5) {
		assert.Equal(t, drawRules(seed), drawRules(seed))
		other := drawRules(seed).other(seed + 1)
		assert.NotEqual(t, drawRules(seed).pit, other.pit)
		assert.NotEqual(t, drawRules(seed).form, other.form)
		assert.True(t, drawRules(seed).most < other.least || other.most < drawRules(seed).least)

		c, seen := newCourse(seed, 20, 40), map[string]bool{}
		for _, at := range append(append(c.train[:len(c.train):len(c.train)], c.foreignTraining...), c.test...) {
			cells := fmt.Sprint(at.cells)
			require.False(t, seen[cells] || seen[at.name], "a test cellar is none of the training cellars")
			seen[cells], seen[at.name] = true, true
		}
		assert.Equal(t, c.train[3].task(), newCourse(seed, 5, 1).train[3].task())
		assert.NotContains(t, c.train[0].task(), c.rules.pit)
		assert.NotContains(t, c.train[0].task(), "the "+c.rules.form.write(c.train[0].colour)+" door")
		assert.NotContains(t, strings.ToLower(c.train[0].task()), "radius")
	}
}

func TestEveryCellarCanBeLeftWithTheRulesKnown(t *testing.T) {
	for seed := range uint64(8) {
		rules := drawRules(seed)
		for n := range 20 {
			c := drawCellar(rules, seed, n)
			v := c.visit()
			walk(t, v, c.key)
			require.True(t, v.hasKey)
			for _, d := range directions { // to where the door is next
				if next := c.door.to(d); c.way(c.key, next) >= 0 && c.way(c.key, next) < c.way(c.key, c.door) {
					walk(t, v, next)
				}
			}
			_, err := v.openDoor(c.colour + "!")
			require.ErrorContains(t, err, "does not know this colour")
			_, err = v.openDoor(rules.form.write(c.colour))
			require.NoError(t, err)
			_, err = v.openDoor(c.colour)
			require.ErrorContains(t, err, "no closed door")
			walk(t, v, c.door)
			walk(t, v, c.exit)
			require.True(t, v.over && v.out)
			require.InDelta(t, 1, v.score(), 0)
			require.Equal(t, 2, v.failures)
		}
	}
}

func TestAPitLooksLikeGroundAndEndsTheAttempt(t *testing.T) {
	rules, fallen := drawRules(1), 0
	for n := range 100 {
		v := drawCellar(rules, 1, n).visit()
		for _, d := range directions {
			at := v.at.to(d)
			before, err := v.look()
			require.NoError(t, err)
			inspected, err := v.inspect(d.name)
			require.NoError(t, err)
			after, err := v.move(d.name)
			require.NoError(t, err)
			require.Equal(t, &ground{at, after.Event != fell}, inspected.Ground)
			if after.Event != fell {
				continue
			}
			fallen++
			i := slices.IndexFunc(before.Near, func(p place) bool { return p.Where == at })
			require.Contains(t, sorts(before.Near[i].What), rules.pit)
			require.True(t, v.over)
			require.Zero(t, v.score())
			break
		}
	}
	assert.Greater(t, fallen, 10)
}

func TestToolsFailByTheRulesOfTheFamily(t *testing.T) {
	for seed := range uint64(8) {
		rules := drawRules(seed)
		v := drawCellar(rules, seed, 1).visit()
		for radius := range maxRadius + 2 {
			_, err := v.scan(radius)
			switch {
			case radius < 1 || radius > maxRadius:
				require.ErrorContains(t, err, "a radius is 1 to 5")
			case radius < rules.least || radius > rules.most:
				require.ErrorContains(t, err, "timed out")
			default:
				require.NoError(t, err)
			}
		}
	}
	v := drawCellar(drawRules(1), 1, 1).visit()
	_, err := v.openDoor("red")
	require.ErrorContains(t, err, "no closed door")
	_, err = v.move("up")
	require.ErrorContains(t, err, "a direction is")
	_, err = v.inspect("")
	require.ErrorContains(t, err, "a direction is")
}

func TestStrengthEnds(t *testing.T) {
	for _, do := range []func(v *visit) (*view, error){
		(*visit).look, func(v *visit) (*view, error) { return v.scan(0) }, func(v *visit) (*view, error) { return v.openDoor("?") },
	} {
		v := drawCellar(drawRules(1), 1, 3).visit()
		for calls := 0; !v.over; calls++ {
			_, _ = do(v)
			require.Less(t, calls, 200)
		}
		out, err := v.move("north")
		require.NoError(t, err)
		assert.Equal(t, exhausted, out.Event)
		assert.Zero(t, v.score())
	}
}
