// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// What a text names is found by its form alone, in the order of trust: dotted and
// underscored identifiers, runs of capitalised words, quoted text. Where two
// overlap, the more trusted one stays.
var (
	identifierForm = regexp.MustCompile(`[\p{L}\p{N}]+(?:[._][\p{L}\p{N}]+)+`)
	capitalForm    = regexp.MustCompile(`\p{Lu}[\p{L}\p{M}\p{N}'’-]*(?:[ \t]+(?:(?:of|the|for|at|in)[ \t]+){0,2}\p{Lu}[\p{L}\p{M}\p{N}'’-]*)*`)
	quotedForm     = regexp.MustCompile(`"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|「([^」\n]+)」|『([^』\n]+)』|《([^》\n]+)》|〈([^〉\n]+)〉`)
)

const (
	maxEntityLength = 100      // characters
	maxEntityText   = 16 << 10 // bytes of a text that are looked at
)

// span is a stretch of a text that may name something.
type span struct {
	start, end int
	trust      int
}

// extractEntities returns the normalised names of what a text names, in the
// order of the text, each once.
func extractEntities(text string, a *analyzer) []string {
	text = strings.ToValidUTF8(text[:min(len(text), maxEntityText)], "")
	spans := chooseSpans(findSpans(text))
	var names []string
	for _, s := range spans {
		name := a.entityName(text[s.start:s.end])
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func findSpans(text string) []span {
	var spans []span
	for _, m := range identifierForm.FindAllStringIndex(text, -1) {
		spans = append(spans, span{m[0], m[1], 3})
	}
	for _, m := range capitalForm.FindAllStringIndex(text, -1) {
		spans = append(spans, span{m[0], m[1], 2})
	}
	for _, m := range quotedForm.FindAllStringSubmatchIndex(text, -1) {
		for group := 2; group < len(m); group += 2 {
			if m[group] >= 0 {
				spans = append(spans, span{m[group], m[group+1], 1})
			}
		}
	}
	return spans
}

// chooseSpans drops what overlaps something more trusted, or longer.
func chooseSpans(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(b.trust, a.trust), cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.start, b.start))
	})
	var kept []span
	for _, s := range spans {
		if !slices.ContainsFunc(kept, func(k span) bool { return s.start < k.end && k.start < s.end }) {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return kept
}

// entityName returns the key of an entity: folded, with single spaces, without
// leading function words, and empty when it names nothing: too short, too long,
// a number, a mark of markdown, function words alone.
func (a *analyzer) entityName(raw string) string {
	words := strings.Fields(cases.Fold().String(norm.NFKC.String(raw)))
	for len(words) > 0 && a.isStopWord(words[0]) {
		words = words[1:]
	}
	name := strings.TrimSuffix(strings.ReplaceAll(strings.Join(words, " "), "’", "'"), "'s")
	name = strings.Trim(name, "'-.,;:!?")
	n, least := utf8.RuneCountInString(name), 3
	if strings.ContainsFunc(name, unspaced) { // a name of two characters is the rule
		least = 2
	}
	switch {
	case n < least || n > maxEntityLength,
		strings.ContainsAny(name, "*`#[]{}|<>"),
		!strings.ContainsFunc(name, unicode.IsLetter):
		return ""
	}
	return name
}

// isStopWord reports whether a folded word is in the stop list of its language.
func (a *analyzer) isStopWord(word string) bool {
	word = strings.Trim(strings.ReplaceAll(word, "’", "'"), "'-.,;:!?")
	for i := range a.languages {
		if a.languages[i].stop[word] {
			return true
		}
	}
	return false
}
