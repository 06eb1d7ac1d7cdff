// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// holds reports whether a memory is current.
func holds(m *backends.Memory) bool { return m.Active() && !m.Expired(backends.SystemClock()) }

// text is the beginning of a memory's text, in a table.
func text(m *backends.Memory) string { return short(strings.TrimPrefix(m.WhenToUse+": "+m.Text, ": ")) }

func short(text string) string { return fmt.Sprintf("%.100s", line(text)) }

// holding counts the data of a partition.
type holding struct {
	backends.Partition
	Hold     int   `json:"hold"`  // memories
	Ended    int   `json:"ended"` // superseded, retracted and expired ones
	Sessions int   `json:"sessions"`
	Messages int64 `json:"messages"`
	Unlearnt int64 `json:"unlearnt"`    // messages that are still to be learnt
	Over     int64 `json:"over_budget"` // of these, the ones that wait for the next day's budget
	Failed   int   `json:"failed"`      // stretches of messages that could not be learnt from: see retry
}

// stats counts the data of each owner, and for all of them what waits and what memory cost.
func stats(ctx context.Context, c *call) error {
	err := c.each(ctx, func(p backends.Partition) error {
		h := &holding{Partition: p}
		memories, err := c.ranker.All(ctx, p)
		if err != nil {
			return err
		}
		for _, m := range memories {
			if holds(m) {
				h.Hold++
			}
		}
		sessions, err := c.sessions(ctx, p)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			h.Messages, h.Unlearnt, h.Failed = h.Messages+s.LastSeq, h.Unlearnt+s.LastSeq-s.Watermark, h.Failed+len(s.Failures)
			if s.Retry.OverBudget {
				h.Over += s.LastSeq - s.Watermark
			}
		}
		h.Ended, h.Sessions = len(memories)-h.Hold, len(sessions)
		c.row("WHOSE HOLD ENDED SESSIONS MESSAGES UNLEARNT OVER-BUDGET FAILED", h, where(p), h.Hold, h.Ended, h.Sessions, h.Messages, h.Unlearnt, h.Over, h.Failed)
		return nil
	})
	if err != nil || c.whose != nil {
		return err
	}
	if h, err := working.ReadHealth(ctx, c.db); err != nil {
		return err
	} else if h.Messages > 0 {
		c.row("UNLEARNT OLDEST FAILING OVER-BUDGET", h, h.Messages, h.Oldest, h.Failing, h.OverBudget)
	}
	days, err := c.usage.Days(ctx)
	for _, d := range days {
		if d != (rest.Day{Day: d.Day}) {
			c.row("DAY CALLS FAILED PROMPTS ANSWERS EMBEDDINGS TOKENS SEARCHES BY-WORDS IN-PART NOTES TOKENS", d, d.Day, d.ModelCalls, d.FailedCalls, d.PromptTokens,
				d.CompletionTokens, d.EmbeddingRequests, d.EmbeddingTokens, d.Searches, d.ByWords, d.InPart, d.Notes, d.NoteTokens)
		}
	}
	return err
}

// list lists partitions, or the data of one.
func list(ctx context.Context, c *call) error {
	switch {
	case c.whose == nil && (c.IsSet("session") || c.Bool("sessions") || c.IsSet("kind") || c.Bool("all")):
		return usage("list: name one by -user, -agent or -workspace")
	case c.whose == nil:
		return c.each(ctx, func(p backends.Partition) error {
			c.row("KIND ID", p, p.Kind, p.ID)
			return nil
		})
	case c.IsSet("session"):
		if _, err := c.db.Session(ctx, *c.whose, c.String("session")); err != nil {
			return err
		}
		all, err := c.messages(ctx, *c.whose, c.String("session"))
		for _, e := range all {
			c.row("ID TIME ROLE TEXT", e, e.ID, e.Time, e.Role, short(e.Content))
		}
		return err
	case c.Bool("sessions"):
		all, err := c.sessions(ctx, *c.whose)
		for _, s := range all {
			c.row("ID UPDATED MESSAGES UNLEARNT TITLE", s, s.ID, s.Updated, s.LastSeq, s.LastSeq-s.Watermark, s.Title)
		}
		return err
	}
	all, err := c.ranker.All(ctx, *c.whose)
	for _, m := range all {
		if (holds(m) || c.Bool("all")) && (!c.IsSet("kind") || slices.Contains(c.kinds(), m.Kind)) {
			c.row("ID KIND SINCE HOLDS TEXT", m, m.ID, m.Kind, m.Since(), holds(m), text(m))
		}
	}
	return err
}

