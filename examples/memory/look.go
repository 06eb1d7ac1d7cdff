// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
)

// holding counts what a partition holds.
type holding struct {
	backends.Partition
	Memories map[string]int `json:"memories"` // by state
	Sessions int            `json:"sessions"`
	Messages int64          `json:"messages"`
	Unlearnt int64          `json:"unlearnt"` // messages that wait to be learnt from
}

// state says whether a memory holds, and if not, why.
func state(m *backends.Memory, now time.Time) string {
	switch {
	case m.SupersededBy != "":
		return "superseded"
	case !m.Active():
		return "retracted"
	case m.Expired(now):
		return "expired"
	}
	return "holds"
}

// stats counts what is held of whom.
func stats(ctx context.Context, c *call) error {
	c.head = []string{"WHOSE", "HOLD", "SUPERSEDED", "RETRACTED", "EXPIRED", "SESSIONS", "MESSAGES", "UNLEARNT"}
	return c.each(ctx, func(p backends.Partition) error {
		h := &holding{Partition: p, Memories: map[string]int{}}
		memories, err := c.ranker.All(ctx, p)
		if err != nil {
			return err
		}
		for _, m := range memories {
			h.Memories[state(m, backends.SystemClock())]++
		}
		sessions, err := c.sessions(ctx, p)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			h.Messages, h.Unlearnt = h.Messages+s.LastSeq, h.Unlearnt+s.LastSeq-s.Watermark
		}
		h.Sessions = len(sessions)
		n := h.Memories
		c.row(h, where(p), n["holds"], n["superseded"], n["retracted"], n["expired"], h.Sessions, h.Messages, h.Unlearnt)
		return nil
	})
}

// health reports how learning goes.
func health(ctx context.Context, c *call) error {
	h, err := working.ReadHealth(ctx, c.db)
	return set(&c.answer, h, err)
}

// list lists partitions, or what one of them holds.
func list(ctx context.Context, c *call) error {
	switch {
	case c.whose == nil && (c.IsSet("session") || c.Bool("sessions") || c.IsSet("kind") || c.Bool("all")):
		return usage("list: name one by -user, -agent or -workspace")
	case c.IsSet("session"):
		return listMessages(ctx, c)
	case c.Bool("sessions"):
		return listSessions(ctx, c)
	case c.whose != nil:
		return listMemories(ctx, c)
	}
	c.head = []string{"KIND", "ID"}
	all, err := c.partitions(ctx)
	for _, p := range all {
		c.row(p, p.Kind, p.ID)
	}
	return err
}

func listMemories(ctx context.Context, c *call) error {
	c.head = []string{"ID", "KIND", "SINCE", "STATE", "TEXT"}
	all, err := c.ranker.All(ctx, *c.whose)
	for _, m := range all {
		s := state(m, backends.SystemClock())
		if (s == "holds" || c.Bool("all")) && (!c.IsSet("kind") || slices.Contains(c.kinds(), m.Kind)) {
			c.row(m, m.ID, m.Kind, at(m.Since()), s, short(text(m)))
		}
	}
	return err
}

// text is what a memory says, in a table.
func text(m *backends.Memory) string { return strings.TrimPrefix(m.WhenToUse+": "+m.Text, ": ") }

func listSessions(ctx context.Context, c *call) error {
	c.head = []string{"ID", "UPDATED", "MESSAGES", "UNLEARNT", "TITLE"}
	all, err := c.sessions(ctx, *c.whose)
	for _, s := range all {
		c.row(s, s.ID, at(s.Updated), s.LastSeq, s.LastSeq-s.Watermark, s.Title)
	}
	return err
}

func listMessages(ctx context.Context, c *call) error {
	c.head = []string{"ID", "TIME", "ROLE", "TEXT"}
	if _, err := c.db.Session(ctx, *c.whose, c.String("session")); err != nil {
		return err
	}
	all, err := c.messages(ctx, *c.whose, c.String("session"))
	for _, e := range all {
		c.row(e, e.ID, at(e.Time), e.Role, short(e.Content))
	}
	return err
}

// show prints a memory, also one that expired.
func show(ctx context.Context, c *call) error {
	id := c.Args().First()
	found, err := c.db.Get(ctx, *c.whose, id)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("memory %s of %s: %w: list -all names those that there are", id, where(*c.whose), backends.ErrNotFound)
	}
	return set(&c.answer, &found[0].Memory, nil)
}

// search prints the memories that answer a query.
func search(ctx context.Context, c *call) error {
	c.head = []string{"SCORE", "ID", "SINCE", "KIND", "TEXT"}
	found, err := c.ranker.Search(ctx, *c.whose, &backends.SearchRequest{
		Query: c.Args().First(), TopK: c.Int("limit"), Kinds: c.kinds(), IncludeSuperseded: c.Bool("all"), IncludeExpired: c.Bool("all"),
	})
	if err != nil {
		return err
	}
	for _, h := range found.Hits {
		c.row(h, fmt.Sprintf("%.2f", h.Score), h.ID, at(h.Since()), h.Kind, short(text(&h.Memory)))
	}
	return nil
}

// history prints what became of a memory, of those that it replaced, and those that replaced it.
func history(ctx context.Context, c *call) error {
	c.head = []string{"TIME", "ID", "EVENT", "BY", "TEXT"}
	events, err := c.reme.History(ctx, &backends.HistoryRequest{Scope: scopeOf(*c.whose), ID: c.Args().First()})
	for _, e := range events {
		c.row(e, at(e.Time), e.MemoryID, e.Type, e.Actor, short(cmp.Or(e.New, e.Old)))
	}
	return err
}

// finding is what is wrong with a memory, or with what a store keeps.
type finding struct {
	backends.Partition
	ID      string `json:"memory,omitempty"`
	Finding string `json:"finding"`
}

// audit prints what is wrong with the memories that hold.
func audit(ctx context.Context, c *call) error {
	c.head = []string{"WHOSE", "FINDING", "ID", "TEXT"}
	return c.each(ctx, func(p backends.Partition) error {
		seen := map[string]bool{}
		all, err := c.ranker.All(ctx, p)
		for _, m := range all {
			if state(m, backends.SystemClock()) != "holds" || m.Kind.Traits().InPrompt {
				continue
			}
			if defect := examine(m, seen); defect != "" {
				c.row(finding{p, m.ID, defect}, where(p), defect, m.ID, short(text(m)))
			}
		}
		return err
	})
}

// unsaid finds notes of memory's own, and what agents hand to each other.
var unsaid = regexp.MustCompile(`<memories>|^For context: \[[^\]]*\] (said|called tool|.* tool returned result)`)

// examine returns the first defect of an active memory, or "": junk, which says nothing or
// which is memory's own; a duplicate, which says what another of its kind says, case and
// punctuation aside; unsourced, a fact that names neither messages nor an author. seen
// holds what was said before.
func examine(m *backends.Memory, seen map[string]bool) string {
	words := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text(m))
	says := string(m.Kind) + "\n" + words
	if m.Kind == backends.KindEpisode {
		says += "\n" + m.Origin.Role
	}
	again := seen[says]
	seen[says] = true
	switch {
	case words == "", unsaid.MatchString(m.Text):
		return "junk"
	case again:
		return "duplicate"
	case m.Kind == backends.KindFact && len(m.Origin.MessageIDs) == 0 && m.Origin.Author == "":
		return "unsourced"
	}
	return ""
}
