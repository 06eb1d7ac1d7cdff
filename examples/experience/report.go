// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// columns are the columns of the table after the rate of success.
var columns = []struct {
	name, format string
	of           func(*result) int
	aCellar      bool // per test cellar, else per seed
}{
	{"steps", "%.1f", func(r *result) int { return r.steps }, true},
	{"failed calls", "%.2f", func(r *result) int { return r.failures }, true},
	{"stored", "%.1f", func(r *result) int { return r.stored }, false},
	{"superseded", "%.1f", func(r *result) int { return r.superseded }, false},
	{"deleted", "%.1f", func(r *result) int { return r.deleted }, false},
	{"player calls", "%.0f", func(r *result) int { return r.played }, false},
	{"teacher calls", "%.0f", func(r *result) int { return r.taught }, false},
}

// print writes the table, and what it shows and does not show.
func (s *series) print(out io.Writer) error {
	o := s.options
	fmt.Fprintf(out, "%d seeds from %d on, each a family of cellars: %d to train on, %d others to test on.\n", o.seeds, o.seed, o.train, o.instances)
	if o.verbose {
		s.printLearnt(out)
	}
	fmt.Fprintln(out, "Means over seeds ± standard deviation over seeds; steps and failed calls are of a test cellar, the rest of a seed.")
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "arm\tgot out\t±\t")
	for _, c := range columns {
		fmt.Fprint(w, c.name+"\t")
	}
	fmt.Fprintln(w)
	for _, a := range arms {
		won := s.over(a, (*result).rate)
		fmt.Fprintf(w, "%s\t%.1f %%\t%.1f\t", a.name, 100*won.mean, 100*won.sd)
		for _, c := range columns {
			fmt.Fprintf(w, c.format+"\t", s.over(a, func(r *result) float64 {
				if c.aCellar {
					return float64(c.of(r)) / float64(max(r.tests, 1))
				}
				return float64(c.of(r))
			}).mean)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, arms := range comparisons {
		c := s.compare(arms.of, arms.to)
		fmt.Fprintf(out, "%s against %s: better on %d of %d seeds, worse on %d; %+.1f ± %.1f points\n",
			arms.of.name, arms.to.name, c.better, o.seeds, c.worse, c.points.mean, c.points.sd)
	}
	return s.printClaim(out)
}

// over returns the spread of what f says of an arm's results.
func (s *series) over(a *arm, f func(*result) float64) spread {
	var values []float64
	for _, r := range s.results[a] {
		values = append(values, f(r))
	}
	return spreadOf(values)
}

// printLearnt writes what the rules were, and what was learnt of them.
func (s *series) printLearnt(out io.Writer) {
	for i, c := range s.courses {
		fmt.Fprintf(out, "\nseed %d: %s\n", c.seed, c.rules)
		for _, m := range s.results[&withTools][i].memories {
			text, _, _ := strings.Cut(m.Text, "\n")
			fmt.Fprintf(out, "  %s: %s\n", m.Kind, text)
		}
		fmt.Fprintf(out, "  control: %s\n", c.foreignRules)
	}
	fmt.Fprintln(out)
}

// comparisons are arms that have the same attempts.
var comparisons = []struct{ of, to *arm }{
	{&withTask, &without}, {&withTools, &without}, {&withTask, &cautious}, {&forgetting, &withTask}, {&irrelevant, &without}, {&withRetry, &withoutRetry},
}

// comparison is how an arm did against another, seed by seed.
type comparison struct {
	better, worse int
	points        spread // of a hundred
}

func (s *series) compare(of, to *arm) comparison {
	var c comparison
	var gains []float64
	for i, r := range s.results[of] {
		gain := r.rate() - s.results[to][i].rate()
		gains = append(gains, 100*gain)
		switch {
		case gain > 0:
			c.better++
		case gain < 0:
			c.worse++
		}
	}
	c.points = spreadOf(gains)
	return c
}

// The claim, and what stands in its place where the numbers do not support it.
const (
	claimed = `Claimed: what attempts at some cellars taught reaches the agent in other cellars of the family, and changes what it does there; what another family taught does not help.`
	nothing = `Claimed: nothing. Memory did not help on most seeds, or another family's did.`
)

// printClaim writes what the table shows and what it does not.
func (s *series) printClaim(out io.Writer) error {
	o := s.options
	mostly := func(of, to *arm) bool { return 2*s.compare(of, to).better > o.seeds }
	text := nothing
	if mostly(&withTask, &without) && !mostly(&irrelevant, &without) {
		text = claimed
	}
	_, err := fmt.Fprintf(out, `
Models: a scripted player and a scripted teacher: no language model, no network, no chance. Split: %d training and %d test cellars a seed, disjoint; n = %d test cellars an arm.
Attempts: one at each training cellar and one at each test cellar, in every arm; in the last two rows up to 3 at each test cellar, in both. There the arm with memory
keeps learning while it is tested, from attempts that end well (task.Retry); elsewhere nothing is learnt in tests. Success: the cellar says so, there is no judge.
%s
Not claimed: anything about how well language models learn or play, or about other tasks.
`, o.train, o.instances, o.seeds*o.instances, text)
	return err
}
