// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is an arm with its results, one a seed.
type row struct {
	arm     *arm
	results []*result
}

// print writes the table, and what it says and does not say.
func (s *series) print(out io.Writer) error {
	o := s.options
	fmt.Fprintf(out, "%d seeds from %d on, each a family of cellars: %d to train on, %d others to test on.\n", o.seeds, o.seed, o.train, o.instances)
	if o.verbose {
		s.tell(out)
	}
	fmt.Fprintln(out, "Means over seeds ± standard deviation over seeds; steps and failed calls are of a test cellar, the rest of a seed.")
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "arm\tgot out\t±\tsteps\tfailed calls\tstored\tsuperseded\tdeleted\tplayer calls\tteacher calls\t")
	for _, r := range s.rows {
		r.print(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, arms := range comparisons {
		c := s.compare(arms.of, arms.to)
		fmt.Fprintf(out, "%s against %s: better on %d of %d seeds, worse on %d; %+.1f ± %.1f points\n",
			arms.of.name, arms.to.name, c.better, c.seeds, c.worse, c.points.mean, c.points.sd)
	}
	return s.claim(out)
}

func (r *row) print(w io.Writer) {
	won := over(r.results, (*result).rate)
	mean := func(f func(*result) int) float64 {
		return over(r.results, func(r *result) float64 { return float64(f(r)) }).mean
	}
	fmt.Fprintf(w, "%s\t%.1f %%\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t\n", r.arm.name, 100*won.mean, 100*won.sd,
		over(r.results, each(func(r *result) int { return r.steps })).mean, over(r.results, each(func(r *result) int { return r.failures })).mean,
		mean(func(r *result) int { return r.stored }), mean(func(r *result) int { return r.superseded }), mean(func(r *result) int { return r.deleted }),
		mean(func(r *result) int { return r.played }), mean(func(r *result) int { return r.taught }))
}

// tell writes what the rules were, and what was learnt of them.
func (s *series) tell(out io.Writer) {
	for i, c := range s.courses {
		fmt.Fprintf(out, "\nseed %d: %s\n", c.seed, c.rules)
		for _, m := range s.row(&withTools).results[i].memories {
			text, _, _ := strings.Cut(m.Text, "\n")
			fmt.Fprintf(out, "  %s: %s\n", m.Kind, text)
		}
		fmt.Fprintf(out, "  control: %s\n", c.foreignRules)
	}
	fmt.Fprintln(out)
}

// comparisons are the arms that have the same attempts, and are set against each other.
var comparisons = []struct{ of, to *arm }{
	{&withTask, &without}, {&withTools, &without}, {&withTask, &cautious}, {&forgetting, &withTask}, {&irrelevant, &without}, {&withRetry, &withoutRetry},
}

// comparison is how an arm did against another, seed by seed.
type comparison struct {
	seeds, better, worse int
	points               spread // of a hundred
}

func (s *series) compare(of, to *arm) comparison {
	a, b := s.row(of), s.row(to)
	c := comparison{seeds: len(a.results)}
	var gains []float64
	for i := range a.results {
		gain := a.results[i].rate() - b.results[i].rate()
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

// clear reports whether the arm did better on most seeds.
func (c comparison) clear() bool { return 2*c.better > c.seeds }

func (s *series) row(a *arm) *row {
	for _, r := range s.rows {
		if r.arm.name == a.name {
			return r
		}
	}
	return &row{arm: a}
}

// The claim, and what stands in its place where the numbers do not bear it out.
const (
	claimed = `Claimed: what attempts at some cellars taught reaches the agent in other cellars of the family, and changes what it does there; what another family taught does not help.`
	nothing = `Claimed: nothing. Memory did not help on most seeds, or another family's did.`
)

// claim says what the table shows and what it does not.
func (s *series) claim(out io.Writer) error {
	o := s.options
	text := nothing
	if s.compare(&withTask, &without).clear() && !s.compare(&irrelevant, &without).clear() {
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
