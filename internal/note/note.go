// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package note shows memories to a model, in the note of a reply and in the answers of
// tools alike. Standing memories share one line; the others are a bullet each, in parts
// under headings. Days are in the reader's zone.
package note

import (
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// View says how memories are shown.
type View struct {
	Language backends.Language
	Now      time.Time // days are in its zone; zero: unknown, and days are in UTC
	// IDs shows the ids of hits: for agents whose tools take them.
	IDs bool
}

// phrases are the fixed texts of one language.
type phrases struct {
	headings       [5]string // of the parts
	onUser         string    // in front of the standing memories
	stop           string    // behind it
	colon          string    // behind the date of several bullets
	comma, between string    // of lines and brackets
	brackets       [2]string

	user, assistant, noted string
	tool, document, pasted string // the source of a fact
	when                   string // the situation in which a memory helps
	example                string // steps that show it

	today, day, clock                               string // how times are written
	said, wrote, since, until, ended                string // %[1]s is a day, %[2]s the former text
	planned                                         string
	dayOfYear, month, year, span, either, about     string // of days that words mean
	age                                             string
	ahead, ago, tomorrow, yesterday, isToday, isNow string // how far away a day is
}

var english = phrases{
	headings: [5]string{"Known facts:", "What was said:", "Inferred from several memories:", "From documents:", "Experience:"},
	onUser:   "About the user: ", stop: ".", colon: ":", comma: ", ", between: "; ", brackets: [2]string{" (", ")"},
	user: "user", assistant: "assistant", noted: "noted by the assistant",
	tool: "tool", document: "document", pasted: "pasted text", when: "when: ", example: "example: ",
	today: "Today is %s, %s (%s).", day: "2 Jan 2006", clock: "Monday, 2 January 2006",
	said: "said %s", wrote: "noted %s", since: "since %s", until: "until %s: %s", ended: "ended %s",
	planned: "planned for %s", dayOfYear: "2 Jan", month: "Jan 2006", year: "2006", span: "%s to %s", either: "%s or %s", about: "about %s", age: "about %d now",
	ahead: "in %d days", ago: "that was %d days ago", tomorrow: "tomorrow", yesterday: "that was yesterday", isToday: "today", isNow: "now",
}

var chinese = phrases{
	headings: [5]string{"已知事实：", "说过的话：", "由多条记忆推断：", "文档内容：", "经验："},
	onUser:   "关于用户：", stop: "。", colon: "：", comma: "，", between: "；", brackets: [2]string{"（", "）"},
	user: "用户", assistant: "助手", noted: "助手的笔记",
	tool: "工具", document: "文档", pasted: "粘贴的文字", when: "适用于：", example: "例：",
	today: "今天是 %s %s（%s）。", day: "2006年1月2日", clock: "2006年1月2日 星期",
	said: "%s说", wrote: "%s记下", since: "自%s起", until: "之前：%[2]s，至 %[1]s", ended: "%s已结束",
	planned: "计划于%s", dayOfYear: "1月2日", month: "2006年1月", year: "2006年", span: "%s至%s", either: "%s或%s", about: "约%s", age: "现在约%d岁",
	ahead: "还有 %d 天", ago: "已过去 %d 天", tomorrow: "明天", yesterday: "已过去 1 天", isToday: "今天", isNow: "正在进行",
}

func (v View) phrases() *phrases {
	if v.Language == backends.Chinese {
		return &chinese
	}
	return &english
}

// The parts of a note beside the facts.
const (
	partSaid = iota + 1
	partInferred
	partDocuments
	partExperience
)

// partOf returns the part of a note for a kind: facts first, then words that were said,
// inferences from several memories, documents, and experience.
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

// maxAbout is how many estimated tokens the standing memories take, at most.
const maxAbout = 200

// Note returns the lines of a note: the standing memories, and below them the hits that fit
// into the rest of so many estimated tokens. The hits are in parts, each under its heading,
// and keep their order within it. A hit that does not fit makes room for a smaller one; the
// best hit is shortened to fit. The result shown has the hits of the lines, each once.
func (v View) Note(standing, hits []backends.Hit, room int) (lines []string, shown []backends.Hit) {
	about, applies := v.about(standing, min(room, maxAbout))
	if about != "" {
		lines, room = append(lines, about), room-text.Tokens(about)-1
	}
	hits = slices.DeleteFunc(slices.Clone(hits), func(h backends.Hit) bool {
		return slices.ContainsFunc(applies, func(a backends.Hit) bool { return a.ID == h.ID && h.ID != "" })
	})
	bullets, shown := v.Lines(hits, room)
	return append(lines, bullets...), append(applies, shown...)
}

// about returns the line of the standing memories, as many as fit.
func (v View) about(standing []backends.Hit, room int) (line string, shown []backends.Hit) {
	p, ids := v.phrases(), v.ids(standing)
	for i := range standing {
		h := &standing[i]
		said := v.applies(h, ids[i])
		if said == "" {
			continue
		}
		more := line + p.between + said
		if line == "" {
			more = p.onUser + said
		}
		if text.Tokens(more+p.stop) <= room {
			line, shown = more, append(shown, *h)
		}
	}
	if line != "" {
		line += p.stop
	}
	return line, shown
}

// applies returns a memory's statement about the user, as a part of a line.
func (v View) applies(h *backends.Hit, id string) string {
	said, who, remarks := strings.TrimRight(text.Inert(v.said(h)), ".。 "), v.speaker(h), v.history(h)
	switch {
	case said == "":
		return ""
	case who == v.phrases().user: // their own words
		said, who = "“"+said+"”", ""
	case who == "" && predicate(said) != said:
		return strings.TrimPrefix(text.Bullet(id, who, predicate(said)), "- ") + v.brackets(remarks)
	}
	if len(remarks) == 0 { // words as they were said, which a later day may contradict
		remarks = v.told(h)
	}
	return strings.TrimPrefix(text.Bullet(id, who, said), "- ") + v.brackets(remarks)
}

// predicate returns a statement about the user without its subject.
func predicate(s string) string {
	for _, subject := range []string{"The user's ", "The user ", "User ", "用户的", "用户"} {
		if rest, ok := strings.CutPrefix(s, subject); ok && rest != "" {
			return strings.TrimSpace(rest)
		}
	}
	return s
}

// Lines returns the bullets of Note. Words said on one day stand together under its date, and have
// their times if these differ: they tell which came first.
func (v View) Lines(hits []backends.Hit, room int) (lines []string, shown []backends.Hit) {
	p, ids, crowded := v.phrases(), v.ids(hits), v.crowded(hits)
	var parts [partExperience + 1][]*section
	for i := range hits {
		h, part, first := &hits[i], partOf(hits[i].Kind), true
		said, hour := v.said(h), ""
		if crowded[v.spoken(h)] {
			hour = h.Since().In(v.zone()).Format("15:04")
		}
		b := bullet{h, v.under(h, ids[i], v.spoken(h), said), v.under(h, ids[i], hour, said)}
		if b.line == "" {
			continue
		}
		to, size := &section{day: v.spoken(h)}, 1
		if len(parts[part]) == 0 {
			size += text.Tokens(p.headings[part]) + 1
		}
		for _, s := range parts[part] {
			if to.day != "" && s.day == to.day {
				to, first = s, false
			}
		}
		if !slices.ContainsFunc(parts[:], func(sections []*section) bool { return len(sections) > 0 }) {
			b.line = text.Fit(b.line, room-size, text.Tokens)
		}
		switch {
		case first:
			size += text.Tokens(b.line)
		case len(to.bullets) == 1: // its date gets a line
			size += text.Tokens(b.undated) + text.Tokens(to.bullets[0].undated) + text.Tokens(to.day+p.colon) + 2 - text.Tokens(to.bullets[0].line)
		default:
			size += text.Tokens(b.undated)
		}
		if b.line == "" || size > room {
			continue
		}
		room -= size
		if to.bullets = append(to.bullets, b); first {
			parts[part] = append(parts[part], to)
		}
	}
	for i, sections := range parts {
		if len(sections) > 0 {
			lines = append(lines, p.headings[i])
		}
		for _, s := range sections {
			if len(s.bullets) > 1 {
				lines = append(lines, s.day+p.colon)
			}
			for _, b := range s.bullets {
				if len(s.bullets) > 1 {
					b.line = b.undated
				}
				lines, shown = append(lines, b.line), append(shown, *b.Hit)
			}
		}
	}
	return lines, shown
}

// section holds what was said on one day, or a bullet without a day.
type section struct {
	day     string
	bullets []bullet
}

// bullet is the line of a hit, with its date and without it.
type bullet struct {
	*backends.Hit
	line, undated string
}

// ids returns the ids that hits are shown under; they are empty if no tool takes them.
func (v View) ids(hits []backends.Hit) []string {
	if !v.IDs {
		return make([]string, len(hits))
	}
	return IDs(hits)
}

// Bullet returns the line that shows a hit under an id, "- [id] speaker: text (…)", or the
// matching passage of a long text. It has the time when the hit was said or begins to hold,
// its predecessor, or its end. It is "" for an empty text. See [text.Bullet].
func (v View) Bullet(h *backends.Hit, id string) string {
	return v.under(h, id, v.spoken(h), v.said(h))
}

// spoken returns the day on which words were said, "" for another memory.
func (v View) spoken(h *backends.Hit) string {
	if h.Kind != backends.KindEpisode {
		return ""
	}
	return v.day(h.Since())
}

// crowded returns the days on which hits show words of several times.
func (v View) crowded(hits []backends.Hit) map[string]bool {
	times, crowded := map[string]string{}, map[string]bool{}
	for i := range hits {
		if at := hits[i].Since(); hits[i].Kind == backends.KindEpisode && !at.IsZero() {
			day, minute := v.day(at), at.In(v.zone()).Format("15:04")
			other, seen := times[day]
			crowded[day] = crowded[day] || seen && other != minute
			times[day] = minute
		}
	}
	return crowded
}

// under returns the bullet of a hit with a time, or without one, and what it said.
func (v View) under(h *backends.Hit, id, at, said string) string {
	p := v.phrases()
	head := slices.DeleteFunc([]string{at, v.speaker(h)}, func(s string) bool { return s == "" })
	line := text.Bullet(id, strings.Join(head, p.comma), said)
	if line == "" {
		return ""
	}
	remarks := v.history(h)
	if use := text.Inert(h.WhenToUse); use != "" && use != text.Inert(h.Text) && !h.Kind.Traits().Keywords {
		remarks = append([]string{p.when + use}, remarks...)
	}
	if steps, _ := h.Metadata["example"].(string); steps != "" && h.Kind == backends.KindTask {
		remarks = append(remarks, p.example+text.Inert(steps))
	}
	if len(remarks) == 0 && h.Kind != backends.KindDocument && h.Kind != backends.KindEpisode {
		remarks = v.told(h)
	}
	return line + v.brackets(remarks)
}

// source returns the source of a fact beside the users.
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

// speaker returns who said the text of a hit. It is "" for an unspoken one and for a fact
// from the user, which says so itself. For a document it returns its name.
func (v View) speaker(h *backends.Hit) string {
	p, o := v.phrases(), &h.Origin
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
	case o.Role == string(schema.User) && h.Kind == backends.KindEpisode:
		return p.user
	case o.Role == string(schema.Assistant):
		return p.assistant
	}
	return ""
}
