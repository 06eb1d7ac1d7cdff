// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// The sorts of requests whose notes are counted. To each belongs a column.
const (
	adversarial = iota // asks one person for what the other said
	foreign            // is answered in the next conversation
	everyday           // see everydayRequests
	answerable         // is answered in the conversation
	sorts
)

// perConversation is how many questions of a sort a conversation is asked, at most.
const perConversation = 64

// thresholds are the values of Config.Threshold that are compared; below 0 all is shown.
var thresholds = []float64{-1, 0.06, 0.08, 0.10, 0.12, 0.15, 0.20, 0.25}

// everydayRequests need nothing that was said before.
var everydayRequests = []trial.Question{
	{Text: "hello there"}, {Text: "Good morning!"}, {Text: "ok"}, {Text: "thanks a lot"}, {Text: "Great, that works."}, {Text: "See you tomorrow"}, {Text: "你好"},
	{Text: "What is 17 times 23?"}, {Text: "Convert 5 miles to kilometres."}, {Text: "How many days does February have?"}, {Text: "Sort these numbers: 9, 4, 7."},
	{Text: "Translate 'the weather is nice' into French."}, {Text: "Summarise the following text in one sentence."}, {Text: "Fix the grammar of this sentence."},
	{Text: "Write a haiku about autumn leaves."}, {Text: "Write a regular expression for IPv4 addresses."}, {Text: "Explain how a binary search works."},
	{Text: "What is the capital of Australia?"}, {Text: "Who wrote Hamlet?"}, {Text: "Give me a synonym for quick."},
}

// printNotes counts what replies are shown of conversations that are stored word for word,
// each for a user of its own.
func printNotes(ctx context.Context, b *bench) (err error) {
	conversations, err := trial.Conversations(b.data)
	if err != nil {
		return err
	}
	if len(conversations) < 2 {
		return fmt.Errorf("%s has %d conversations: questions of another one need two", b.data, len(conversations))
	}
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
		for _, t := range c.Turns {
			said := &schema.Message{Role: schema.User, Name: t.Speaker, Content: t.Text}
			if _, err := backend.Add(ctx, &backends.AddRequest{
				Scope:    backends.Scope{UserID: c.ID, SessionID: t.Session},
				Messages: []backends.Message{{ID: t.ID, Turn: t.ID, Time: t.Time, Message: said}},
			}); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
	}
	trial.Head(b.out, "threshold", "empty: adversarial %", "foreign %", "everyday %", "answerable %", "an answer is in the note %", "tokens a note")
	for _, threshold := range thresholds {
		n, err := countNotes(ctx, backend, threshold, conversations)
		if err != nil {
			return err
		}
		row, notes, tokens := []any{threshold}, 0, 0
		for _, of := range n {
			row = append(row, percent(of.empty, of.asked))
			notes += of.asked - of.empty
			tokens += of.tokens
		}
		trial.Row(b.out, append(row, percent(n[answerable].answered, n[answerable].asked), tokens/max(1, notes))...)
	}
	return nil
}

func percent(n, of int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(max(1, of))) }

// counts sum up what was shown for the requests of a sort: notes that are empty, that have
// an answer, and the tokens of all.
type counts struct{ asked, empty, answered, tokens int }

// countNotes asks each conversation the questions of each sort.
func countNotes(
	ctx context.Context, backend backends.Backend, threshold float64, conversations []trial.Conversation,
) (out [sorts]counts, err error) {
	note, failed := hooks.Note{}, error(nil)
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend, Threshold: threshold, SearchTimeout: -1,
		OnNote:  func(_ context.Context, n hooks.Note) { note = n },
		OnError: func(_ context.Context, _ string, err error) { failed = errors.Join(failed, err) },
	})
	if err != nil {
		return out, err
	}
	for i, c := range conversations {
		ctx := middleware.WithScope(ctx, middleware.Scope{UserID: c.ID, SessionID: "questions"})
		next := conversations[(i+1)%len(conversations)]
		for sort, questions := range [sorts][]trial.Question{
			adversarial: spread(c.Questions, true), foreign: spread(next.Questions, false), everyday: everydayRequests, answerable: spread(c.Questions, false),
		} {
			for _, q := range questions {
				note = hooks.Note{} // a greeting has none
				_, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage(q.Text)})
				failed = errors.Join(failed, err)
				out[sort].add(&note, q.Evidence)
			}
		}
	}
	return out, errors.Join(failed, mem.Close(ctx))
}

func (c *counts) add(n *hooks.Note, answers []string) {
	c.asked++
	if n.Text == "" {
		c.empty++
		return
	}
	c.tokens += compaction.Estimate(n.Text)
	if slices.ContainsFunc(n.Hits, func(h backends.Hit) bool { return slices.Contains(answers, h.Origin.Turn) }) {
		c.answered++
	}
}

// spread returns at most perConversation of the questions that are adversarial or are not,
// evenly from all of them.
func spread(all []trial.Question, adversarial bool) []trial.Question {
	all = slices.DeleteFunc(slices.Clone(all), func(q trial.Question) bool { return (q.Category == trial.Adversarial) != adversarial })
	out := make([]trial.Question, min(perConversation, len(all)))
	for i := range out {
		out[i] = all[i*len(all)/len(out)]
	}
	return out
}
