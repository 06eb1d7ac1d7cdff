// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// RedactSecrets returns the text without the secrets that can be told by their form:
// private keys, bearer tokens, passwords in URLs, keys of well-known services, and the
// values of fields called password, api_key, secret, token and the like, in JSON, in
// query strings and after a colon. It is the default of Config.Redact. No such list is
// complete: what must not be stored is best never given to a tool.
func RedactSecrets(s string) string {
	if len(s) < 6 {
		return s
	}
	lower := lowered(s)
	var cuts []span
	for _, f := range forms {
		for i := 0; ; {
			at := strings.Index(lower[i:], f.word)
			if at < 0 {
				break
			}
			i += at + len(f.word)
			if c, found := f.find(s, i-len(f.word), i); found {
				cuts = append(cuts, c)
			}
		}
	}
	return without(s, cuts)
}

// span is a stretch of a text, with what is put in its place.
type span struct {
	from, upto int
	instead    string
}

// without returns the text without the spans. Where they overlap all of them go.
func without(s string, cuts []span) string {
	if len(cuts) == 0 {
		return s
	}
	slices.SortFunc(cuts, func(a, b span) int { return cmp.Or(a.from-b.from, b.upto-a.upto) })
	var b strings.Builder
	done := 0
	for _, c := range cuts {
		if c.from >= done {
			b.WriteString(s[done:c.from])
			b.WriteString(c.instead)
		}
		done = max(done, c.upto)
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

// form is a form of secrets: a word in lower case by which they are looked for, since
// looking for one is fast, and what tells whether one stands there.
type form struct {
	word string
	find func(s string, from, upto int) (span, bool) // the word is s[from:upto]
}

var forms = secretForms()

func secretForms() []form {
	all := []form{
		{"-----begin ", findPEM}, {"bearer", findBearer}, {"basic", findBearer}, {"://", findInURL},
		{"authorization", findHeader(scheme)}, {"cookie", findHeader(cookies)},
	}
	for _, word := range []string{
		"password", "passwd", "passphrase", "pwd", "secret", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key",
		"privatekey", "private_key", "private-key", "token", "credential", "credentials", "authorization", "cookie", "密码", "口令", "密钥", "私钥", "令牌",
	} {
		all = append(all, form{word, findField})
	}
	for word, rest := range map[string]string{
		"sk-": `[A-Za-z0-9_-]{16,}`, "sk_": `(?:live|test)_[A-Za-z0-9]{10,}`, "rk_": `(?:live|test)_[A-Za-z0-9]{10,}`, "pk_": `(?:live|test)_[A-Za-z0-9]{10,}`,
		"ghp_": `[A-Za-z0-9]{20,}`, "gho_": `[A-Za-z0-9]{20,}`, "ghu_": `[A-Za-z0-9]{20,}`, "ghs_": `[A-Za-z0-9]{20,}`, "ghr_": `[A-Za-z0-9]{20,}`,
		"github_pat_": `[A-Za-z0-9_]{20,}`, "glpat-": `[A-Za-z0-9_-]{16,}`, "xox": `[abeprs]-[A-Za-z0-9-]{10,}`, "akia": `[A-Z0-9]{16}`, "asia": `[A-Z0-9]{16}`,
		"aiza": `[A-Za-z0-9_-]{30,}`, "ltai": `[A-Za-z0-9]{12,}`, "hf_": `[A-Za-z0-9]{20,}`, "npm_": `[A-Za-z0-9]{30,}`,
		"eyj": `[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*`,
	} {
		all = append(all, form{word, findKnown(regexp.MustCompile(`^` + rest))})
	}
	return all
}

// findKnown finds the keys of a well-known service by how they go on.
func findKnown(rest *regexp.Regexp) func(string, int, int) (span, bool) {
	return func(s string, from, upto int) (span, bool) {
		if from > 0 && isWord(s[from-1]) {
			return span{}, false
		}
		n := len(rest.FindString(ahead(s, upto)))
		return span{from, upto + n, redacted}, n > 0
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// maxSecret bounds how far a secret is followed, in bytes.
const maxSecret = 8 << 10

// ahead returns what follows i, as far as a secret may reach.
func ahead(s string, i int) string { return s[i:min(len(s), i+maxSecret)] }

var pem = regexp.MustCompile(`^[A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)`)

func findPEM(s string, from, upto int) (span, bool) {
	n := len(pem.FindString(ahead(s, upto)))
	return span{from, upto + n, redacted}, n > 0
}

var credentials = regexp.MustCompile(`^(\s+)([A-Za-z0-9._~+/=-]{8,})`)

// findBearer finds what follows "Bearer" and "Basic", unless it is a word.
func findBearer(s string, _, upto int) (span, bool) {
	m := credentials.FindStringSubmatch(ahead(s, upto))
	if m == nil || !strings.ContainsAny(m[2], "0123456789=") && len(m[2]) < 20 {
		return span{}, false
	}
	return span{upto + len(m[1]), upto + len(m[0]), redacted}, true
}

var userInfo = regexp.MustCompile(`^([^/\s:@"']{0,200}:)([^/\s@"'\[]{1,200})@`)

func findInURL(s string, _, upto int) (span, bool) {
	m := userInfo.FindStringSubmatch(ahead(s, upto))
	if m == nil {
		return span{}, false
	}
	return span{upto + len(m[1]), upto + len(m[0]) - 1, redacted}, true
}

// field is what follows a field's name: the quote that closes it, as it stands in JSON
// and in JSON inside JSON; a sign; and a value in quotes or not, or a list or an object
// of plain values. A value whose quote was cut off ends with the text.
var field = regexp.MustCompile(`^(?:[_-]?key)?(?:[_-]?id)?(s?)(\\*["'])?\s*([:：=]|是|为)\s*("(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|\\+"[^"\\]*(?:\\+"|$)|\[[^\[\]{}]+(?:\]|$)|\{[^\[\]{}]+(?:\}|$)|[^\s,;&"'<>{}()\[\]\\，。；]+)`)

var aNumber = regexp.MustCompile(`^-?[0-9]`)

// findField finds the value of a field that is called like a secret.
func findField(s string, from, upto int) (span, bool) {
	if c, ok := findArgument(s, from, upto); ok {
		return c, true
	}
	m := field.FindStringSubmatchIndex(ahead(s, upto))
	if m == nil || pageToken.MatchString(s[max(0, from-12):upto]) {
		return span{}, false
	}
	many, named, sign, value := m[2] < m[3], m[4] >= 0, s[upto+m[6]:upto+m[7]], s[upto+m[8]:upto+m[9]]
	token := strings.EqualFold(s[from:upto], "token")
	quote := value[:len(value)-len(strings.TrimLeft(value, `\"'`))]
	group := value[0] == '[' || value[0] == '{'
	switch inner := strings.Trim(value, `\"'`); {
	case inner == "" || inner == redacted:
		return span{}, false
	case many && (token || !named), group && !named:
		return span{}, false // how many tokens; "passwords: some advice"
	case !named && token && sign != "=" && (from == 0 || !strings.ContainsRune("_-", rune(s[from-1]))):
		return span{}, false // "unexpected token: x"
	case named && quote == "" && !group && !aNumber.MatchString(inner):
		return span{}, false // true, null
	case named && quote == "":
		quote = s[upto+m[4] : upto+m[5]]
	}
	return span{upto + m[8], upto + m[9], quote + redacted + quote}, true
}

var (
	flagBefore = regexp.MustCompile(`(?:^|[\s"'=(])--[A-Za-z0-9_-]*$`)
	flagValue  = regexp.MustCompile(`^\s+("[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'\\-][^\s"'\\]*)`)
	tagBefore  = regexp.MustCompile(`<[A-Za-z0-9_:.-]*$`)
	tagValue   = regexp.MustCompile(`^>\s*([^<>\s][^<>]*)</`)
)

// findArgument finds the value behind a flag of a command, or in an element of XML.
func findArgument(s string, from, upto int) (span, bool) {
	before, rest := s[max(0, from-32):from], ahead(s, upto)
	for _, form := range [][2]*regexp.Regexp{{flagBefore, flagValue}, {tagBefore, tagValue}} {
		if m := form[1].FindStringSubmatchIndex(rest); m != nil && form[0].MatchString(before) && rest[m[2]:m[3]] != redacted {
			return span{upto + m[2], upto + m[3], redacted}, true
		}
	}
	return span{}, false
}

var (
	scheme   = regexp.MustCompile(`(?i)^\s*[:：=]\s*(?:bearer|basic|token|digest|api[_-]?key|negotiate|ntlm|hmac|hawk|oauth|jwt|aws4-hmac-sha256)\s+()[^\s\[]`)
	cookies  = regexp.MustCompile(`^\s*[:：]\s*()[^\s=;,"'\[]+=`)
	lineEnds = regexp.MustCompile(`\r|\n|\\+[rn]`)
)

// findHeader finds what follows the name of an HTTP header, up to the end of its line,
// or of the quote that it stands in.
func findHeader(begins *regexp.Regexp) func(string, int, int) (span, bool) {
	return func(s string, from, upto int) (span, bool) {
		rest := ahead(s, upto)
		m := begins.FindStringSubmatchIndex(rest)
		if m == nil {
			return span{}, false
		}
		end := len(rest)
		if at := lineEnds.FindStringIndex(rest[m[2]:]); at != nil {
			end = m[2] + at[0]
		}
		name := strings.LastIndexFunc(s[:from], func(r rune) bool { return r != '-' && (r > 0x7f || !isWord(byte(r))) })
		if name >= 0 && (s[name] == '"' || s[name] == '\'') {
			if at := strings.IndexByte(rest[m[2]:end], s[name]); at >= 0 {
				end = m[2] + len(strings.TrimRight(rest[m[2]:m[2]+at], `\`))
			}
		}
		return span{upto + m[2], upto + end, redacted}, end > m[2]
	}
}

var pageToken = regexp.MustCompile(`(?i)(page|next|continuation|prev|sync|cursor)[_-]?token$`)
