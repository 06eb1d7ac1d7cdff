// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

// clause is the smallest thing that is quoted: a sentence, or a part of one that
// has its own subject.
type clause struct {
	text   string
	tokens []token
	date   string // year-month-day and time as the note tells it; sorts as text
	order  int
}

// A bullet of a note or of a tool's answer: "- [id] date: text", all but the text
// optional.
var (
	bulletLine = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+(.*)$`)
	idPart     = regexp.MustCompile(`^\[[^\]]*\]\s*`)
	datePart   = regexp.MustCompile(`^\(?(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?\S*)?)\)?\s*[:：]?\s*`)
	speaker    = regexp.MustCompile(`(?i)^(user|human|assistant|ai|system|tool|用户|助手)\s*[:：]\s*`)
)

// fromBullets reads the remembered texts of a note. An indented line goes on with
// the bullet before it.
func fromBullets(note string) []clause {
	var items []string
	for line := range strings.Lines(note) {
		line = strings.TrimRight(line, "\r\n")
		if m := bulletLine.FindStringSubmatch(line); m != nil {
			items = append(items, m[1])
		} else if len(items) > 0 && strings.HasPrefix(line, " ") {
			items[len(items)-1] += "\n" + strings.TrimSpace(line)
		}
	}
	var out []clause
	for _, item := range items {
		item = idPart.ReplaceAllString(item, "")
		date := ""
		if m := datePart.FindStringSubmatch(item); m != nil {
			date, item = m[1], item[len(m[0]):]
		}
		if m := speaker.FindStringSubmatch(item); m != nil {
			if role := strings.ToLower(m[1]); role != "user" && role != "human" && role != "用户" {
				continue
			}
			item = item[len(m[0]):]
		}
		out = append(out, fromText(html.UnescapeString(item), date)...)
	}
	return out
}

// fromText cuts a text into clauses. Questions say nothing, and neither do this
// model's own answers when memory brings them back.
func fromText(text, date string) []clause {
	if isOwn(text) {
		return nil
	}
	var out []clause
	for _, s := range sentences(text) {
		if isQuestion(s) {
			continue
		}
		for _, part := range clauses(s) {
			if tokens := tokenize(part); len(tokens) > 0 {
				out = append(out, clause{text: part, tokens: tokens, date: date})
			}
		}
	}
	return out
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?]+["')\]]*\s+|[.!?]+["')\]]*$|[。！？!?；;\n]+`)
	// A new subject in the same sentence: after a comma or a conjunction.
	newSubject = regexp.MustCompile(`(?i)(?:,\s*(?:and |but |so |while )?|\s+(?:and|but) )(?:(?:also |now )?(?:i|i'm|i’m|i've|we)\b|(?:my|our) (?:\S+ ){1,2}(?:is|are|was|were|has|have|had|will|lives|works|likes|loves|hates|moved|called|named)\b)` +
		`|[，,](?:而且|但是|不过|另外|现在|而|但)?(?:我|咱)`)
	leading = regexp.MustCompile(`(?i)^[\s,，]*(?:(?:and|but|so|while) )?`)
)

// A sentence about who was named in the one before it belongs to that one.
var goesOn = regexp.MustCompile(`(?i)^(?:(?:he|she|it|they|his|her|its|their)\b|[他她它])`)

// sentences cuts at the ends of sentences and keeps their marks.
func sentences(text string) []string {
	var out []string
	from := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		if abbreviates(text[from:at[0]]) && text[at[0]] == '.' || goesOn.MatchString(text[at[1]:]) && !strings.ContainsAny(text[at[0]:at[1]], "?？\n") {
			continue
		}
		out = appendTrimmed(out, text[from:at[1]])
		from = at[1]
	}
	return appendTrimmed(out, text[from:])
}

// abbreviates reports whether the full stop after text belongs to an
// abbreviation: Dr., e.g., an initial.
func abbreviates(text string) bool {
	word := strings.ToLower(text[strings.LastIndexAny(text, " (")+1:])
	switch word {
	case "dr", "mr", "mrs", "ms", "st", "prof", "e.g", "i.e", "vs", "no":
		return true
	}
	return len(word) == 1 && word != "i"
}

// clauses cuts a sentence where a new subject speaks of the user.
func clauses(sentence string) []string {
	var out []string
	from := 0
	for _, at := range newSubject.FindAllStringIndex(sentence, -1) {
		if left := sentence[from:at[0]]; standsAlone(left) {
			out = appendTrimmed(out, left)
			from = at[0]
		}
	}
	return appendTrimmed(out, sentence[from:])
}

var subordinate = strings.Fields("when if because since after before while as although though until unless once whenever")

// standsAlone reports whether the part of a sentence says something by itself: it
// speaks of the user and is no "When I was young".
func standsAlone(part string) bool {
	c := clause{tokens: tokenize(part[len(leading.FindString(part)):])}
	self, owned := c.speaker()
	return (self >= 0 || owned >= 0) && !slices.Contains(subordinate, strings.ToLower(c.tokens[0].raw))
}

func appendTrimmed(out []string, s string) []string {
	s = strings.TrimSpace(s[len(leading.FindString(s)):])
	if s == "" {
		return out
	}
	return append(out, s)
}
