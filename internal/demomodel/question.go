// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"slices"
	"strings"
	"unicode"
)

// term is one thing that a question asks about.
type term struct {
	forms    []string // any of them will do; a Chinese form may have several characters
	shown    string   // as written: the keyword of a search
	weight   float64
	light    bool // said of everybody: two of them do not make an answer
	name     bool // asks what somebody or something is called
	required bool // without it nothing is an answer: whose, or the name of whom
}

// How much a term counts: what "which city" asks for is seldom in the answer.
const (
	weightFull  = 1.0
	weightKind  = 0.5
	weightLight = 0.4
)

type question struct {
	terms []term
	first bool   // it asks about the user
	wants string // where, when, who, many, number or nothing
	all   bool   // it asks for all there is: what do you know about me?
}

var interrogatives = strings.Fields("what which who whom whose when where why how")
var auxiliaries = strings.Fields("am is are was were do does did have has had can could will would should shall may might")
var pronouns = strings.Fields("i you we he she it they my your his her our their the there this that")

// questions returns the sentences of a text that ask.
func questions(text string) []string {
	var out []string
	for _, s := range sentences(text) {
		if isQuestion(s) {
			out = append(out, s)
		}
	}
	return out
}

func isQuestion(sentence string) bool {
	s := strings.TrimSpace(sentence)
	if strings.ContainsAny(s, "?？") {
		return true
	}
	bare := strings.TrimRight(s, "。.!！ ")
	if strings.HasSuffix(bare, "吗") || strings.HasSuffix(bare, "呢") || slices.ContainsFunc(hanAsks, func(w string) bool { return strings.Contains(s, w) }) {
		return true
	}
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(bare, "’", "'")))
	if len(words) < 2 {
		return false
	}
	first, second := words[0], strings.Split(words[1], "'")[0]
	head, contracted, _ := strings.Cut(first, "'")
	switch {
	case slices.Contains(interrogatives, head):
		return contracted != "" || !slices.Contains(pronouns, second)
	case slices.Contains(auxiliaries, first):
		return slices.Contains(pronouns, second)
	case first == "tell" || first == "remind":
		return second == "me"
	}
	return false
}

func parseQuestion(text string) *question {
	q := &question{}
	tokens := tokenize(idioms.Replace(text))
	q.english(tokens)
	for i := 0; i < len(tokens); {
		run := ""
		for ; i < len(tokens) && tokens[i].han; i++ {
			run += tokens[i].raw
		}
		if run != "" {
			q.asks(run)
			q.chinese(run)
		} else {
			i++
		}
	}
	if len(q.terms) == 0 && q.first && q.wants == "who" { // who am I?
		for _, w := range []string{"name", "叫"} {
			if isHan(w) == isHan(text) {
				q.terms = append(q.terms, term{forms: append([]string{stem(w)}, related[stem(w)]...), shown: w, weight: weightLight, light: true, name: true})
			}
		}
	}
	q.all = len(q.terms) == 0 && q.first && slices.ContainsFunc([]string{"remember", "know", "记得", "知道", "了解", "记住"}, func(w string) bool {
		return strings.Contains(strings.ToLower(text), w)
	})
	return q
}

// english finds the terms among the words. After which, what and how stands what
// kind of answer is wanted; after my, whose it is about.
func (q *question) english(tokens []token) {
	kind, my := false, false
	for i, t := range tokens {
		lower := strings.ToLower(t.raw)
		if t.han {
			kind, my = false, false
			continue
		}
		if w := map[string]string{"where": "where", "when": "when", "who": "who", "many": "many", "old": "number", "much": "number"}[lower]; w != "" && q.wants == "" {
			q.wants = w
		}
		switch lower {
		case "i", "me", "my", "mine", "we", "our", "us":
			q.first = true
		}
		if slices.Contains(stopWords, lower) {
			kind = (kind || lower == "which" || lower == "what" || lower == "how") && !slices.Contains(auxiliaries, lower) && !slices.Contains(pronouns, lower)
			my = lower == "my" || lower == "our"
			continue
		}
		n := term{forms: []string{t.stem}, shown: t.raw, weight: weightFull}
		light := slices.Contains(lightWords, t.stem)
		n.light, n.name = light, t.stem == stem("name") || lower == "called"
		switch {
		case light:
			n.weight = weightLight
		case kind:
			n.weight = weightKind
		}
		name := i > 0 && unicode.IsUpper([]rune(t.raw)[0])
		if n.required = (name || t.owner || my) && (!light || my && t.stem == stem("name")); n.required {
			n.weight = max(n.weight, weightLight)
		}
		my = my && light // an adjective: the thing comes after it
		n.forms = append(n.forms, related[t.stem]...)
		q.terms = append(q.terms, n)
	}
}

// asks finds out whom a run of characters asks about, and what it wants.
func (q *question) asks(run string) {
	if strings.ContainsAny(run, "我咱") {
		q.first = true
	}
	for _, w := range []struct{ ask, wants string }{{"哪里", "where"}, {"哪儿", "where"}, {"谁", "who"}, {"什么时候", "when"}, {"几个", "many"}, {"几只", "many"}, {"几", "number"}, {"多少", "number"}, {"多大", "number"}} {
		if strings.Contains(run, w.ask) && q.wants == "" {
			q.wants = w.wants
		}
	}
}

// chinese finds the terms in a run of characters: known words, and pairs of
// characters of what is left when the words for asking are cut out.
func (q *question) chinese(run string) {
	whose, kind, rest := false, false, ""
	flush := func() {
		q.pairs(rest, whose, kind)
		if rest != "" {
			whose, kind = false, false
		}
		rest = ""
	}
	for run != "" {
		if w := prefix(run, hanKnown); w != "" {
			flush()
			t := term{forms: append([]string{w}, related[w]...), shown: w, weight: weightFull}
			t.name = w == "叫" || w == "名字"
			if t.light = slices.Contains(hanLight, w); t.light {
				t.weight = weightLight
			} else if kind {
				t.weight = weightKind
			}
			t.required = slices.Contains(hanPersons, w) || whose && !slices.Contains(hanLight, w)
			q.terms = append(q.terms, t)
			whose, kind, run = false, false, run[len(w):]
			continue
		}
		if w := prefix(run, hanStop); w != "" {
			flush()
			whose = w == "的" && !kind || whose && w == "最"
			kind = w == "什么" || w == "哪个" || w == "哪些" || w == "几" || w == "哪"
			run = run[len(w):]
			continue
		}
		r := []rune(run)[0]
		rest, run = rest+string(r), run[len(string(r)):]
	}
	flush()
}

// pairs adds the terms of characters that no table knows.
func (q *question) pairs(text string, whose, kind bool) {
	runes := []rune(text)
	if len(runes) == 0 {
		return
	}
	weight := weightFull
	if kind {
		weight = weightKind
	}
	if len(runes) <= 2 {
		q.terms = append(q.terms, term{forms: []string{text}, shown: text, weight: weight, required: whose})
		return
	}
	for i := range len(runes) - 1 {
		pair := string(runes[i : i+2])
		q.terms = append(q.terms, term{forms: []string{pair}, shown: pair, weight: weight / float64(len(runes)-1), required: whose && i == 0})
	}
}

func prefix(s string, words []string) string {
	for _, w := range words {
		if strings.HasPrefix(s, w) {
			return w
		}
	}
	return ""
}
