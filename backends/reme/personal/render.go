// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// answer renders hits for a prompt, a line each.
func (f *Flows) answer(lang flow.Language, hits []backends.Hit) string {
	words := phrasesOf(lang)
	var sb strings.Builder
	for i := range hits {
		m := &hits[i].Memory
		var notes []string
		if !m.Observed.IsZero() {
			notes = append(notes, words.said+" "+m.Observed.In(f.config.Location).Format(time.DateOnly))
		}
		if event, ok := f.event(m); ok {
			notes = append(notes, words.about+" "+event.day())
		}
		notes = append(notes, "id "+m.ID)
		fmt.Fprintf(&sb, "- %s (%s)\n", strings.Join(strings.Fields(m.Text), " "), strings.Join(notes, ", "))
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

// day is the period for people; an instant is its day.
func (p Period) day() string {
	if p.Until.Sub(p.From) < time.Hour {
		return p.From.Format(time.DateOnly)
	}
	return p.String()
}
