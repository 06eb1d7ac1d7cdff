// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// budgets are the tokens of the compared notes.
var budgets = []int{250, 400, 1000, 2000}

// printEvidenceAlone is the second table of retrieval.
func printEvidenceAlone(ctx context.Context, b *bench) error {
	conversations, err := trial.Conversations(b.format, b.data)
	if err != nil {
		return err
	}
	return printEvidence(ctx, b, []arm{{"", conversations}})
}

// printEvidence counts what the notes of replies show of the evidence at equal budgets.
func printEvidence(ctx context.Context, b *bench, arms []arm) error {
	trial.Head(b.out, "note of at most", "queries", "evidence in the note %", "95 %", "by turns alone %", "tokens, mean", "bullets, mean")
	chart := trial.Chart{Title: "Evidence in the note on " + b.format, X: "tokens of the note", Y: "% of the evidence"}
	for _, a := range arms {
		err := remember(ctx, a.conversations, func(backend backends.Backend) error {
			for _, budget := range budgets {
				notes, err := askAll(ctx, &middleware.Config{Backend: backend, NoteTokens: budget, WholeTokens: -1}, a.questions())
				if err != nil {
					return err
				}
				row := func(name string, of trial.Scores) {
					trial.Row(b.out, fmt.Sprint(budget, " tokens", name, a.name), len(of), fmt.Sprintf("%.1f", of.Mean(0)), of.Interval(0, "%.1f"),
						fmt.Sprintf("%.1f", of.Mean(4)), fmt.Sprintf("%.0f", of.Mean(1)), fmt.Sprintf("%.1f", of.Mean(2)))
				}
				row("", notes)
				if budget == 400 || budget == 1000 {
					notes.ByCategory(func(name string, of trial.Scores) { row(", "+name, of) })
				}
				chart.Add("default backend"+a.name, float64(budget), notes.Mean(0))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.draw("evidence", &chart)
}

// questions returns the questions of each conversation, by their own categories.
func (a *arm) questions() (out []asked) {
	for _, c := range a.conversations {
		for _, q := range c.Questions {
			out = append(out, asked{c.ID, q.Category, q})
		}
	}
	return out
}

// shown returns the share of the evidence that a note shows, and the share of the turns that it has
// of it, in part or whole.
func shown(n *hooks.Note, q *trial.Question, words *recall.Words) (evidence, turns float64) {
	for _, id := range q.Evidence {
		at := slices.IndexFunc(n.Hits, func(h backends.Hit) bool { return h.Origin.Turn == id })
		if at < 0 {
			continue
		}
		turns++
		if strings.Contains(n.Text, q.Shows) && (q.Shows != "" || says(&n.Hits[at], string(q.Answer), words)) {
			evidence++
		}
	}
	all := float64(max(1, len(q.Evidence)))
	return evidence / all, turns / all
}

// says reports whether the shown part of a turn has all words of the answer that the turn has. If
// the turn has none of them, it counts only whole.
func says(h *backends.Hit, answer string, words *recall.Words) bool {
	if h.Passage == "" || h.Passage == h.Text {
		return true
	}
	all, part, some := words.Of(h.Text), words.Of(h.Passage), false
	for w := range words.Of(answer) {
		if all[w] && !part[w] {
			return false
		}
		some = some || all[w]
	}
	return some
}

// remember lets the default backend keep conversations word for word, each for a user of its own.
// It has no model and no embedder; all settings are the defaults.
func remember(ctx context.Context, conversations []trial.Conversation, do func(backends.Backend) error) error {
	return place.WithBackend(ctx, place.SQLite, func(_ *place.Opened, backend backends.Backend) error {
		for _, c := range conversations {
			for stored := 0; stored < len(c.Turns); {
				req := nextTurns(&c, stored, len(c.Turns))
				if _, err := backend.Add(ctx, req); err != nil {
					return fmt.Errorf("%s: %w", c.ID, err)
				}
				stored += len(req.Messages)
			}
		}
		return do(backend)
	})
}

// nextTurns returns the turns from one on, up to another, of one session, at most 50.
func nextTurns(c *trial.Conversation, from, until int) *backends.AddRequest {
	req := &backends.AddRequest{Scope: backends.Scope{UserID: c.ID, SessionID: c.Turns[from].Session}}
	for _, t := range c.Turns[from:min(until, from+50)] {
		if t.Session != req.Scope.SessionID {
			break
		}
		said := &schema.Message{Role: schema.RoleType(cmp.Or(t.Role, "user")), Name: t.Speaker, Content: t.Text}
		req.Messages = append(req.Messages, backends.Message{ID: t.ID, Turn: t.ID, Time: t.Time, Message: said})
	}
	return req
}

// asked is a question of a user whose own conversation is the memory.
type asked struct {
	user, category string
	trial.Question
}

// askAll has replies prepared as the program of an agent does. The columns are the percent of the
// evidence in the note, its tokens, its bullets, 100 if it has any evidence, and the percent by turns.
func askAll(ctx context.Context, cfg *middleware.Config, all []asked) (out trial.Scores, err error) {
	var note hooks.Note
	var failed error
	words, err := recall.NewWords()
	if err != nil {
		return nil, err
	}
	cfg.SearchTimeout = -1
	cfg.OnNote = func(_ context.Context, n hooks.Note) { note = n }
	cfg.OnError = func(_ context.Context, _ string, err error) { failed = errors.Join(failed, err) }
	mem, err := middleware.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	for _, q := range all {
		note = hooks.Note{} // a greeting leaves it empty
		ctx := middleware.WithScope(ctx, middleware.Scope{UserID: q.user, SessionID: "questions"})
		_, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage(q.Text)})
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		share, turns := shown(&note, &q.Question, words)
		figures := []float64{100 * share, float64(compaction.Estimate(note.Text)), float64(strings.Count(note.Text, "\n- ")), 100 * math.Ceil(share), 100 * turns}
		out = append(out, trial.Score{Conversation: q.user, Category: q.category, Columns: figures})
	}
	return out, nil
}
