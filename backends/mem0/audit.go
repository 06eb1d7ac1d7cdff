// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// Defect says what is wrong with a memory.
type Defect string

// The defects that an audit looks for.
const (
	DefectDuplicate Defect = "duplicate" // another active memory of its kind says the same, case and punctuation aside
	DefectJunk      Defect = "junk"      // it says nothing, or is no one's words: a note, a handover between agents
	DefectUnsourced Defect = "unsourced" // a fact that names neither the messages that taught it nor an author
	DefectStale     Defect = "stale"     // a fact that did not change for longer than asked about
)

// Finding is one memory with a defect.
type Finding struct {
	Defect Defect `json:"defect"`
	ID     string `json:"id"`
	Text   string `json:"text"`
	Of     string `json:"of,omitempty"` // for duplicates the id of the memory that it repeats
}

// Audit is what a partition holds and how good it is. Findings are of active
// memories alone, each with its first defect in the order of the constants.
type Audit struct {
	Memories   int                `json:"memories"` // all that is stored
	Active     map[string]int     `json:"active"`   // by kind
	Superseded int                `json:"superseded"`
	Retracted  int                `json:"retracted"`
	Expired    int                `json:"expired"`
	Rates      map[Defect]float64 `json:"rates"` // share of the active memories, 0 to 1
	Findings   []Finding          `json:"findings"`
}

// Audit looks through the memories of the partition that s names, and changes
// nothing. A fact counts as stale when it was last stored or changed more than
// staleAfter ago; 0 leaves that out.
func (b *Backend) Audit(ctx context.Context, s backends.Scope, staleAfter time.Duration) (*Audit, error) {
	_, p, err := b.partition(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := b.keep.All(ctx, p)
	if err != nil {
		return nil, err
	}
	now := b.config.Clock()
	a := &Audit{Memories: len(all), Active: map[string]int{}, Rates: map[Defect]float64{}}
	seen, active := map[identity]string{}, 0
	for _, m := range all {
		if !a.count(m, now) {
			continue
		}
		active++
		if f := examine(m, seen, now, staleAfter); f != nil {
			a.Findings = append(a.Findings, *f)
			a.Rates[f.Defect]++
		}
	}
	for d := range a.Rates {
		a.Rates[d] /= float64(active)
	}
	return a, nil
}

// count files a memory under what became of it, and reports whether it is active.
func (a *Audit) count(m *backends.Memory, now time.Time) bool {
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

// examine returns the first defect of an active memory, or nil. seen holds what
// was met before, by what it says.
func examine(m *backends.Memory, seen map[identity]string, now time.Time, staleAfter time.Duration) *Finding {
	f := &Finding{ID: m.ID, Text: m.Text}
	says := identityOf(m)
	says.text = gist(m.Text)
	if first, again := seen[says]; again && says.text != "" {
		f.Defect, f.Of = DefectDuplicate, first
		return f
	}
	seen[says] = m.ID
	switch {
	case says.text == "" || strings.Contains(m.Text, "<memories>") || einox.IsRetold(schema.UserMessage(m.Text)):
		f.Defect = DefectJunk
	case m.Kind == backends.KindFact && len(m.Origin.MessageIDs) == 0 && m.Origin.Author == "":
		f.Defect = DefectUnsourced
	case m.Kind == backends.KindFact && staleAfter > 0 && now.Sub(m.Updated) > staleAfter:
		f.Defect = DefectStale
	default:
		return nil
	}
	return f
}

// gist is a text without what does not change its meaning much: case, spaces and
// punctuation.
func gist(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
