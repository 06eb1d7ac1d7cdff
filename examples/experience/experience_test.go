// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// Arms have the same attempts at the same cellars, and differ in what stands in the
// context alone.
func TestMemoryHelpsAndAnotherFamilysDoesNot(t *testing.T) {
	const most = 2
	s := &series{seeds: 3, train: 5, test: 6}
	require.NoError(t, s.run(t.Context()))
	for _, a := range arms {
		switch {
		case a.foreign:
			assert.Less(t, s.better(a.name, a.than), most, "another family's memories help")
		case a.than != "":
			assert.GreaterOrEqual(t, s.better(a.name, a.than), most, a.name)
		}
	}
	_, _, failed := s.means("task memory")
	_, _, spared := s.means("task and tool memory")
	assert.Less(t, spared, failed, "tool memory spares calls that fail")

	var first, second strings.Builder
	require.NoError(t, s.print(&first))
	for _, part := range []string{
		"scripted player", "3 seeds", "5 to train on", "6 others to test on, n = 18 an arm", "One attempt at each cellar",
		"| no memory | ", " ± ", "| control: another family's memories | ", "on 3 of 3 seeds |",
	} {
		assert.Contains(t, first.String(), part, "a figure says how it was measured")
	}
	require.NoError(t, s.run(t.Context()))
	require.NoError(t, s.print(&second))
	assert.Equal(t, first.String(), second.String(), "there is no chance")
	require.ErrorContains(t, (&series{}).run(t.Context()), "-seeds")
}

