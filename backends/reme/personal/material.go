// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends/reme/flow"
)

// line is one message of the conversation as a model is shown it.
type line struct {
	*utterance
	text    string
	passage *passage // nil: shown to be understood
}

// lineShown is the JSON of a line.
type lineShown struct {
	N     *int     `json:"n,omitempty"`
	Part  string   `json:"part,omitempty"`
	Time  string   `json:"time,omitempty"`
	Role  string   `json:"role,omitempty"`
	Name  string   `json:"name,omitempty"`
	Dates []string `json:"dates,omitempty"` // what the words for times mean
	Text  string   `json:"text"`
}

// maxNumbered is how many messages one question asks about: more than that, and
// models lose count.
const maxNumbered = 50

// questions divides a conversation into stretches that fit a prompt. asked tells
// which passages are asked about; each of them is in one stretch, and whole. The
// lines before it, of which there is room for less, are there to be understood.
func (f *Flows) questions(lines []*line, lang flow.Language, asked func(*passage) bool) [][]lineShown {
	room := max(f.config.Models.Limits().Prompt, 4*least)
	var out [][]lineShown
	var stretch []lineShown
	used, numbered := 0, 0
	flush := func() {
		if numbered > 0 {
			out = append(out, stretch)
		}
		stretch, used, numbered = nil, 0, 0
	}
	for i, l := range lines {
		shown, size, ask := f.show(l, lang, room/8, asked)
		if numbered > 0 && (used+size > room || ask && numbered == maxNumbered) {
			flush()
			stretch, used = f.before(lines[:i], lang, room/4)
		}
		for len(stretch) > 0 && used+size > room { // nothing is asked yet: the oldest go
			used -= f.size(stretch[0])
			stretch = stretch[1:]
		}
		stretch, used = append(stretch, shown), used+size
		if ask {
			numbered++
		}
	}
	flush()
	return out
}

// before returns the last lines, as many as there is room for, to be understood.
func (f *Flows) before(lines []*line, lang flow.Language, room int) (out []lineShown, used int) {
	for i := len(lines) - 1; i >= 0; i-- {
		shown, size, _ := f.show(lines[i], lang, room/2, func(*passage) bool { return false })
		if used+size > room {
			break
		}
		out, used = append([]lineShown{shown}, out...), used+size
	}
	return out, used
}

// show renders a line. One that is not asked about is clipped to the given room, and
// says so.
func (f *Flows) show(l *line, lang flow.Language, clip int, asked func(*passage) bool) (shown lineShown, size int, ask bool) {
	shown = lineShown{Time: shownTime(l.time.In(f.config.Location)), Role: l.role, Name: l.speaker, Text: l.text}
	if p := l.passage; p != nil {
		if p.parts > 1 {
			shown.Part = fmt.Sprintf("%d/%d", p.part, p.parts)
		}
		if ask = asked(p); ask {
			shown.N = &p.n
			shown.Dates = f.dates(l)
		}
	}
	if !ask {
		shown.Text = f.clip(shown.Text, clip, phrasesOf(lang).leftOut)
	}
	return shown, f.size(shown), ask
}

func (f *Flows) size(l lineShown) int { return f.config.Models.Counter().Text(l.Text) + 16 }

// clip keeps the beginning and the end of a text that is too long, and says how much
// is missing between them.
func (f *Flows) clip(text string, room int, mark string) string {
	count := f.config.Models.Counter().Text
	total := count(text)
	if total <= max(room, least) {
		return text
	}
	runes := []rune(text)
	keep := len(runes) * max(room, least) / total
	tail := keep / 4
	return fmt.Sprintf("%s […%d %s…] %s", string(runes[:keep-tail]), len(runes)-keep, mark, string(runes[len(runes)-tail:]))
}

// dates says what the words for times in a message mean, counted from when it was
// said. Only those that the calendar decides are there.
func (f *Flows) dates(l *line) []string {
	var out []string
	for _, p := range FindPeriods(l.text, l.time.In(f.config.Location)) {
		if said := p.String(); p.Sure && said != p.Text && len(out) < 8 {
			out = append(out, p.Text+" = "+said)
		}
	}
	return out
}

func shownTime(t time.Time) string { return t.Format("2006-01-02 15:04 Mon") }

// section renders data for a model: a line of JSON for each entry between two tags.
// Nothing in a text can end a line or close a tag.
func section[T any](name string, entries []T) string {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "<%s>\n", name)
	e := json.NewEncoder(&buf)
	for i := range entries {
		_ = e.Encode(entries[i]) // plain structs of texts and numbers; '<' comes out as \u003c
	}
	fmt.Fprintf(&buf, "</%s>\n", name)
	return buf.String()
}

// question puts the fixed part of a question together.
func (f *Flows) question(lang flow.Language, prompt, tool, instructions string) *flow.Question {
	words := phrasesOf(lang)
	parts := []string{prompt, words.data}
	if f.config.Models.ByTool() {
		parts = append(parts, words.byTool+" "+tool+".")
	} else {
		parts = append(parts, words.byJSON[tool])
	}
	if s := strings.TrimSpace(instructions); s != "" {
		parts = append([]string{words.instructions + "\n" + s}, parts...)
	}
	return &flow.Question{
		System: strings.Join(parts, "\n\n"), Tool: tool,
		Complaint: func(err error) string { return words.again + " " + err.Error() },
	}
}

// conversation asks about a stretch of the conversation.
func (d *Draft) conversation(prompt, tool string, stretch []lineShown) *flow.Question {
	q := d.flows.question(d.lang, prompt, tool, d.request.Instructions)
	target, _ := json.Marshal(d.place.target)
	q.User = phrasesOf(d.lang).target + " " + string(target) + "\n" + section("conversation", stretch)
	return q
}

// shorten cuts s to at most n bytes, between characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
