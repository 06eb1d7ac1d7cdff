// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

// Some models think aloud, and print calls of tools, in the text of their answers. Nobody said
// that: it is neither kept nor shown. What the agent's program gets stays as it is.

// aside are the tags around it.
var aside = regexp.MustCompile(`(?i)^(?:</?(?:seed:)?(?:think|thinking|thoughts?|reasoning)>|\[/?THINK\]|◁/?think▷|<\|(?:START|END)_THINKING\|>|</?tool_calls?>)`)

// asideWords are those of which every tag has one that every tag has.
var asideWords = []string{"hink", "HINK", "hought", "HOUGHT", "easoning", "EASONING", "tool_call"}

const longestTag = 24 // in bytes

// mark is a tag, or a mark of code, in a text.
type mark struct {
	start, end int
	partner    int // of code: the mark that ends it, 0 for none
	name       string
}

func (m *mark) isCode() bool { return m.name[0] == '`' || m.name[0] == '~' }
func (m *mark) closes() bool {
	return strings.Contains(m.name, "/") || strings.HasPrefix(m.name, "<|end")
}
func (m *mark) calls() bool { return strings.Contains(m.name, "tool") }

// marks returns the marks of a text, in order.
func marks(s string) []mark {
	if !slices.ContainsFunc(asideWords, func(word string) bool { return strings.Contains(s, word) }) {
		return nil
	}
	var out []mark
	for i := 0; i < len(s); i++ {
		n := 0
		switch s[i] {
		case '`', '~': // a tag in code is a text
			if n = len(s[i:]) - len(strings.TrimLeft(s[i:], s[i:i+1])); s[i] == '~' && n < 3 {
				n = 0
			}
		case '<', '[', "◁"[0]:
			n = len(aside.FindString(s[i:min(len(s), i+longestTag)]))
		}
		if n > 0 {
			out = append(out, mark{start: i, end: i + n, name: strings.ToLower(s[i : i+n])})
			i += n - 1
		}
	}
	next := map[string]int{} // the next mark of code of each sort
	for i := len(out) - 1; i >= 0; i-- {
		m := &out[i]
		if !m.isCode() {
			continue
		}
		sort := m.name[:min(3, len(m.name))] // a fence may be longer than the other
		if j := next[sort]; j > 0 && (len(sort) == 3 || !strings.Contains(s[m.end:out[j].start], "\n\n")) {
			m.partner = j
		}
		next[sort] = i
	}
	return out
}

// Asides returns the stretches of an assistant's text that are thoughts and printed calls, in
// order. A thought whose opening tag was swallowed by the chat template begins with the text; one
// that nothing closes ends with it. Tags in code, in quotation marks, and within a sentence that is
// about them are text.
func Asides(s string) (out [][2]int) {
	var open *mark
	all := marks(s)
	for i := 0; i < len(all); i++ {
		m := &all[i]
		switch {
		case m.isCode() && open == nil && m.partner > 0:
			i = m.partner
		case m.isCode(), mentioned(s, m):
		case open == nil && !m.closes():
			open = m
		case open != nil && m.closes() && m.calls() == open.calls():
			out, open = append(out, [2]int{open.start, m.end}), nil
		case open == nil && m.calls(): // it ends nothing
			out = append(out, [2]int{m.start, m.end})
		case open == nil:
			out = [][2]int{{0, m.end}}
		}
	}
	if open != nil {
		out = append(out, [2]int{open.start, len(s)})
	}
	return out
}

// aboutTags is what follows a tag that a sentence is about.
var aboutTags = regexp.MustCompile(`^[ \t]*(?:(?:tags?|tokens?|blocks?|sections?|markers?|and|or|to|is|are|in)\b|标签|标记|标识|和|与|或|及|之间|块|[,;:.，、；。)）]|[ \t][a-z])`)

// mentioned reports whether a tag is what a sentence is about: it stands in quotation marks, or
// amid the words of a line, which go on behind it.
func mentioned(s string, m *mark) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:m.start])
	after, _ := utf8.DecodeRuneInString(s[m.end:])
	if strings.ContainsRune("\"'`“‘「『", before) && strings.ContainsRune("\"'`”’」』", after) {
		return true
	}
	word, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:m.start], " \t"))
	amid := word != before || unicode.Is(unicode.Han, word) || strings.ContainsRune("，、", word)
	return amid && (unicode.IsLetter(word) || strings.ContainsRune(",，、", word)) && aboutTags.MatchString(s[m.end:])
}

// Spoken returns what is said in a text of an assistant: all but its asides.
func Spoken(s string) string {
	var b strings.Builder
	from := 0
	for _, at := range Asides(s) {
		b.WriteString(s[from:at[0]])
		from = at[1]
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return strings.TrimSpace(b.String())
}

// spokenBy returns what is said in a text of a message.
func spokenBy(m *schema.Message, s string) string {
	if m.Role != schema.Assistant {
		return s
	}
	return Spoken(s)
}
