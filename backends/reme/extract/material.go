// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/einox"
)

// fenced is material, and the name of the fence that it stands in.
type fenced struct{ name, text string }

// taskShare and noteShare are the parts of the room that the words of the task and
// the note on the outcome may take: 1 in 8, and 1 in 16.
const (
	taskShare = 8
	noteShare = 16
)

// NoteKey is the key of a trajectory's metadata with what somebody said about the
// outcome, in words: the model that learns sees it.
const NoteKey = "note"

// language returns the language of the prompts for a trajectory: that in which people
// and models speak, whatever tools return.
func (e *Extractor) language(t *trajectory.Trajectory) flow.Language {
	texts := []string{t.Task()}
	for _, m := range t.Messages {
		if m.Role == schema.User || m.Role == schema.Assistant {
			texts = append(texts, einox.Text(m))
		}
	}
	return e.config.Language.For(texts...)
}

// heading says what the task was and how it went.
func (e *Extractor) heading(t *trajectory.Trajectory, success bool, lang flow.Language, limit int) string {
	p := phrasesIn(lang)
	outcome := p.failure
	if success {
		outcome = p.success
	}
	counter := e.config.Models.Counter()
	var sb strings.Builder
	if what := t.Task(); what != "" {
		sb.WriteString(p.task + "\n" + trajectory.Indent(trajectory.Clip(what, limit/taskShare, counter)))
	}
	sb.WriteString(fmt.Sprintf(p.outcome, outcome, strconv.FormatFloat(t.Score, 'g', 4, 64)) + "\n")
	if note, _ := t.Metadata[NoteKey].(string); strings.TrimSpace(note) != "" {
		sb.WriteString(p.note + "\n" + trajectory.Indent(trajectory.Clip(note, limit/noteShare, counter)))
	}
	return sb.String()
}

// materials shows an attempt in as many parts as it has segments, and segments in as
// many as they need.
func (e *Extractor) materials(t *trajectory.Trajectory, segments []trajectory.Segment, success bool) []string {
	lang, limit := e.language(t), e.limit()
	heading := e.heading(t, success, lang, limit)
	counter := e.config.Models.Counter()
	room := trajectory.Rendering{Limit: limit - counter.Text(heading), Counter: counter}
	if len(segments) == 1 {
		if chunks := trajectory.Render(segments[0].Steps, &room); len(chunks) == 1 {
			return []string{heading + chunks[0].Text}
		}
	}
	room.Limit -= limit / glimpseShare
	var out []string
	steps := t.Steps()
	for i := range segments {
		for _, c := range trajectory.Render(segments[i].Steps, &room) {
			part := fmt.Sprintf(phrasesIn(lang).part, c.First, c.Last, len(steps)) + "\n"
			before, after := e.glimpses(steps, &c, lang)
			out = append(out, heading+part+before+c.Text+after)
		}
	}
	return out
}

// A part of a trajectory is shown with a glimpse of the two steps before it and the
// two after it, a line each, where there is room for it.
const (
	glimpseShare = 8   // 1 in 8 of the room, for glimpses and what says which part it is
	glimpseSteps = 2   // before, and after
	glimpseMost  = 120 // characters of a line
	glimpseLeast = 24  // fewer say nothing
	glimpseHead  = 48  // tokens of what else stands on a line, about
)

func (e *Extractor) glimpses(steps []trajectory.Step, c *trajectory.Chunk, lang flow.Language) (before, after string) {
	room := e.limit() / glimpseShare
	n := min(glimpseMost, room/(2*glimpseSteps)-glimpseHead)
	if n < glimpseLeast {
		return "", ""
	}
	p := phrasesIn(lang)
	before = glimpse(p.before, steps[max(c.First-1-glimpseSteps, 0):c.First-1], n)
	after = glimpse(p.after, steps[c.Last:min(c.Last+glimpseSteps, len(steps))], n)
	if e.config.Models.Counter().Text(before+after)+glimpseHead > room {
		return "", ""
	}
	return before, after
}

func glimpse(label string, steps []trajectory.Step, n int) string {
	if len(steps) == 0 {
		return ""
	}
	return label + "\n" + trajectory.Indent(trajectory.Glimpse(steps, n))
}

// whole shows an attempt in one part, with its segments marked.
func (e *Extractor) whole(t *trajectory.Trajectory, segments []trajectory.Segment, success bool, lang flow.Language, limit int) string {
	heading := e.heading(t, success, lang, limit)
	counter := e.config.Models.Counter()
	room := trajectory.Rendering{Limit: limit - counter.Text(heading), Counter: counter}
	return heading + trajectory.Squeeze(segments, &room).Text
}
