// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// How much a model is shown.
const (
	contextShown  = 10     // messages of before
	memoriesShown = 10     // existing memories
	contextRunes  = 300    // characters of a message of before
	messageRunes  = 6000   // characters of a new message
	batchRunes    = 60_000 // characters of all new messages together, as long as each keeps minRunes
	minRunes      = 200
	memoryRunes   = 1000 // characters of an existing memory
)

// section renders data for the model: a line of JSON for each entry between two
// tags. Nothing in a text can end a line or close a tag.
func section[T any](name string, entries []T) string {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "<%s>\n", name)
	e := json.NewEncoder(&buf)
	for i := range entries {
		_ = e.Encode(entries[i]) // plain structs of texts, numbers and times; '<' comes out as \u003c
	}
	fmt.Fprintf(&buf, "</%s>\n", name)
	return buf.String()
}

type messageLine struct {
	N    *int   `json:"n,omitempty"`
	Time string `json:"time,omitempty"`
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

type memoryLine struct {
	Index  int    `json:"index"`
	SaidBy string `json:"said_by,omitempty"`
	Since  string `json:"since,omitempty"`
	Text   string `json:"text"`
}

type factLine struct {
	Fact int    `json:"fact"`
	Text string `json:"text"`
}

// conversation renders what was said before and what is new.
func (in *intake) conversation(lang Language) string {
	p := prompts(lang)
	before := make([]messageLine, len(in.context))
	for i := range in.context {
		before[i] = in.context[i].line(contextRunes, p.omitted)
	}
	share := min(messageRunes, max(minRunes, batchRunes/max(1, len(in.said))))
	said := make([]messageLine, len(in.said))
	for i := range in.said {
		n := i
		said[i] = in.said[i].line(share, p.omitted)
		said[i].N = &n
	}
	var sb strings.Builder
	if len(before) > 0 {
		sb.WriteString(section("earlier_messages", before))
	}
	sb.WriteString(section("new_messages", said))
	fmt.Fprintf(&sb, "%s %s", p.now, in.now.UTC().Format("2006-01-02 15:04 Mon"))
	return sb.String()
}

func (u *utterance) line(limit int, omitted string) messageLine {
	return messageLine{Time: u.time.UTC().Format("2006-01-02 15:04 Mon"), Role: u.role, Name: u.speaker, Text: bound(u.text, limit, omitted)}
}

// existing renders the memories that the model may refer to by index.
func existing(memories []*backends.Memory, lang Language) string {
	lines := make([]memoryLine, len(memories))
	for i, m := range memories {
		lines[i] = memoryLine{Index: i, SaidBy: m.Origin.Role, Text: bound(m.Text, memoryRunes, prompts(lang).omitted)}
		if from := since(m); !from.IsZero() {
			lines[i].Since = from.UTC().Format(time.DateOnly)
		}
	}
	return section("existing_memories", lines)
}

// bound keeps the start and the end of a long text and says how much is missing.
func bound(s string, limit int, omitted string) string {
	if len(s) <= limit {
		return s
	}
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	tail := limit / 4
	return fmt.Sprintf("%s […%d %s…] %s", string(runes[:limit-tail]), len(runes)-limit, omitted, string(runes[len(runes)-tail:]))
}

// shorten cuts s to at most n bytes, between characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// language returns the language of the prompts for what was said: Chinese when
// at least three letters in ten are Han.
func (b *Backend) language(in *intake) Language {
	if b.config.Language != LanguageAuto {
		return b.config.Language
	}
	han, letters := 0, 0
	for i := range in.said {
		for _, r := range shorten(in.said[i].text, 2000) {
			if unicode.IsLetter(r) {
				letters++
			}
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	if han > 0 && han*10 >= letters*3 {
		return LanguageChinese
	}
	return LanguageEnglish
}

// system puts the fixed part of a call together.
func (b *Backend) system(in *intake, lang Language, task, tool, format string) string {
	p := prompts(lang)
	parts := []string{p.rules, task}
	if in.partition.Kind == backends.PartitionAgent {
		parts = append(parts, p.agent)
	}
	if b.model.ByTool() {
		parts = append(parts, p.byTool+" "+tool+".")
	} else {
		parts = append(parts, format)
	}
	instructions := in.req.Instructions
	if strings.TrimSpace(instructions) == "" {
		instructions = b.config.Instructions
	}
	if strings.TrimSpace(instructions) != "" {
		parts = append(parts, p.instruct+"\n"+strings.TrimSpace(instructions))
	}
	return strings.Join(parts, "\n\n")
}
