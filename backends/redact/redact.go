// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact finds secrets and personal data in texts by their form. Each gives way to a
// placeholder that names its kind, such as "[redacted:password]".
//
// [Text] finds keys, tokens and passwords. It is the default Redact of every configuration
// that stores a person's words. [Shared] also finds card and account numbers, e-mail
// addresses, phone numbers and national ids. It is the default for data that others read.
// [None] switches redaction off.
//
// Such a table is always incomplete: keep a secret away from models and tools if that is
// possible. All functions are pure, and safe for concurrent use.
package redact

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/internal/text"
)

// fieldMark replaces the value of a field that is named like a secret. A secret that was found by
// its form gets a mark of its kind: "[redacted:key]".
const fieldMark = "[redacted]"

// mark is the form of all marks.
var mark = regexp.MustCompile(`^\[redacted(?::[a-z]+)?\]$`)

// IsMark reports whether a text is exactly a placeholder of this package.
func IsMark(s string) bool { return mark.MatchString(s) }

// None returns s as it is: a Redact that keeps everything.
func None(s string) string { return s }

// maxSecret is the most bytes of a secret that are searched for its end.
const maxSecret = 8 << 10

// beforeNeedle is how much of the text in front of a needle a check sees, in bytes.
const beforeNeedle = 32

// Text returns s without secrets. A text that has none comes back unchanged.
func Text(s string) string { return without(s, secrets(text.Simplified(s))) }

// Shared returns s as others may read it: without secrets and without personal data.
func Shared(s string) string { return without(s, personalData(text.Simplified(s))) }

// secrets returns the places of secrets. In simplified characters they are where they were.
func secrets(s string) (cuts []span) {
	lower := lowered(s)
	for i := range forms {
		for _, needle := range forms[i].needles {
			cuts = forms[i].find(cuts, s, lower, needle)
		}
	}
	return cuts
}

