// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/middleware"
)

// The sorts of requests whose notes are counted. Each has a column.
const (
	adversarial = "adversarial" // asks one person for the other's words
	foreign     = "foreign"     // its answer is in the next conversation
	everyday    = "everyday"    // an odd line of everydayRequests: the gate was written with it
	unseen      = "unseen"      // an even line: held out
	answerable  = "answerable"  // its answer is in the conversation
)

var sorts = []string{adversarial, foreign, everyday, unseen, answerable}

// perConversation is how many questions of a sort a conversation gets, at most.
const perConversation = 64

// thresholds are the compared values of Config.Threshold; below 0 all is shown.
var thresholds = []float64{-1, 0.06, 0.08, 0.10, 0.12, 0.15, 0.20, 0.25}

// everydayRequests need no memory, a line each. They were written before the gate was measured.
//
//go:embed everyday.txt
var everydayRequests string

// printNotes counts the notes of replies about conversations that are stored word for word.
func printNotes(ctx context.Context, b *bench) (err error) {
	conversations, err := trial.Conversations(b.format, b.data)
	if err != nil {
		return err
	}
	if len(conversations) < 2 {
		return fmt.Errorf("%s has %d conversations: questions of another one need two", b.data, len(conversations))
	}
	trial.Head(b.out, "threshold", "empty: adversarial %", "foreign %", "everyday %", "unseen everyday %", "answerable %", "an answer is in the note %", "kept %", "tokens a note")
	questions, shown := sorted(conversations), 0.0
	return remember(ctx, conversations, func(backend backends.Backend) error {
		for _, threshold := range thresholds {
			all, err := askAll(ctx, &middleware.Config{Backend: backend, Threshold: threshold, WholeTokens: -1}, questions)
			if err != nil {
				return err
			}
			row := []any{threshold}
			for _, sort := range sorts {
				asked := all.Of(func(s trial.Score) bool { return s.Category == sort })
				row = append(row, percent(len(asked.Of(isEmpty)), len(asked)))
			}
			answers := all.Of(func(s trial.Score) bool { return s.Category == answerable })
			notes := all.Of(func(s trial.Score) bool { return !isEmpty(s) })
			shown = max(shown, answers.Mean(3))
			trial.Row(b.out, append(row, fmt.Sprintf("%.1f", answers.Mean(3)), fmt.Sprintf("%.1f", 100*answers.Mean(3)/shown), int(notes.Mean(1)))...)
		}
		return nil
	})
}

func percent(n, of int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(max(1, of))) }

// isEmpty reports whether a note shows no memory but standing ones, which every note shows.
func isEmpty(s trial.Score) bool { return s.Columns[2] == 0 }

// sorted returns the requests of each sort, which are the categories.
func sorted(conversations []trial.Conversation) (out []asked) {
	for i, c := range conversations {
		next := conversations[(i+1)%len(conversations)]
		of := map[string][]trial.Question{
			adversarial: spread(c.Questions, true), foreign: spread(next.Questions, false),
			answerable: spread(c.Questions, false),
		}
		for n, line := range strings.Split(strings.TrimSpace(everydayRequests), "\n") {
			if sort := []string{everyday, unseen}[n%2]; n/2%len(conversations) == i {
				of[sort] = append(of[sort], trial.Question{Text: line})
			}
		}
		for _, sort := range sorts {
			for _, q := range of[sort] {
				out = append(out, asked{c.ID, sort, q})
			}
		}
	}
	return out
}

// spread returns at most perConversation of the questions that are adversarial, or of the others,
// evenly from all of them.
func spread(all []trial.Question, adversarial bool) []trial.Question {
	all = slices.DeleteFunc(slices.Clone(all), func(q trial.Question) bool { return (q.Category == trial.Adversarial) != adversarial })
	out := make([]trial.Question, min(perConversation, len(all)))
	for i := range out {
		out[i] = all[i*len(all)/len(out)]
	}
	return out
}
