// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// printRetrieval counts the hits for the questions of a data set: by words and all signals, by
// words alone, with each signal alone and with each one left out. It also counts the part that
// notes show.
func printRetrieval(ctx context.Context, b *bench) error {
	conversations, err := trial.Conversations(b.format, b.data)
	if err != nil {
		return err
	}
	arms := []arm{{"", conversations}}
	switch b.format {
	case "locomo", "realtalk":
		arms = append(arms, arm{", no names", changed(conversations, func(t *trial.Turn) { t.Speaker = "" })})
	case "reme":
		arms = append(arms, arm{", when_to_use alone", changed(conversations, func(t *trial.Turn) { t.Text = "" })})
	}
	trial.Head(b.out, append([]string{"arm"}, trial.FoundHeader...)...)
	chart := trial.Chart{Title: "Recall on " + b.format, X: "memories found", Y: "% of the evidence"}
	for _, a := range arms {
		if err := a.printFound(ctx, b, &chart); err != nil {
			return err
		}
	}
	if err := b.draw("recall", &chart); err != nil || b.format == "reme" { // the default backend has no experience
		return err
	}
	fmt.Fprintln(b.out)
	return printEvidence(ctx, b, arms)
}

// arm is a list of conversations, stored as a whole or in part.
type arm struct {
	name          string // behind the names of its rows
	conversations []trial.Conversation
}

// printFound prints the rows of one arm; only the first arm has rows of single signals.
func (a *arm) printFound(ctx context.Context, b *bench, chart *trial.Chart) (err error) {
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	if err := a.store(ctx, s); err != nil {
		return err
	}
	row := func(label string, of trial.Scores) {
		trial.Row(b.out, append([]any{label + a.name}, of.FoundCells()...)...)
	}
	change := func(label string, change func(*recall.Config)) (all trial.Scores) {
		if err != nil {
			return nil
		}
		if all, err = a.rank(ctx, s, change); err == nil {
			row(label, all)
		}
		return all
	}
	rank := func(label string, without ...string) trial.Scores {
		return change(label, func(c *recall.Config) { c.Without = without })
	}
	all := rank("all signals")
	all.ByCategory(func(name string, of trial.Scores) { row("all signals, "+name, of) })
	none := rank("none", recall.Signals()...)
	if err == nil {
		err = a.printPlain(row)
	}
	for i, k := range trial.Depths {
		chart.Add("all signals"+a.name, float64(k), all.Mean(i))
		chart.Add("words alone"+a.name, float64(k), none.Mean(i))
	}
	for _, c := range a.conversations[:min(20, len(a.conversations))] { // MemDaily has thousands
		row("all signals, "+c.ID, all.Of(func(s trial.Score) bool { return s.Conversation == c.ID }))
	}
	if a.name != "" || b.format == "reme" { // experience has no signals
		return err
	}
	for _, signal := range recall.Signals() {
		rank(signal+" alone", slices.DeleteFunc(recall.Signals(), func(other string) bool { return other == signal })...)
		rank("without "+signal, signal)
	}
	for _, w := range []struct {
		label string
		recall.Weight
	}{
		{"recency of MemoryBank", recall.Recency(recall.MemoryBank, weighed)},
		{"recency of Generative Agents", recall.Recency(recall.GenerativeAgents, weighed)},
		{"importance, as novelty", recall.Importance(weighed)},
	} {
		change(fmt.Sprintf("%s, %.0f %%", w.label, 100*weighed), func(c *recall.Config) { c.Weights = []recall.Weight{w.Weight} })
	}
	return err
}

// weighed is the share of a memory's value that depends on a weight.
const weighed = 0.3

// changed returns a copy with a change of each turn.
func changed(all []trial.Conversation, do func(*trial.Turn)) []trial.Conversation {
	out := slices.Clone(all)
	for i := range out {
		out[i].Turns = slices.Clone(out[i].Turns)
		for n := range out[i].Turns {
			do(&out[i].Turns[n])
		}
	}
	return out
}

// store stores each conversation in a partition of its own, a thousand turns at a time.
func (a *arm) store(ctx context.Context, records store.Records) error {
	words, err := recall.NewWords()
	if err != nil {
		return err
	}
	for user, c := range a.conversations {
		seen := map[string]bool{}
		for turns := range slices.Chunk(c.Turns, 1000) {
			batch := &store.Batch{}
			for i := range turns {
				m := memoryOf(&turns[i])
				m.Quality = novelty(seen, words.Of(m.Text))
				batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
			}
			if _, err := records.Apply(ctx, userOf(user), batch); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
	}
	return nil
}

// novelty returns the share of new words, 0 to 1: an importance by rules.
func novelty(seen, words map[string]bool) *float64 {
	unseen := 0.0
	for w := range words {
		if !seen[w] {
			seen[w] = true
			unseen++
		}
	}
	share := unseen / float64(max(1, len(words)))
	return &share
}

func memoryOf(t *trial.Turn) backends.Memory {
	kind := backends.KindEpisode
	if t.Use != "" {
		kind = backends.KindTask
	}
	origin := backends.Origin{Session: t.Session, Turn: t.ID, Speaker: t.Speaker, Role: t.Role}
	return backends.Memory{ID: t.ID, Kind: kind, Text: t.Text, WhenToUse: t.Use, Observed: t.Time, Origin: origin}
}

// rank lets package recall rank the stored turns for each question, at the end of its conversation,
// with its defaults except for a change.
func (a *arm) rank(ctx context.Context, records store.Records, change func(*recall.Config)) (out trial.Scores, err error) {
	var now time.Time
	cfg := &recall.Config{Records: records, Clock: func() time.Time { return now }}
	change(cfg)
	ranker, err := recall.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	for user, c := range a.conversations {
		now = time.Time{}
		for i := range c.Turns {
			now = slices.MaxFunc([]time.Time{now, c.Turns[i].Time}, time.Time.Compare)
		}
		for _, q := range c.Questions {
			results, err := find(ctx, ranker, user, q.Text, trial.Depths[len(trial.Depths)-1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			out = append(out, trial.Score{Conversation: c.ID, Category: q.Category, Columns: trial.Found(results, q.Evidence)})
		}
	}
	return out, nil
}
