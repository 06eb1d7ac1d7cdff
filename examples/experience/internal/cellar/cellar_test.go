// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package cellar_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/experience/internal/cellar"
)

func TestTheSameNumbersMakeTheSameCellar(t *testing.T) {
	rules := cellar.DrawRules(3)
	assert.Equal(t, rules, cellar.DrawRules(3))
	a, b := cellar.Draw(rules, 3, 7), cellar.Draw(rules, 3, 7)
	assert.Equal(t, a.Map(), b.Map())
	assert.Equal(t, a.Task(), b.Task())
	assert.NotEqual(t, a.Map(), cellar.Draw(rules, 3, 8).Map())
}

// What is met in training is not met again in a test: the maps differ, too.
func TestNoTwoCellarsOfASeedAreAlike(t *testing.T) {
	for seed := range uint64(5) {
		rules := cellar.DrawRules(seed)
		maps := map[string]int{}
		for n := range 60 {
			c := cellar.Draw(rules, seed, n)
			at, known := maps[c.Map()]
			require.Falsef(t, known, "seed %d: %d is %d", seed, n, at)
			maps[c.Map()] = n
		}
	}
}

func TestAnotherFamilySharesNoRule(t *testing.T) {
	for seed := range uint64(50) {
		a := cellar.DrawRules(seed)
		b := a.Other(seed + 1)
		assert.NotEqual(t, a.Pit, b.Pit)
		assert.NotEqual(t, a.Colour, b.Colour)
		assert.True(t, a.Most < b.Least || b.Most < a.Least, "%v and %v", a, b)
	}
}

// Whoever knows the rules and the way gets out of every cellar, with strength to spare.
func TestEveryCellarCanBeLeft(t *testing.T) {
	for seed := range uint64(8) {
		rules := cellar.DrawRules(seed)
		for n := range 40 {
			c := cellar.Draw(rules, seed, n)
			v := c.Visit()
			for _, step := range c.Way() {
				var err error
				switch step {
				case "key":
				case "door":
					_, err = v.Open(c.Colour())
				default:
					_, err = v.Move(step)
				}
				require.NoError(t, err)
			}
			require.True(t, v.Over(), "%v\n%s%v", rules, c.Map(), c.Way())
			require.InDelta(t, 1, v.Score(), 0)
			require.Zero(t, v.Failures())
		}
	}
}

func TestTheTaskDoesNotTellTheRules(t *testing.T) {
	for seed := range uint64(20) {
		rules := cellar.DrawRules(seed)
		c := cellar.Draw(rules, seed, 0)
		task := c.Task()
		assert.NotContains(t, task, rules.Pit)
		assert.NotContains(t, task, "the "+c.Colour()+" door")
		assert.NotContains(t, strings.ToLower(task), "radius")
	}
}

var here = regexp.MustCompile(`You are at \((\d+),(\d+)\)`)

func TestAPitLooksLikeGroundAndEndsTheAttempt(t *testing.T) {
	rules := cellar.DrawRules(1)
	fallen := 0
	for n := range 100 {
		v := cellar.Draw(rules, 1, n).Visit()
		for _, direction := range []string{"north", "east", "south", "west"} {
			before, err := v.Look()
			require.NoError(t, err)
			inspected, err := v.Inspect(direction)
			require.NoError(t, err)
			after, err := v.Move(direction)
			require.NoError(t, err)
			if !strings.Contains(after, "fall into a pit") {
				require.Contains(t, inspected, "holds")
				continue
			}
			fallen++
			require.Contains(t, inspected, "would give way")
			m := here.FindStringSubmatch(after)
			require.Regexp(t, regexp.MustCompile(direction+` \(`+m[1]+`,`+m[2]+`\): .*`+rules.Pit+`.* ground`), before)
			require.True(t, v.Over())
			require.Zero(t, v.Score())
			break
		}
	}
	assert.Greater(t, fallen, 10)
}

func TestToolsFailByTheRulesOfTheFamily(t *testing.T) {
	for seed := range uint64(8) {
		rules := cellar.DrawRules(seed)
		v := cellar.Draw(rules, seed, 1).Visit()
		failures := 0
		for radius := range cellar.MaxRadius + 2 {
			_, err := v.Scan(radius)
			switch {
			case radius < 1 || radius > cellar.MaxRadius:
				require.ErrorIs(t, err, cellar.ErrRadius)
			case radius < rules.Least || radius > rules.Most:
				require.ErrorIs(t, err, cellar.ErrTimeout)
			default:
				require.NoError(t, err)
				continue
			}
			failures++
			require.Equal(t, failures, v.Failures())
		}
	}
	v := cellar.Draw(cellar.DrawRules(1), 1, 1).Visit()
	_, err := v.Open("red")
	require.ErrorIs(t, err, cellar.ErrNoDoor)
	_, err = v.Move("up")
	require.ErrorIs(t, err, cellar.ErrDirection)
	_, err = v.Inspect("")
	require.ErrorIs(t, err, cellar.ErrDirection)
}

func TestTheLockWantsTheKeyAndTheForm(t *testing.T) {
	c := cellar.Draw(cellar.DrawRules(2), 2, 0)
	v := c.Visit()
	for _, step := range c.Way() {
		switch step {
		case "key":
		case "door":
			_, err := v.Open(c.Colour() + "!")
			require.ErrorIs(t, err, cellar.ErrRefused)
			out, err := v.Open(c.Colour())
			require.NoError(t, err)
			require.Contains(t, out, "door is open")
			_, err = v.Open(c.Colour())
			require.ErrorIs(t, err, cellar.ErrNoDoor)
			return
		default:
			_, err := v.Move(step)
			require.NoError(t, err)
		}
	}
}

func TestStrengthEnds(t *testing.T) {
	v := cellar.Draw(cellar.DrawRules(1), 1, 3).Visit()
	calls := 0
	for ; !v.Over(); calls++ {
		_, err := v.Look()
		require.NoError(t, err)
		require.Less(t, calls, 200)
	}
	assert.Equal(t, calls, v.Steps())
	out, err := v.Move("north")
	require.NoError(t, err)
	assert.Equal(t, "No strength is left. It is over.", out)
	assert.Zero(t, v.Score())
	for _, failing := range []func(v *cellar.Visit) error{
		func(v *cellar.Visit) error { _, err := v.Scan(0); return err },
		func(v *cellar.Visit) error { _, err := v.Open("?"); return err },
	} {
		v := cellar.Draw(cellar.DrawRules(1), 1, 3).Visit()
		var err error
		for range 100 {
			if v.Over() {
				break
			}
			err = failing(v)
		}
		require.ErrorContains(t, err, "It is over.")
	}
}

func TestForms(t *testing.T) {
	assert.Equal(t, "BLUE", cellar.Capitals.Of("blue"))
	assert.Equal(t, "Blue", cellar.Capitalised.Of("blue"))
	assert.Equal(t, "b", cellar.Initial.Of("blue"))
	assert.Contains(t, cellar.Rules{Pit: "wet", Colour: cellar.Initial, Least: 1, Most: 2}.String(), "radius 1 to 2")
}
