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

// weight is what the similarity of a memory is multiplied by for its place.
func (f *Flows) weight(m *backends.Memory, periods []Period) float64 {
	weight := 1.0
	for _, key := range []string{metaType, "memory_type"} {
		name, _ := m.Metadata[key].(string)
		if w, ok := f.config.TypeWeights[name]; ok {
			weight = w
			break
		}
	}
	if f.inTime(m, periods) {
		weight *= f.config.TimeWeight
	}
	return weight
}

// inTime reports whether a memory was said in one of the periods, or is about one.
func (f *Flows) inTime(m *backends.Memory, periods []Period) bool {
	event, timed := f.event(m)
	for _, p := range periods {
		if p.Contains(m.Observed) || timed && p.overlaps(event) {
			return true
		}
	}
	return false
}

// event returns the time that a memory is about, where it says one.
func (f *Flows) event(m *backends.Memory) (Period, bool) {
	for _, key := range []string{metaEvent, metaTimeInfo} {
		text, _ := m.Metadata[key].(string)
		if p, ok := ParsePeriod(text, f.config.Location); ok {
			return p, true
		}
		if found := FindPeriods(text, m.Observed.In(f.config.Location)); len(found) > 0 { // in ReMe's own libraries it is free text
			return found[0], true
		}
	}
	if m.Valid.IsZero() {
		return Period{}, false
	}
	since := m.Valid.In(f.config.Location)
	return Period{From: since, Until: since.Add(time.Nanosecond)}, true
}

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
