// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// statement is one attribute of a subject, with its value.
type statement struct {
	subject, attribute, value string
	revises                   bool // it says that something changed
}

// named is a name in English, with a possible tail.
const named = `((?:the )?\p{Lu}[^\s,]*(?:,? (?:(?:of|de|la|am|upon) )?\p{Lu}[^\s,]*)*)(?:[ ,]+(?:since|from|as|with|now|again|last|this|in|on|instead)\b.*)?$`

// attributes are properties with one value at a time, each with a form of statement. The first
// group is the subject, the last the value; one between them names the attribute. Some may be two,
// such as a city and its district: there the later statement has to say that something changed.
var attributes = []struct {
	name string
	two  bool
	form *regexp.Regexp
}{
	{"home", true, regexp.MustCompile(`^(.{0,40}?)\b(?:(?:now|currently) )?(?:lives?|resides?|is living|has moved|moved|relocated|is based) (?:in|to) ` + named)},
	{"home", true, regexp.MustCompile(`^(.{0,12}?)(?:现在|目前|已经?)?(?:居?住在|搬到了?|搬去了?|定居在?)(.+)$`)},
	{"employer", true, regexp.MustCompile(`^(.{0,40}?)\b(?:(?:now|currently) )?(?:works? (?:at|for)|has joined|joined) ` + named)},
	{"employer", true, regexp.MustCompile(`^(.{0,12}?)(?:现在|目前)?(?:就职于|任职于|入职了?|跳槽到了?|加入了)(.+)$`)},
	{"employer", true, regexp.MustCompile(`^(.{0,12}?)(?:现在|目前)?在(.{1,30}?)(?:工作|上班)了?$`)},
	{"age", false, regexp.MustCompile(`(?i)^(.{0,40}?)\bis (?:now )?(\d+)(?: years? old)?$`)},
	{"age", false, regexp.MustCompile(`^(.{0,12}?)(?:今年|现在|已经?)?(\d+)岁了?$`)},
	{"", false, regexp.MustCompile(`(?i)^(.{0,40}?)(?:['’]s|\bmy) (name|nickname|age|birthday|birthplace|height|weight|blood type|native language|mother tongue|favou?rite [a-z]+(?: [a-z]+)?) (?:changed to|is now|is) (.+)$`)},
	{"", true, regexp.MustCompile(`(?i)^(.{0,40}?)(?:['’]s|\bmy) (?:new )?((?:phone|mobile)(?: number)?|e-?mail(?: address)?|(?:home |postal )?address|employer|job|job title|position|manager|boss|doctor|dentist|time ?zone|salary) (?:changed to|is now|is) (.+)$`)},
	{"", false, regexp.MustCompile(`^(.{0,12}?)的?(名字|姓名|昵称|年龄|生日|身高|体重|血型|母语|最喜欢的[^是]{1,8})(?:现在|改)?(?:是|叫|为|成)(.+)$`)},
	{"", true, regexp.MustCompile(`^(.{0,12}?)的?新?(电话|手机号?|邮箱|地址|住址|职业|职位|上司|老板|时区|工资)(?:号码)?(?:现在|改)?(?:是|为|成)(.+)$`)},
}

// several marks a sentence whose value is one of several, or past, or denied. A year other than the
// one of its saying does the same.
var several = regexp.MustCompile(`(?i)\b(?:also|too|both|another|second|sometimes|weekends?|part[- ]time|used to|previously|formerly|if|may|might|plans?|wants?|ago|when|once|child(?:hood)?|originally|would|will|not|never|or|and)\b|n['’]t\b|小时候|当时|那时|年前|也|另外|还有|第二|周末|有时|兼职|以前|曾经|如果|可能|打算|想|将|不|没|和|或`)

var years = regexp.MustCompile(`(?:19|20)\d\d`)

// qualifier is a tail that may follow a value.
var qualifier = regexp.MustCompile(`(?i)[ ,]*\b(?:since|from|as of|with|now|again|last|this|in (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4})|on \d|instead)\b.*$|[，,（(].*$|了$`)

// parse returns the statement of one attribute in a memory, or false for any other memory.
func parse(m *backends.Memory) (statement, bool) {
	said := strings.Trim(strings.TrimSpace(m.Text), ".。!！")
	other := func(year string) bool { return year != m.Since().Format("2006") }
	if several.MatchString(said) || strings.ContainsAny(said, "\n?？;；") || slices.ContainsFunc(years.FindAllString(said, -1), other) {
		return statement{}, false
	}
	for _, a := range attributes {
		match := a.form.FindStringSubmatch(said)
		if match == nil {
			continue
		}
		s := statement{attribute: a.name, value: text.Fold(qualifier.ReplaceAllString(match[len(match)-1], "")), revises: !a.two || speech.Revises(said)}
		if len(match) == 4 {
			s.attribute = strings.ToLower(match[2])
		}
		if s.subject = subjectOf(match[1]); speech.Subject(said) != "" {
			s.subject = speech.Subject(said)
		}
		if s.subject == "" { // who says "I"
			s.subject = text.Fold(m.Origin.Speaker)
		}
		return s, s.value != ""
	}
	return statement{}, false
}

// subjectOf returns the subject of a sentence, "" for the user.
func subjectOf(who string) string {
	who = strings.Trim(text.Fold(who), " 的")
	switch strings.TrimPrefix(who, "the ") {
	case "user", "i", "用户", "我":
		return ""
	}
	return who
}

// ends reports whether a later statement ends an earlier one. If one value contains the other, it
// may only be more precise.
func (s statement) ends(before statement) bool {
	return s.revises && s.subject == before.subject && s.attribute == before.attribute &&
		!strings.Contains(s.value, before.value) && !strings.Contains(before.value, s.value)
}
