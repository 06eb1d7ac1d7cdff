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

// Some models think aloud, and print calls of tools or results, in the text of their answers.
// Memory neither keeps nor shows such asides. The agent's program gets them as they are.

var (
	aside = regexp.MustCompile(`(?i)^(?:</?(?:seed:)?(?:think|thinking|thoughts?|reasoning)>|\[/?THINK\]|◁/?think▷|<\|(?:START|END)_THINKING\|>|</?tool_(?:calls?|response)>)`)
	// asideWords are pieces of the tags; every tag has one.
	asideWords = []string{"hink", "HINK", "hought", "HOUGHT", "easoning", "EASONING", "tool_call", "tool_response"}
	// tagNoun matches behind a tag only in a sentence about it; aboutTag may match there.
	tagNoun  = regexp.MustCompile(`^[ \t]*(?:(?:tags?|tokens?|blocks?|sections?|markers?)\b|标签|标记|标识)`)
	aboutTag = regexp.MustCompile(`^[ \t]*(?:(?:and|or|to|is|are|in)\b|和|与|或|及|之间|块|[,;:.…，、；。)）]|[ \t][a-z]|</)`)
)

// Asides returns the stretches of an assistant's text that are thoughts and printed calls, in
// order. A thought whose opening tag the chat template swallowed begins with the text. An open
// thought ends with the text. Tags in code, in quotation marks, and within a sentence about them
// are text.
func Asides(s string) (out [][2]int) {
	if !slices.ContainsFunc(asideWords, func(word string) bool { return strings.Contains(s, word) }) {
		return nil
	}
	start, open, spokenOf := 0, "", false
	var end int
	for i := 0; i < len(s); i = end {
		end = i + 1
		if s[i] == '`' && open == "" {
			end = i + codeLength(s[i:])
		}
		if s[i] != '<' && s[i] != '[' && s[i] != "◁"[0] {
			continue
		}
		tag := strings.ToLower(aside.FindString(s[i:min(len(s), i+24)])) // the longest has fewer bytes
		if tag == "" {
			continue
		}
		closes := strings.Contains(tag, "/") || strings.HasPrefix(tag, "<|end")
		end = i + len(tag)
		if mentioned(s, i, end) {
			spokenOf = spokenOf || open == "" && !closes
			continue
		}
		calls := strings.Contains(tag, "tool")
		switch {
		case open == "" && !closes:
			start, open = i, tag
		case open == "" && calls: // the tag closes no call
			out = append(out, [2]int{i, end})
		case open == "" && spokenOf: // it closes the tag that the text mentions
		case open == "":
			out = [][2]int{{0, end}}
		case closes && calls == strings.Contains(open, "tool"):
			out, open = append(out, [2]int{start, end}), ""
		}
	}
	if open != "" {
		out = append(out, [2]int{start, len(s)})
	}
	return out
}

// codeLength returns the length of the code that backticks begin, or their number if it stays open.
func codeLength(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	rest, fence := s[n:], s[:min(n, 3)]
	if n < 3 {
		rest, _, _ = strings.Cut(rest, "\n")
	}
	if at := strings.Index(rest, fence); at >= 0 {
		return n + at + len(fence)
	}
	return n
}

// mentioned reports whether a sentence is about a tag. Such a tag stands in quotation marks, or
// amid the words of a line, which go on behind it. An opening tag may also end the line.
func mentioned(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if strings.ContainsRune("\"'`“‘「『", before) && strings.ContainsRune("\"'`”’」』", after) || tagNoun.MatchString(s[end:]) {
		return true
	}
	word, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:start], " \t"))
	apart := word != before || unicode.Is(unicode.Han, word) || strings.ContainsRune("，、", word)
	amid := apart && (unicode.IsLetter(word) || strings.ContainsRune(",，、", word))
	return amid && (aboutTag.MatchString(s[end:]) || s[start+1] != '/' && (end == len(s) || after == '\n'))
}

// Spoken returns the words of an assistant's text, freed of its asides.
func Spoken(s string) string {
	asides := Asides(s)
	for _, at := range slices.Backward(asides) {
		s = s[:at[0]] + s[at[1]:]
	}
	if len(asides) > 0 {
		s = strings.TrimSpace(s)
	}
	return s
}

// spokenBy returns the spoken words in a text of a message.
func spokenBy(m *schema.Message, s string) string {
	if m.Role != schema.Assistant {
		return s
	}
	return Spoken(s)
}
