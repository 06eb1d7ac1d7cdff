// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// budgets are the tokens of notes that are compared.
var budgets = []int{250, 500, 1000, 2000}

// printEvidence counts what the notes of replies show of the evidence at equal budgets.
func printEvidence(ctx context.Context, b *bench, arms []arm) error {
	trial.Head(b.out, "note of at most", "queries", "evidence in the note %", "95 %", "tokens, mean", "bullets, mean")
	chart := trial.Chart{Title: "Evidence in the note on " + b.format, X: "tokens of the note", Y: "% of the evidence"}
	for _, a := range arms {
		err := remember(ctx, a.conversations, func(backend backends.Backend) error {
			for _, budget := range budgets {
				notes, err := a.notes(ctx, backend, budget)
				if err != nil {
					return err
				}
				row := func(name string, of scores) {
					trial.Row(b.out, fmt.Sprint(budget, " tokens", name, a.name), len(of), fmt.Sprintf("%.1f", of.mean(0)), of.interval(0, "%.1f"),
						fmt.Sprintf("%.0f", of.mean(1)), fmt.Sprintf("%.1f", of.mean(2)))
				}
				row("", notes)
				if budget == 1000 {
					notes.byCategory(func(name string, of scores) { row(", "+name, of) })
				}
				chart.Add("default backend"+a.name, float64(budget), notes.mean(0))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.draw("evidence", &chart)
}

// notes asks each conversation its questions. The columns are the percent of the evidence that
// is in the note, its tokens and its bullets.
func (a *arm) notes(ctx context.Context, backend backends.Backend, budget int) (out scores, err error) {
	err = read(ctx, &middleware.Config{Backend: backend, NoteTokens: budget}, func(ask asker) error {
		for _, c := range a.conversations {
			for _, q := range c.Questions {
				n, err := ask(c.ID, q.Text)
				if err != nil {
					return err
				}
				figures := []float64{100 * shown(&n, &q), float64(compaction.Estimate(n.Text)), float64(len(n.Hits))}
				out = append(out, score{c.ID, q.Category, figures})
			}
		}
		return nil
	})
	return out, err
}

// shown returns the share of the evidence that a note shows.
func shown(n *hooks.Note, q *trial.Question) float64 {
	seen := 0.0
	for _, id := range q.Evidence {
		if strings.Contains(n.Text, q.Shows) && slices.ContainsFunc(n.Hits, func(h backends.Hit) bool { return h.Origin.Turn == id }) {
			seen++
		}
	}
	return seen / float64(len(q.Evidence))
}

// remember has the default backend keep conversations word for word, each for a user of its
// own, without a model, an embedder or anything else that is not the default.
func remember(ctx context.Context, conversations []trial.Conversation, do func(backends.Backend) error) (err error) {
	s, err := openSQLite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: s})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
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

// asker returns what a reply to a user is shown.
type asker func(user, said string) (hooks.Note, error)

// read has do ask for notes, as the program of an agent does.
func read(ctx context.Context, cfg *middleware.Config, do func(asker) error) error {
	var note hooks.Note
	var failed error
	cfg.SearchTimeout = -1
	cfg.OnNote = func(_ context.Context, n hooks.Note) { note = n }
	cfg.OnError = func(_ context.Context, _ string, err error) { failed = errors.Join(failed, err) }
	mem, err := middleware.New(ctx, cfg)
	if err != nil {
		return err
	}
	ask := func(user, said string) (hooks.Note, error) {
		note = hooks.Note{} // a greeting has none
		ctx := middleware.WithScope(ctx, middleware.Scope{UserID: user, SessionID: "questions"})
		_, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage(said)})
		return note, errors.Join(err, failed)
	}
	return errors.Join(do(ask), mem.Close(ctx))
}