// known returns all that the workspace holds.
func (m *memory) known(t *testing.T) (all []backends.Memory) {
	for r := (&backends.ListRequest{Scope: scope("")}); ; {
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
	for _, a := range []*arm{{tools: true}, {tools: true, foreign: true}} {
		want := map[bool]rules{false: c.train[0].rules, true: c.foreign[0].rules}[a.foreign]
		var texts []string
		used := 0
		require.NoError(t, withMemory(t.Context(), func(m *memory) error {
			require.NoError(t, m.train(t.Context(), a, c))
			for _, m := range m.known(t) {
				texts = append(texts, strings.ToLower(m.Text))
				if n, _ := m.Metadata["freq"].(float64); n > 0 {
					used++
				}
			}
			return nil
		}))
		learnt := strings.Join(texts, "\n")
		assert.Contains(t, learnt, "do not step on "+want.pit+" ground", "%v", want)
		assert.NotContains(t, learnt, want.pit+" ground holds")
		assert.Contains(t, learnt, "in calls of open_door write colour "+forms[want.form].name, "%v", want)
		assert.Contains(t, learnt, "in calls of scan keep radius at", "%v", want)
		assert.Positive(t, used, "memories that an attempt began with are counted as used")
	}
}

// Experience reaches the agent through the middleware alone: with an empty workspace the
// agent with memory plays as the one without.
func TestWithoutTrainingMemoryChangesNothing(t *testing.T) {
	c := newCourse(3, 0, 8)
	bare, err := (&arm{attempts: 1}).play(t.Context(), c)
	require.NoError(t, err)
	empty, err := (&arm{attempts: 1, memory: true, tools: true}).play(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, bare, empty)
}

func TestMemoriesWithTheirWordsShuffledDoNotHelp(t *testing.T) {
	c := newCourse(1, 8, 12)
	var straight, shuffled []*schema.Message
	r := rand.New(rand.NewPCG(1, 1))
	require.NoError(t, withMemory(t.Context(), func(m *memory) error {
		require.NoError(t, m.train(t.Context(), &arm{tools: true}, c))
		for _, known := range m.known(t) {
			assert.Contains(t, []backends.Kind{backends.KindTask, backends.KindTool}, known.Kind)
			words := strings.Fields(known.Text)
			straight = append(straight, schema.UserMessage(known.Text))
			r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			shuffled = append(shuffled, schema.UserMessage(strings.Join(words, " ")))
		}
		return nil
	}))
	tested := func(known []*schema.Message) result {
		r, err := c.tested(func(at *cellar) ([]*visit, error) {
			v, _, err := (&agent{}).attempt(t.Context(), at, at.task(), known...)
			return []*visit{v}, err
		})
		require.NoError(t, err)
		return r
	}
	assert.Equal(t, tested(nil), tested(shuffled))
	assert.Greater(t, tested(straight).won, tested(shuffled).won)
}

func TestMeansAndDeviations(t *testing.T) {
	s := &series{seeds: 3, test: 4, results: map[string][]result{"a": {{1, 8}, {2, 0}, {3, 4}}, "b": {{1, 0}, {3, 0}, {4, 0}}}}
	mean, sd, failures := s.means("a")
	assert.Equal(t, []float64{50, 25, 1}, []float64{mean, sd, failures})
	assert.Equal(t, 2, s.better("b", "a"))
	s = &series{seeds: 1, test: 4, results: map[string][]result{"a": {{3, 0}}}}
	mean, sd, _ = s.means("a")
	assert.Equal(t, []float64{75, 0}, []float64{mean, sd}, "one seed does not deviate")
}

func TestCellarsFollowFromTheSeedAndDiffer(t *testing.T) {
	for seed := range uint64(5) {
		r, other := drawRules(seed), drawRules(seed).other(seed+1)
		assert.Equal(t, r, drawRules(seed))
		assert.NotEqual(t, r.pit, other.pit)
		assert.NotEqual(t, r.form, other.form)
		assert.True(t, r.most < other.least || other.most < r.least)

		c, seen := newCourse(seed, 20, 40), map[string]bool{}
		for _, at := range slices.Concat(c.train, c.foreign, c.test) {
			cells := fmt.Sprint(at.cells)
			require.False(t, seen[cells] || seen[at.name], "a test cellar is none of the training cellars")
			seen[cells], seen[at.name] = true, true
		}
		task := c.train[3].task()
		assert.Equal(t, task, newCourse(seed, 5, 1).train[3].task())
		assert.NotContains(t, task, r.pit)
		assert.NotContains(t, task, "the "+forms[r.form].write(c.train[3].colour)+" door")
		assert.NotContains(t, strings.ToLower(task), "radius")
	}
}

// do makes one call of a tool and returns what it answered, or its error as a text.
func (v *visit) do(t *testing.T, name, arguments string) (out view, failed string) {
	t.Helper()
	tools, err := v.tools()
	require.NoError(t, err)
	for _, one := range tools {
		if info, err := one.Info(t.Context()); err != nil || info.Name != name {
			continue
		}
		text, err := one.(tool.InvokableTool).InvokableRun(t.Context(), arguments)
		if err != nil {
			return out, err.Error()
		}
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out, ""
	}
	require.Fail(t, "no such tool", name)
	return out, ""
}

// walk goes the shortest safe way to a cell; a door that is closed ends it before.
func (v *visit) walk(t *testing.T, to point) {
	t.Helper()
	for v.at != to {
		step, _, ok := search(v.at, directions, func(p point) int {
			if v.cells[p] == "" || v.cells[p] == wallSight || v.pitAt(p) {
				return 0
			}
			return 1
		}, func(p point) bool { return p == to })
		require.True(t, ok)
		if v.cells[v.at.Add(step.point)] == closedSight {
			return
		}
		v.do(t, "move", fmt.Sprintf(`{"direction":%q}`, step.name))
	}
}

func TestEveryCellarCanBeLeftWithTheRulesKnown(t *testing.T) {
	for seed := range uint64(8) {
		rules := drawRules(seed)
		for n := range 10 {
			c := drawCellar(rules, seed, n)
			v := c.visit()
			v.left += 10 // for what fails on purpose
			_, failed := v.do(t, "open_door", `{"colour":"red"}`)
			require.Regexp(t, "no closed door|no key", failed)
			v.walk(t, c.key)
			require.True(t, v.hasKey)
			v.walk(t, c.door)
			_, failed = v.do(t, "open_door", `{"colour":"a"}`)
			require.Contains(t, failed, "does not know this colour")
			out, failed := v.do(t, "open_door", fmt.Sprintf(`{"colour":%q}`, forms[rules.form].write(c.colour)))
			require.Empty(t, failed)
			require.Equal(t, opened, out.Event)
			v.walk(t, c.exit)
			require.True(t, v.over)
			require.InDelta(t, 1, v.score, 0)
			require.Equal(t, 2, v.failures)
		}
	}
}

func TestAPitLooksLikeGroundAndEndsTheAttempt(t *testing.T) {
	rules, fallen := drawRules(1), 0
	for n := range 100 {
		v := drawCellar(rules, 1, n).visit()
		before, _ := v.do(t, "look", "{}")
		for i, d := range directions {
			if arguments := fmt.Sprintf(`{"direction":%q}`, d.name); v.pitAt(before.Near[i].Where) {
				inspected, _ := v.do(t, "inspect", arguments)
				require.Equal(t, &place{before.Near[i].Where, "gives way"}, inspected.Ground)
				after, _ := v.do(t, "move", arguments)
				require.Equal(t, fell, after.Event)
				require.Contains(t, sorts(before.Near[i].What), rules.pit)
				require.True(t, v.over)
				require.Zero(t, v.score)
				fallen++
				break
			}
		}
	}
	assert.Greater(t, fallen, 10)
}

func TestToolsFailByTheRulesOfTheFamily(t *testing.T) {
	for seed := range uint64(8) {
		rules := drawRules(seed)
		v := drawCellar(rules, seed, 1).visit()
		for radius := range maxRadius + 2 {
			_, failed := v.do(t, "scan", fmt.Sprintf(`{"radius":%d}`, radius))
			assert.Equal(t, radius < rules.least || radius > rules.most, strings.Contains(failed, "timed out"))
		}
		out, _ := v.do(t, "move", `{"direction":"up"}`)
		assert.Equal(t, "There is no way up.", out.Event)
	}
}

func TestStrengthEnds(t *testing.T) {
	for tool, arguments := range map[string]string{"look": "{}", "scan": `{"radius":0}`, "open_door": `{"colour":"?"}`} {
		v := drawCellar(drawRules(1), 1, 3).visit()
		for calls := 0; !v.over; calls++ {
			v.do(t, tool, arguments)
			require.Less(t, calls, 200)
		}
		out, _ := v.do(t, "move", `{"direction":"north"}`)
		assert.Equal(t, exhausted, out.Event)
		assert.Zero(t, v.score)
	}
}
