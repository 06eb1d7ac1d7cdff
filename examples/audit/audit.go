// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
)

// The defects that an audit looks for, in their order.
const (
	duplicate = "duplicate" // another active memory of its kind says the same, case and punctuation aside
	junk      = "junk"      // it says nothing, or nobody said it: a note, what one agent handed to another
	unsourced = "unsourced" // a fact that names neither the messages that taught it nor an author
	stale     = "stale"     // a fact that did not change for longer than asked about
)

// Finding is one memory with its first defect.
type Finding struct {
	Defect string `json:"defect"`
	ID     string `json:"id"`
	Text   string `json:"text"`
	Of     string `json:"of,omitempty"` // for duplicates the id of the memory that it repeats
}

// Audit is what a partition holds and how good it is. Findings are of active memories alone.
type Audit struct {
	Memories   int                `json:"memories"` // all that is stored
	Active     map[string]int     `json:"active"`   // by kind
	Superseded int                `json:"superseded"`
	Retracted  int                `json:"retracted"`
	Expired    int                `json:"expired"`
	Rates      map[string]float64 `json:"rates"` // share of the active memories, 0 to 1, by defect
	Findings   []Finding          `json:"findings"`
}

// look audits the memories of a scope. A fact is stale when it was last stored or changed
// more than staleAfter before now; 0 leaves that out.
func look(ctx context.Context, m backends.Manager, s backends.Scope, now time.Time, staleAfter time.Duration) (*Audit, error) {
	a := &Audit{Active: map[string]int{}, Rates: map[string]float64{}}
	seen, active := map[string]string{}, 0
	for r := (&backends.ListRequest{Scope: s, IncludeSuperseded: true, IncludeExpired: true, Limit: 1000}); ; {
		page, err := m.List(ctx, r)
		if err != nil {
			return nil, err
		}
		for i := range page.Memories {
			m := &page.Memories[i]
			if !a.count(m, now) {
				continue
			}
			active++
			if f := examine(m, seen, now, staleAfter); f != nil {
				a.Findings = append(a.Findings, *f)
				a.Rates[f.Defect]++
			}
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			break
		}
	}
	for defect := range a.Rates {
		a.Rates[defect] /= float64(active)
	}
	return a, nil
}

// count counts a memory by what became of it, and reports whether it is active.
func (a *Audit) count(m *backends.Memory, now time.Time) bool {
	a.Memories++
	switch {
	case m.SupersededBy != "":
		a.Superseded++
	case !m.Active():
		a.Retracted++
	case m.Expired(now):
		a.Expired++
	default:
		a.Active[string(m.Kind)]++
		return true
	}
	return false
}

// unsaid finds notes of memory's own, and what agents hand to each other.
var unsaid = regexp.MustCompile(`<memories>|^For context: \[[^\]]*\] (said|called tool|.* tool returned result)`)

// examine returns the first defect of an active memory, or nil. seen holds what was met
// before, by what it says.
func examine(m *backends.Memory, seen map[string]string, now time.Time, staleAfter time.Duration) *Finding {
	f := &Finding{ID: m.ID, Text: m.Text}
	words := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, m.Text)
	says := string(m.Kind) + "\n" + words
	if m.Kind == backends.KindEpisode {
		says += "\n" + m.Origin.Role
	}
	first, again := seen[says]
	if !again {
		seen[says] = m.ID
	}
	fact := m.Kind == backends.KindFact
	switch {
	case again && words != "":
		f.Defect, f.Of = duplicate, first
	case words == "" || unsaid.MatchString(m.Text):
		f.Defect = junk
	case fact && len(m.Origin.MessageIDs) == 0 && m.Origin.Author == "":
		f.Defect = unsourced
	case fact && staleAfter > 0 && now.Sub(m.Updated) > staleAfter:
		f.Defect = stale
	default:
		return nil
	}
	return f
}
