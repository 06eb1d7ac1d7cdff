// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
