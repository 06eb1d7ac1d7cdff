// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package note shows memories to a model, in the note of a reply and in the answers of
// tools alike: a line each, with id, date and speaker, in parts under headings.
package note

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// phrases are the fixed texts of one language.
type phrases struct {
	headings [5]string // of the parts

	user, assistant, noted string
	before, ended          string // followed by what was before and the date; by the date
	until                  string
	tool, document, pasted string // whose words a fact has
}

var english = phrases{
	headings: [5]string{"Known facts:", "What was said:", "Inferred from several memories:", "From documents:", "Experience:"},
	user:     "user", assistant: "assistant", noted: "noted by the assistant",
	tool: "tool", document: "document", pasted: "pasted text",
	before: " (before: ", until: ", until ", ended: " (no longer holds since ",
}

var chinese = phrases{
	headings: [5]string{"已知事实：", "说过的话：", "由多条记忆推断：", "文档内容：", "经验："},
	user:     "用户", assistant: "助手", noted: "助手的笔记",
	tool: "工具", document: "文档", pasted: "粘贴的文字",
	before: "（之前：", until: "，至 ", ended: "（已不再成立，自 ",
}

func of(l backends.Language) *phrases {
	if l == backends.Chinese {
		return &chinese
	}
	return &english
}

// The parts of a note in which something else stands than facts.
const (
	partSaid = iota + 1
	partInferred
	partDocuments
	partExperience
)

// partOf returns in which part of a note a kind stands: facts first, then what was said, what
// follows from several memories, what documents say, and experience.
func partOf(k backends.Kind) int {
	switch {
	case k == backends.KindEpisode:
		return partSaid
	case k.Traits().Inferred:
		return partInferred
	case k == backends.KindDocument:
		return partDocuments
	case k.Traits().Timeless:
		return partExperience
	}
	return 0
}

// Lines returns the hits that fit into so many estimated tokens, in parts, each under its
// heading, and in their order within it. One that does not fit makes room for a smaller
// one; the best is shortened rather than left out. shown are the hits of the lines.
func Lines(hits []backends.Hit, l backends.Language, room int) (lines []string, shown []backends.Hit) {
	p, ids := of(l), IDs(hits)
	var parts [partExperience + 1][]string
	var in [partExperience + 1][]backends.Hit
	for i := range hits {
		line, part := Bullet(&hits[i], ids[i], l), partOf(hits[i].Kind)
		if line == "" {
			continue
		}
		size := 1
		if len(parts[part]) == 0 {
			size += text.Tokens(p.headings[part]) + 1
		}
		if !slices.ContainsFunc(parts[:], func(lines []string) bool { return len(lines) > 0 }) {
			line = text.Fit(line, room-size, text.Tokens)
		}
		if size += text.Tokens(line); line != "" && size <= room {
			room -= size
			parts[part], in[part] = append(parts[part], line), append(in[part], hits[i])
		}
	}
	for i, bullets := range parts {
		if len(bullets) > 0 {
			lines = append(append(lines, p.headings[i]), bullets...)
			shown = append(shown, in[i]...)
		}
	}
	return lines, shown
}

// IDs returns the ids under which hits are shown beside each other: of a long one the last
// six characters, or as many more as tell it from the others. See [Shows].
func IDs(hits []backends.Hit) []string {
	ids := make([]string, len(hits))
	for i := range hits {
		n := shortID
		for slices.ContainsFunc(hits, func(h backends.Hit) bool { return h.ID != hits[i].ID && ending(h.ID, n) == ending(hits[i].ID, n) }) {
			n++
		}
		ids[i] = ending(hits[i].ID, n)
	}
	return ids
}

// IsShort reports whether an id may be a part of one.
func IsShort(shown string) bool { return len(shown) >= shortID && len(shown) <= longID }

// Shows reports whether an id may be shown as another one.
func Shows(shown, id string) bool { return ending(id, len(shown)) == shown }

// An id of up to longID characters is shown whole, as is one that is not of letters, digits and
// hyphens, as a UUID is.
const shortID, longID = 6, 12

func ending(id string, n int) string {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	if len(id) <= max(n, longID) || strings.ContainsFunc(id, other) {
		return id
	}
	return id[len(id)-n:]
}

// Bullet returns the line that shows a hit under an id, "- [id] date speaker: text", or the
// passage of a long text that matched, with what it replaced, or since when it holds no more;
// "" where nothing is said. See [text.Bullet].
func Bullet(h *backends.Hit, id string, l backends.Language) string {
	p, since := of(l), h.Since()
	if h.Kind == backends.KindDocument {
		since = time.Time{} // when it was added says nothing of what it says
	}
	line := text.Bullet(id, since, p.speaker(h), cmp.Or(h.Passage, h.Text), h.WhenToUse)
	switch {
	case line == "":
	case !h.Ended.IsZero():
		line += p.ended + date(h.Ended) + closing(l)
	case h.Before != nil:
		if was := text.Inert(text.Changed(h.Before.Text, h.Text)); was != "" {
			line += p.before + text.Truncate(was, 80) + p.until + date(h.Since()) + closing(l)
		}
	}
	return line
}

func closing(l backends.Language) string {
	if l == backends.Chinese {
		return "）"
	}
	return ")"
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// source returns whose words a fact has that no user said.
func (p *phrases) source(of string) string {
	kind, name, _ := strings.Cut(of, " ")
	switch name = strings.ReplaceAll(name, ":", " "); {
	case kind == backends.TrustTool:
		return strings.TrimSpace(p.tool + " " + name)
	case name == "":
		return p.pasted
	}
	return p.document + " " + name
}

// speaker returns who said what a hit says, "" where nobody did; of a document which it is.
func (p *phrases) speaker(h *backends.Hit) string {
	o := &h.Origin
	switch {
	case h.Kind == backends.KindDocument:
		return strings.ReplaceAll(h.Citation(), ":", " ")
	case partOf(h.Kind) > partSaid:
		return ""
	case o.Source != "" && partOf(h.Kind) != partSaid:
		return p.source(o.Source)
	case backends.SpeakerName(o.Speaker) != "":
		return backends.SpeakerName(o.Speaker)
	case o.Author == backends.AuthorAgent:
		return p.noted
	case o.Role == string(schema.User):
		return p.user
	case o.Role == string(schema.Assistant):
		return p.assistant
	}
	return ""
}
