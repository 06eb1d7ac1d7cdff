// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"slices"
	"strings"
	"unicode"
)

// score returns how well a clause fits the question: the share of the terms that
// it has, and something for having what is wanted. ok is false when it is no
// answer.
func (q *question) score(c clause) (float64, bool) {
	if q.all {
		return 1, true
	}
	var total, found float64
	full, naming, named := false, false, false
	hits := map[int]bool{} // the tokens that were asked for
	for _, t := range q.terms {
		total += t.weight
		naming = naming || t.name
		at, n := c.match(t)
		switch {
		case n > 0:
			found += t.weight
			full = full || !t.light
			named = named || t.name
			for i := range n {
				hits[at+i] = true
			}
		case t.required:
			return 0, false
		}
	}
	if total == 0 || found/total <= minCoverage || !q.subject(c, hits, full) {
		return 0, false
	}
	if naming && !named && !c.has("who") {
		return 0, false
	}
	switch {
	case q.wants == "many" && !c.counts(hits), q.wants == "number" && !c.has("number"):
		return 0, false // how many, how old: nothing but a number answers
	case q.wants != "" && (q.wants == "many" || c.has(q.wants)):
		return found/total + fitBonus, true
	}
	return found / total, true
}

// match returns where the clause has the term, and in how many tokens.
func (c clause) match(t term) (at, n int) {
	for _, form := range t.forms {
		if !isHan(form) {
			if i := slices.IndexFunc(c.tokens, func(k token) bool { return k.stem == form }); i >= 0 {
				return i, 1
			}
			continue
		}
		runes := []rune(form)
		for i := range len(c.tokens) - len(runes) + 1 {
			if matches(c.tokens[i:], runes) {
				return i, len(runes)
			}
		}
	}
	return 0, 0
}

func matches(tokens []token, runes []rune) bool {
	for i, r := range runes {
		if tokens[i].raw != string(r) {
			return false
		}
	}
	return true
}

// subject reports whether the clause speaks of whom the question asks about. A
// question about the user is not answered by "my sister lives in Berlin" or "Anna
// is allergic", unless it asks about the sister or Anna.
func (q *question) subject(c clause, hits map[int]bool, full bool) bool {
	if !q.first {
		return true
	}
	self, owned := c.speaker()
	switch {
	case owned >= 0 && owned < len(c.tokens) && c.tokens[owned].owner: // my wife's name is not mine
		return hits[owned]
	case owned >= 0:
		return anyHit(hits, owned, len(c.tokens))
	case self < 0:
		return hits[0] || isStop(c.tokens[0])
	case full:
		return true
	}
	for at := range hits { // only light words: they must be said of the user
		if d := at - self; -nearSubject <= d && d <= nearSubject {
			return true
		}
	}
	return false
}

// speaker returns where the clause names the user, -1 when nowhere; when it names
// what is the user's before that ("my sister"), owned is where.
func (c clause) speaker() (self, owned int) {
	for i, t := range c.tokens {
		switch strings.ToLower(t.raw) {
		case "i", "we", "user", "me":
			return i, -1
		case "my", "our":
			return -1, c.thing(i + 1)
		case "我", "咱":
			if i+1 < len(c.tokens) && c.tokens[i+1].raw == "的" {
				return -1, i + 2
			}
			for _, p := range hanPersons {
				if matches(padded(c.tokens[i+1:], p), []rune(p)) {
					return -1, i + 1
				}
			}
			return i, -1
		}
	}
	return -1, -1
}

// thing skips the adjectives between my and the thing.
func (c clause) thing(i int) int {
	for i < len(c.tokens)-1 && slices.Contains(lightWords, c.tokens[i].stem) && c.tokens[i].stem != stem("name") {
		next := strings.ToLower(c.tokens[i+1].raw)
		if slices.Contains(stopWords, next) {
			break
		}
		i++
	}
	return i
}

// anyHit reports whether the thing that is spoken of was asked for: one of the
// two tokens from at, for a name may stand between ("my older sister").
func anyHit(hits map[int]bool, at, n int) bool {
	for i := at; i < min(at+2, n); i++ {
		if hits[i] {
			return true
		}
	}
	return false
}

func padded(tokens []token, word string) []token {
	for n := len([]rune(word)); len(tokens) < n; {
		tokens = append(slices.Clip(tokens), token{})
	}
	return tokens
}

func isStop(t token) bool {
	if t.han {
		return slices.Contains(hanStop, t.raw) && !strings.Contains("他她它你您", t.raw) || slices.Contains(hanKnown, t.raw) && !slices.Contains(hanPersons, t.raw)
	}
	return slices.Contains(lightWords, t.stem)
}

// has reports whether the clause has what the question wants: a place, a time, a
// name, a number.
func (c clause) has(wants string) bool {
	for i, t := range c.tokens {
		lower := strings.ToLower(t.raw)
		number := isNumber(t, lower)
		switch {
		case wants == "who" && i > 0 && !t.han && lower != "i" && unicode.IsUpper([]rune(t.raw)[0]), wants == "number" && number:
			return true
		case wants == "where" && slices.Contains([]string{"in", "at", "to", "from", "在", "到"}, lower):
			return true
		case wants == "when" && (number || slices.Contains(times, t.stem) || t.han && strings.Contains("年月日号", t.raw)):
			return true
		}
	}
	return false
}

// counts reports whether a number stands right before what was asked for.
func (c clause) counts(hits map[int]bool) bool {
	for at := range hits {
		for _, t := range c.tokens[max(0, at-2):at] {
			lower := strings.ToLower(t.raw)
			if isNumber(t, lower) || slices.Contains([]string{"a", "an", "no"}, lower) {
				return true
			}
		}
	}
	return false
}

func isNumber(t token, lower string) bool {
	return strings.ContainsFunc(t.raw, unicode.IsNumber) || t.han && strings.Contains("一二三四五六七八九十百千万两半", t.raw) || slices.Contains(numbers, lower)
}

// adds reports whether a clause adds to what was said before instead of
// replacing it.
func adds(c clause) bool {
	for i, t := range c.tokens {
		switch strings.ToLower(t.raw) {
		case "also", "too", "another", "也", "还":
			return true
		case "另":
			return i+1 < len(c.tokens) && c.tokens[i+1].raw == "外"
		}
	}
	return false
}

// changes reports whether a clause says itself that something is no longer as it
// was.
func changes(c clause) bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool {
		if t.han {
			return strings.Contains("搬换改", t.raw)
		}
		return slices.Contains(changeWords, t.stem)
	})
}
