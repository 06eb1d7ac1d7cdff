// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/porter"

	"github.com/einomem/einomem/examples/internal/trial"
)

// abstains finds an answer that says that it is unknown.
var abstains = regexp.MustCompile(`(?i)\b(?:not|never|cannot|no|n't|nothing)(?: \w+){0,3}? (?:know|mention|say|said|specif|stat|provide|information|answer|given|clear)|n't (?:know|mention|say|specify|state|provide)|^unknown|不知道|没有提到`)

// graded grades a free answer by rules: 1 if it is right, and its F1 over words. A question without
// an answer is answered right by saying so. Dates are compared as dates. Any other answer is right
// if it has all words of the right one, or if F1 is above 2/3: one of two words is no answer.
func graded(q *trial.Question, given string) (correct, f1 float64) {
	yes := map[bool]float64{true: 1}
	if given == "" || unanswerable(q) || abstains.MatchString(given) {
		correct = yes[unanswerable(q) && abstains.MatchString(given)]
		return correct, correct
	}
	want, _, _ := strings.Cut(string(q.Answer), ";") // a reason follows
	wanted, found := graderWords(want), graderWords(given)
	left, common := slices.Clone(found), 0.0
	for _, w := range wanted {
		if at := slices.Index(left, w); at >= 0 {
			left, common = slices.Delete(left, at, at+1), common+1
		}
	}
	f1 = 2 * common / float64(max(1, len(wanted)+len(found)))
	spans, rest := spansOf(want, 0)
	if len(spans) == 0 || len(graderWords(rest)) > 0 {
		return yes[len(wanted) > 0 && (int(common) == len(wanted) || 3*f1 > 2.0001)], f1
	}
	said, _ := spansOf(given, spans[0].from.Year())
	within := func(all, in []span) bool {
		return !slices.ContainsFunc(all, func(a span) bool { return !slices.ContainsFunc(in, a.within) })
	}
	reached := !slices.ContainsFunc(spans, func(a span) bool {
		return !slices.ContainsFunc(said, func(b span) bool { return b.within(a) })
	})
	return yes[reached && within(said, spans)], f1
}

// unanswerable reports whether the conversation leaves a question unanswered.
func unanswerable(q *trial.Question) bool {
	return q.Category == trial.Adversarial || q.Category == "abstention"
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

// graderWords returns the words of an answer as SQuAD and LoCoMo compare them: small, stemmed,
// without punctuation and articles, small numbers in digits. A date is one word, and so is a Chinese
// character.
func graderWords(s string) (out []string) {
	s = date.ReplaceAllStringFunc(s, func(d string) string {
		at, rest := spansOf(d, 1)
		for _, a := range at {
			rest += " " + a.from.Format("20060102") + a.to.Format("20060102") + " "
		}
		return rest
	})
	var spaced strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.Is(unicode.Han, r):
			spaced.WriteString(" " + string(r) + " ")
		case unicode.IsLetter(r), unicode.IsDigit(r):
			spaced.WriteRune(r)
		case r != '\'' && r != '’':
			spaced.WriteByte(' ')
		}
	}
	for w := range strings.FieldsSeq(spaced.String()) {
		if slices.Contains([]string{"a", "an", "the", "and", "in", "on", "of", "at", "since", "likely"}, w) {
			continue
		}
		if n := slices.Index(numbers, w); n >= 0 {
			w = strconv.Itoa(n)
		}
		env := snowballstem.NewEnv(w)
		porter.Stem(env)
		out = append(out, env.Current())
	}
	return out
}

// span is a stretch of days, the last one included.
type span struct{ from, to time.Time }

func (s span) within(o span) bool { return !s.from.Before(o.from) && !s.to.After(o.to) }

// date finds a day, a month of a year, or a year: as an ISO date, "7 May, 2023", "May 7th", "May
// 2023" or "2023". The unit in front of "before" or "of" moves a day.
var date = regexp.MustCompile(`(?i)(?:\b(?:(two) )?(weeks?|weekend|sunday|monday|tuesday|wednesday|thursday|friday|saturday) (before|of) (?:the )?)?` +
	`\b(?:((?:19|20)\d\d)-(\d\d)-(\d\d)|(\d{1,2})(?:st|nd|rd|th)? ?` + months + `\b[ ,.]*((?:19|20)\d\d)?|` + months + `\b[ ,.]*(?:(\d{1,2})(?:st|nd|rd|th)?\b[ ,.]*)?((?:19|20)\d\d)?|((?:19|20)\d\d)\b)`)

const months = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`

// spansOf returns the dates in a text, and the rest of it. A date without a year has the given one.
func spansOf(s string, year int) (out []span, rest string) {
	rest = date.ReplaceAllStringFunc(s, func(found string) string {
		m := date.FindStringSubmatch(found)
		y, _ := strconv.Atoi(cmp.Or(m[4], m[9], m[12], m[13]))
		d, _ := strconv.Atoi(cmp.Or(m[6], m[7], m[11]))
		month, _ := strconv.Atoi(m[5])
		if name := strings.ToLower(cmp.Or(m[8], m[10])); name != "" {
			month = strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name[:3])/3 + 1
		}
		if y = cmp.Or(y, year); y == 0 || (d == 0 && month > 0 && cmp.Or(m[9], m[12]) == "") { // "may" is a verb
			return found
		}
		at := span{from: time.Date(y, time.Month(max(1, month)), max(1, d), 0, 0, 0, 0, time.UTC)}
		switch {
		case d > 0:
			at = unitOf(at.from, strings.ToLower(m[2]), strings.EqualFold(m[3], "before"))
		case month > 0:
			at.to = at.from.AddDate(0, 1, -1)
		default:
			at.to = at.from.AddDate(1, 0, -1)
		}
		if m[1] != "" { // two weeks before
			at.from, at.to = at.from.AddDate(0, 0, -7), at.to.AddDate(0, 0, -7)
		}
		out = append(out, at)
		return " "
	})
	return out, rest
}

// unitOf returns the week or weekend of a day, or the last week, weekend or weekday before it. "The
// week before" is from that week's Monday to the day before.
func unitOf(day time.Time, unit string, before bool) span {
	back := func(t time.Time, to time.Weekday) time.Time { return t.AddDate(0, 0, -(int(t.Weekday()-to)+7)%7) }
	monday, eve := back(day, time.Monday), day.AddDate(0, 0, -1)
	sunday := monday.AddDate(0, 0, 6)
	switch {
	case unit == "":
		return span{day, day}
	case unit == "weekend" && before:
		sunday = back(eve, time.Sunday)
		fallthrough
	case unit == "weekend":
		return span{sunday.AddDate(0, 0, -1), sunday}
	case strings.HasPrefix(unit, "week") && before:
		return span{monday.AddDate(0, 0, -7), eve}
	case strings.HasPrefix(unit, "week"):
		return span{monday, sunday}
	}
	for !strings.EqualFold(eve.Weekday().String(), unit) {
		eve = eve.AddDate(0, 0, -1)
	}
	return span{eve, eve}
}