// sessions returns the sessions of a partition.
func (c *call) sessions(ctx context.Context, p backends.Partition) (all []store.Session, err error) {
	err = store.Each(func(page store.Page) (*store.SessionPage, error) {
		return c.db.List(ctx, store.SessionQuery{Partition: &p, Page: page})
	}, func(s store.Session) error { all = append(all, s); return nil })
	return all, err
}

// messages returns the log of a session.
func (c *call) messages(ctx context.Context, p backends.Partition, session string) (all []store.Entry, err error) {
	for after := int64(0); ; after = all[len(all)-1].Seq {
		some, err := c.db.Read(ctx, p, session, store.Range{After: after})
		if all = append(all, some...); err != nil || len(some) == 0 {
			return all, err
		}
	}
}

// show prints a memory, also an expired one.
func show(ctx context.Context, c *call) error {
	id, err := c.id(ctx)
	if err != nil {
		return err
	}
	m, err := c.memory(ctx, id)
	return c.print(m, err)
}

// memory returns the memory of an id.
func (c *call) memory(ctx context.Context, id string) (*backends.Memory, error) {
	found, err := c.db.Get(ctx, *c.whose, id)
	for _, r := range found {
		return &r.Memory, nil
	}
	return &backends.Memory{}, cmp.Or(err, fmt.Errorf("memory %s of %s: %w: list -all shows all ids", id, where(*c.whose), backends.ErrNotFound))
}

// search prints the memories that answer a query.
func search(ctx context.Context, c *call) error {
	found, err := c.ranker.Search(ctx, *c.whose, &backends.SearchRequest{
		Query: c.Args().First(), TopK: c.Int("limit"), Kinds: c.kinds(), IncludeSuperseded: c.Bool("all"), IncludeExpired: c.Bool("all"),
	})
	if err != nil {
		return err
	}
	for _, h := range found.Hits {
		c.row("SCORE ID SINCE KIND TEXT", h, fmt.Sprintf("%.2f", h.Score), h.ID, h.Since(), h.Kind, text(&h.Memory))
	}
	return nil
}

// history prints the events of a memory, of its predecessors and of its successors.
func history(ctx context.Context, c *call) error {
	id, err := c.id(ctx)
	if err != nil {
		return err
	}
	events, err := c.work.History(ctx, &backends.HistoryRequest{Scope: c.scope, ID: id})
	for _, e := range events {
		c.row("TIME ID EVENT BY TEXT", e, e.Time, e.MemoryID, e.Type, e.Actor, short(cmp.Or(e.New, e.Old)))
	}
	return err
}

// finding is a fault of a memory, or of a store's data.
type finding struct {
	backends.Partition
	ID      string `json:"memory,omitempty"`
	Finding string `json:"finding"`
}

// audit prints current memories that are empty, or repeat another of the kind, case and punctuation
// aside. It also prints facts that name neither messages nor an author.
func audit(ctx context.Context, c *call) error {
	mark := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	return c.each(ctx, func(p backends.Partition) error {
		said := map[string]bool{}
		all, err := c.ranker.All(ctx, p)
		for _, m := range all {
			words := strings.Join(strings.FieldsFunc(strings.ToLower(text(m)), mark), "")
			says, defect := fmt.Sprint(m.Kind, m.Origin.Role, words), ""
			switch {
			case !holds(m) || m.Kind.Traits().InPrompt:
				continue
			case words == "":
				defect = "junk"
			case said[says]:
				defect = "duplicate"
			case m.Kind == backends.KindFact && len(m.Origin.MessageIDs) == 0 && m.Origin.Author == "":
				defect = "unsourced"
			}
			if said[says] = true; defect != "" {
				c.row("WHOSE FINDING ID TEXT", finding{p, m.ID, defect}, where(p), defect, m.ID, text(m))
			}
		}
		return err
	})
}