// Value returns a copy of a JSON value, as encoding/json decodes it, without secrets. Each
// text, json.Number and key goes through text. The values of fields that are named like
// secrets become "[redacted]", whatever they hold.
func Value(v any, text func(string) string) any {
	switch x := v.(type) {
	case string:
		return text(x)
	case json.Number:
		if number := text(x.String()); number != x.String() {
			return number
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Value(e, text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			if isSecret(k, e) {
				out[text(k)] = fieldMark
				continue
			}
			out[text(k)] = Value(e, text)
		}
		return out
	}
	return v
}

// isSecret reports whether a field is named like a secret and holds something.
func isSecret(name string, v any) bool {
	switch v {
	case nil, "", true, false:
		return false
	}
	return secretName.MatchString(text.Simplified(name)) && !pageName.MatchString(name)
}

// span is a stretch of a text, in bytes, with its kind.
type span struct {
	from, to int
	kind     string
}

// find adds the secrets of one form behind one needle to cuts.
func (f *form) find(cuts []span, s, lower, needle string) []span {
	for i := 0; ; {
		at := strings.Index(lower[i:], needle)
		if at < 0 {
			return cuts
		}
		at += i
		i = at + len(needle)
		m := f.rest.FindStringSubmatchIndex(s[i:min(len(s), i+maxSecret)])
		if m == nil {
			continue
		}
		cut := secretOf(m, at, i)
		secret := s[cut.from:cut.to]
		if secret == "" || IsMark(secret) || IsMark("["+secret+"]") || f.check != nil && !f.check(s[max(0, at-beforeNeedle):at], secret) {
			continue
		}
		cut.kind = cmp.Or(f.kind, kindOf(needle))
		cuts = append(cuts, cut) // a name may stand inside it, too: the search goes on behind the needle
	}
}

// secretOf returns the place of the secret in a match: the group that took part in it, or
// else needle and match together.
func secretOf(match []int, needle, rest int) span {
	for g := 2; g < len(match); g += 2 {
		if match[g] >= 0 {
			return span{from: rest + match[g], to: rest + match[g+1]}
		}
	}
	return span{from: needle, to: rest + match[1]}
}

// without returns the text with marks for the spans. Overlapping spans become one, of the
// kind of the first.
func without(s string, cuts []span) string {
	if len(cuts) == 0 {
		return s
	}
	slices.SortFunc(cuts, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var b strings.Builder
	done := 0
	for _, c := range cuts {
		if c.from >= done {
			b.WriteString(s[done:c.from] + "[redacted:" + c.kind + "]")
		}
		done = max(done, c.to)
	}
	b.WriteString(s[done:])
	return b.String()
}

// lowered returns s with its ASCII letters in lower case: as many bytes as s.
func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// datum is one form of personal data that has digits.
type datum struct {
	name  string         // its kind, in the mark
	first string         // the characters that it begins with, for speed
	form  *regexp.Regexp // all of it; it ends where a word ends
	// word must stand in front of it, and not must be absent there. Optional.
	word, not *regexp.Regexp
	// check accepts it, given its letters and digits alone, in upper case. Optional.
	check func(string) bool
}

const (
	numerals = "0123456789"
	letters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// named matches one of the names of a field at the end of a text, whose value comes next.
func named(names string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:` + names + `)(?:[ _-]?(?:numbers?|no\.?|nr\.?|id)|号码?)?\\?["'”]?\s*(?:is|was|are|[:：=#]|是|为)?\s*\\?["'“]?$`)
}

func shape(expr string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + expr + `)`) }

var (
	phoned = named(`phone|\b(?:mobile|cell|tel|telephone|whatsapp|fax|sms|(?:call|text|ring|reach|dial)(?: (?:me|us|him|her|them))?(?: at| on))[.]?|电话|手机|座机|热线|传真|联系方式|致电|拨打`)
	// counted numbers are counts and ids of things.
	counted = named(`\b(?:order|invoice|ticket|tracking|shipment|transaction|trace|request|sku|size|bytes|length|offset|total|count|amount|price|seed)|订单|单号|运单|流水|编号|序号|工单|大小|字节|金额|总数|数量`)
	units   = regexp.MustCompile(`^ ?(?i:(?:bytes?|[kmgt]i?b|ms|rows?|tokens?|usd|eur)\b|元|字节|条|次|毫秒)`)
)

// personal is the table of personal data. A checksum is checked where there is one. Data
// without one needs a rare form, or a word in front of it.
var personal = []datum{
	// ISO/IEC 7812-1.
	{name: "card", first: "23456", not: counted, check: isCard,
		form: shape(`\d{13,19}|\d{4}(?:[ -]\d{4}){3}(?:[ -]\d{3})?|\d{4}[ -]\d{6}[ -]\d{4,5}|\d{6}[ -]\d{13}`)},
	// ISO 13616-1.
	{name: "account", first: letters, check: isIBAN,
		form: shape(`[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?`)},

	// ITU-T E.164: up to 15 digits, and the first are the country's.
	{name: "phone", first: "+%", check: hasDigits(8, 15),
		form: shape(`(?:\+|%2[Bb])[1-9]\d{0,2}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,14}(?:[ ./-]\d{2,8}){0,4}`)},
	// North American Numbering Plan: areas and exchanges begin with 2 to 9.
	{name: "phone", first: "123456789(", not: counted,
		form: shape(`(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}`)},
	// Areas with a 0, as in most of Europe and Asia.
	{name: "phone", first: "0(", not: counted, check: hasDigits(9, 11),
		form: shape(`\(0[1-9]\d{0,3}\) ?\d{3,4}[ -]?\d{3,4}|0[1-9]\d{0,3} ?[/-] ?\d{3,4}[ -]?\d{3,4}|0[1-9]\d{1,3} \d{3,4}[ -]?\d{3,4}|0[1-9](?:[ .]\d\d){4}`)},
	// The mobile numbers of China begin with 13 to 19.
	{name: "phone", first: "18", not: counted, form: shape(`(?:86[ -]?)?1[3-9]\d(?:\d{8}|[ -]\d{4}[ -]\d{4})`)},
	{name: "phone", first: numerals + "(", word: phoned, check: hasDigits(7, 15), form: shape(`\(?\d{2,5}\)?(?:[ ./-]?\d{2,5}){1,5}`)},

	// GB 11643-1999: region, day of birth, ISO 7064 MOD 11-2.
	{name: "id", first: "123456789", form: shape(`[1-9]\d{16}[\dXx]`), check: isChineseID},
	// Spain, Real Decreto 1553/2005: the letter follows from the number.
	{name: "id", first: numerals + "XYZ", form: shape(`(?:\d{8}|[XYZ]-?\d{7})-?[A-HJ-NP-TV-Z]`), check: isSpanishID},
	// Italy, D.M. 23 December 1976: letters of names, year, one of twelve letters for the month,
	// day, place. This form is unique.
	{name: "id", first: letters, form: shape(`[A-Za-z]{6}\d\d[A-EHLMPRSTa-ehlmprst][0-7]\d[A-Za-z]\d{3}[A-Za-z]`)},
	// Brazil: CPF, two digits modulo 11.
	{name: "id", first: numerals, form: shape(`\d{3}\.\d{3}\.\d{3}-\d{2}`), check: isCPF},
	// Numbers that need a name in front of them: CPF again, the Dutch burgerservicenummer, the
	// Polish PESEL, and the Social Security number of the USA.
	{name: "id", first: numerals, word: named(`\b(?:cpf|bsn|pesel|ssn|social[ _-]security)|burgerservicenummer`), form: shape(`\d{11}|\d{3}[ -]?\d{2}[ -]?\d{4}|\d{4}[ .]\d{2}[ .]\d{3}`)},
}

// personalData returns the places of secrets and of personal data.
func personalData(s string) []span {
	cuts := mailboxes(secrets(s), s)
	for i := 0; i < len(s); i++ {
		if n, kind := dataAt(s, i); n > 0 {
			cuts = append(cuts, span{i, i + n, kind})
			i += n - 1
		}
	}
	return cuts
}

const (
	maxDatum  = 48 // bytes, of the longest: an account with spaces
	minDigits = 7  // of the shortest: a local phone number
)

// dataAt returns the length and the kind of the personal data that begins at i; 0 if there is
// none.
func dataAt(s string, i int) (length int, kind string) {
	if i > 0 && (isDigit(s[i-1]) || isLetter(s[i-1])) || strings.IndexByte(numerals+letters+"+%(", s[i]) < 0 {
		return 0, ""
	}
	before, ahead := s[max(0, i-beforeNeedle):i], s[i:min(len(s), i+maxDatum)]
	if countDigits(ahead) < minDigits || inside.MatchString(before) {
		return 0, ""
	}
	for k := range personal {
		d := &personal[k]
		if strings.IndexByte(d.first, s[i]) < 0 {
			continue
		}
		m := d.form.FindString(ahead)
		if m == "" || more.MatchString(s[i+len(m):]) || d.check != nil && !d.check(plain(m)) {
			continue
		}
		if (d.word == nil || d.word.MatchString(before)) && (d.not == nil || !d.not.MatchString(before) && !units.MatchString(s[i+len(m):])) {
			return len(m), d.name
		}
	}
	return 0, ""
}

// inside matches the end of a number or a word that goes on: 3.14, $15, a-b, 12:30. more
// matches the continuation of a number or a word.
var (
	inside = regexp.MustCompile(`(?:[\w$€]|[0-9][.,/:-]|[A-Za-z]-)$`)
	more   = regexp.MustCompile(`^(?:[\w@]|[.,-][0-9]|-[A-Za-z])`)
)

// countDigits returns how many digits a text has.
func countDigits(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

var between = regexp.MustCompile(`[^0-9A-Z]+`)

// plain returns the letters and digits of a text, in upper case.
func plain(s string) string { return between.ReplaceAllString(strings.ToUpper(s), "") }

// mail is an e-mail address, RFC 5321, as people have them. file and remote are other texts with
// an @.
var (
	mail   = regexp.MustCompile(`[A-Za-z0-9_][\w.+%-]{0,63}(?:@|%40)(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}`)
	file   = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|svg|webp|css|[jt]sx?|json|html?|py|go|sh|md|txt|ya?ml|lock)$`)
	remote = regexp.MustCompile(`^:[\w/~.]`) // git@host:repository, user@host:22
)

// mailboxes adds the places of e-mail addresses to cuts.
func mailboxes(cuts []span, s string) []span {
	if !strings.Contains(s, "@") && !strings.Contains(s, "%40") {
		return cuts
	}
	for _, at := range mail.FindAllStringIndex(s, -1) {
		if !file.MatchString(s[at[0]:at[1]]) && !remote.MatchString(s[at[1]:]) && !strings.HasSuffix(s[:at[0]], "://") {
			cuts = append(cuts, span{at[0], at[1], "email"})
		}
	}
	return cuts
}
