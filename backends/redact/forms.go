// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// form is one form of secrets.
type form struct {
	name    string         // its content, for readers of the table
	kind    string         // the kind of the secret, in its mark; empty: kindOf the needle
	needles []string       // in lower case: looked for first, because that is fast
	rest    *regexp.Regexp // The text behind the needle. Its group is the secret; without groups the secret is needle and match.
	// check accepts a match, given up to 32 bytes in front of the needle. Optional.
	check func(before, secret string) bool
}

// Parts of expressions: a value in quotes, which a cut-off text may leave open, and a
// bare one.
const (
	quoted = `"((?:[^"\\]|\\.)+)|'((?:[^'\\]|\\.)+)|\\+"([^"\\]+)`
	bare   = `([^\s,;&"'<>{}()\[\]\\，。；]+)`
	ascii  = `[!#-&(-+\--:<-Z^-~]*[0-9A-Za-z][!#-&(-+\--:<-Z^-~]*` // a bare one, also free of commas, semicolons and brackets
	suffix = `^(?i:[_-]?key)?(?i:[_-]?id)?`                        // of a field's name
)

// fieldNames are the names of fields that hold secrets, or their ends: db_password.
var fieldNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key",
	"privatekey", "private_key", "private-key", "credential", "credentials", "authorization", "cookie", "密码", "口令", "密钥", "私钥", "令牌",
}

var token = []string{"token"}

// kindOf returns the kind of content that the name of a field tells.
func kindOf(needle string) string {
	for _, of := range [][]string{{"password", "pass", "pwd", "pw", "密码", "口令"}, {"key", "key", "密钥", "私钥"}, {"cookie", "cookie"}, {"token", "token", "令牌"}} {
		if slices.ContainsFunc(of[1:], func(part string) bool { return strings.Contains(needle, part) }) {
			return of[0]
		}
	}
	return "secret"
}

// forms is the table of secrets.
var forms = []form{
	{name: "private key", kind: "key", needles: []string{"-----begin "},
		rest: regexp.MustCompile(`^[A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)`)},
	{name: "bearer token, basic credentials", kind: "token", needles: []string{"bearer", "basic"}, check: isCredential,
		rest: regexp.MustCompile(`^\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{name: "password in a URL", kind: "password", needles: []string{"://"}, rest: regexp.MustCompile(`^[^/\s:@"']{0,200}:([^/\s@"'\[]{1,200})@`)},
	{name: "authorization header", kind: "token", needles: []string{"authorization"},
		rest: regexp.MustCompile(`(?i)^\s*[:：=]\s*(?:bearer|basic|token|digest|api[_-]?key|negotiate|ntlm|hmac|hawk|oauth|jwt|aws4-hmac-sha256)\s+((?:="[^"\r\n]*"|[^\r\n"'\\])+)`)},
	{name: "cookies", kind: "cookie", needles: []string{"cookie"}, rest: regexp.MustCompile(`^\s*[:：]\s*([^\s=;,"'\[]+=[^\r\n"'\\]*)`)},

	{name: "field in JSON", needles: fieldNames,
		rest: regexp.MustCompile(suffix + `s?\\*["']\s*[:：=]\s*(?:` + quoted + `|\[([^\[\]{}]+)|\{([^\[\]{}]+)|(-?[0-9][^\s,}\]]*))`)},
	{name: "token in JSON", kind: "token", needles: token, check: isNoPage,
		rest: regexp.MustCompile(suffix + `\\*["']\s*[:：=]\s*(?:` + quoted + `|(-?[0-9][^\s,}\]]*))`)},
	{name: "assignment, query string", needles: fieldNames, rest: regexp.MustCompile(suffix + `\s*=\s*(?:` + quoted + `|` + bare + `)`)},
	{name: "field in a text", needles: append(slices.Clone(fieldNames[:len(fieldNames)-5]), "pw"), check: looksSecret, rest: regexp.MustCompile(suffix + `\s*[:：]\s*(?:` + quoted + `|` + bare + `)`)},
	{name: "token in a query string", kind: "token", needles: token, check: isNoPage, rest: regexp.MustCompile(`^\s*=\s*(?:` + quoted + `|` + bare + `)`)},
	{name: "token after a colon", kind: "token", needles: token, rest: regexp.MustCompile(`^\s*[:：]\s*(?:` + quoted + `|` + bare + `)`),
		check: func(before, secret string) bool { // not "unexpected token: x"
			return (strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-")) && isNoPage(before, secret)
		}},
	{name: "flag of a command", needles: slices.Concat(token, fieldNames), rest: regexp.MustCompile(`^\s+(?:` + quoted + `|([^\s"'\\-][^\s"'\\]*))`),
		check: func(before, _ string) bool { return flag.MatchString(before) }},
	{name: "element of XML", needles: slices.Concat(token, fieldNames), rest: regexp.MustCompile(`^>\s*([^<>\s][^<>]*)</`),
		check: func(before, _ string) bool { return element.MatchString(before) }},

	{name: "password in a line of its own", kind: "password", needles: passwordNames, check: isNoRemark,
		rest: regexp.MustCompile(`^[ \t]*[:：][ \t]*([A-Za-z]{4,})[ \t]*(?:[,;\r\n]|$)`)},
	{name: "password in a sentence", kind: "password", needles: passwordNames, check: looksSecret,
		rest: regexp.MustCompile(`^(?:['’]s|(?:\s+(?:for|of|at|on|in)(?:\s+[\w'’.-]+){1,4}?)?,?\s+(?:it\s+is|is|was|used\s+to\s+be|to|as))\s*:?\s+(?:` + quoted + `|` + bare + `)`)},
	{name: "password without a verb", kind: "password", needles: passwordNames, check: hasDigitAndLetter, rest: regexp.MustCompile(`^\s+(?:` + quoted + `|` + bare + `)`)},
	{name: "password in a Chinese sentence", needles: []string{"密码", "口令", "密钥", "私钥", "令牌"}, check: looksSecret,
		rest: regexp.MustCompile(`^(?:[ \t]*(?:还是[^：:，。]{0,8}[：:]|还?是|设?为|设成|设置[为成]|改[成为]了?|换成了?|叫做?|[:：=]))?[ \t]*(?:["“‘']([^"”’']{3,40})["”’']|(` + ascii + `)(?:[^位个天次年月分!-~]|[,;\[\]\\]|$))`)},
	{name: "number of a card, a door", kind: "pin", needles: []string{"pin"},
		rest:  regexp.MustCompile(`^(?:\s+code)?\s*(?:\s(?:is|was)\s|[:：=])\s*([0-9]{4,5})(?:[^0-9]|$)`),
		check: func(before, _ string) bool { return !wordEnd.MatchString(before) }},

	service("OpenAI and others", `[A-Za-z0-9_-]{16,}`, "sk-"),
	service("Stripe", `(?:live|test)_[A-Za-z0-9]{10,}`, "sk_", "rk_", "pk_"),
	service("GitHub", `[A-Za-z0-9]{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	service("GitHub, fine-grained", `[A-Za-z0-9_]{20,}`, "github_pat_"),
	service("GitLab", `[A-Za-z0-9_-]{16,}`, "glpat-"),
	service("Slack", `[abeprs]-[A-Za-z0-9-]{10,}`, "xox"),
	service("AWS", `[A-Z0-9]{16}`, "akia", "asia"),
	service("Google", `[A-Za-z0-9_-]{30,}`, "aiza"),
	service("Alibaba Cloud", `[A-Za-z0-9]{12,}`, "ltai"),
	service("Hugging Face", `[A-Za-z0-9]{20,}`, "hf_"),
	service("npm", `[A-Za-z0-9]{30,}`, "npm_"),
	service("JSON Web Token", `[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*`, "eyj"),
}

// service is the form of the keys of a service: a prefix at the begin of a word, and its
// continuation.
func service(name, rest string, prefixes ...string) form {
	return form{name: name, kind: "key", needles: prefixes, rest: regexp.MustCompile(`^` + rest), check: func(before, _ string) bool {
		return !wordEnd.MatchString(before)
	}}
}

var (
	wordEnd  = regexp.MustCompile(`[A-Za-z0-9_]$`)
	flag     = regexp.MustCompile(`(?:^|[\s"'=(])--[A-Za-z0-9_-]*$`)
	element  = regexp.MustCompile(`<[A-Za-z0-9_:.-]*$`)
	pageEnd  = regexp.MustCompile(`(?i)(?:page|next|continuation|prev|sync|cursor)[_-]?$`)
	pageName = regexp.MustCompile(`(?i)(?:page|next|continuation|prev|sync|cursor)[_-]?token$`)

	// secretName are the names of fields whose values are secrets: db_password, X-Api-Key.
	secretName = regexp.MustCompile(`(?i)^(?:.*(?:password|passwd|passphrase|pwd|secret(?:[_-]?key)?|(?:api|access|private)[_-]?key(?:[_-]?id)?|credential|authorization|cookie)s?|(?:.*[_-]|.*[a-z])?token|.*(?:密码|口令|密钥|私钥|令牌))$`)
)

// isNoPage refuses tokens that point at the next page of a list.
func isNoPage(before, _ string) bool { return !pageEnd.MatchString(before) }

// isCredential refuses words: "a basic introduction".
func isCredential(_, secret string) bool {
	return strings.ContainsAny(secret, "0123456789=") || len(secret) >= 20
}

// passwordNames begin people's sentences about their passwords.
var passwordNames = []string{"password", "passphrase", "passcode", "passwd", "pwd", "pw"}

var (
	remark  = regexp.MustCompile(`(?i)^(?:required|optional|none|null|true|false|empty|string|text|unknown|missing|invalid|wrong|incorrect|expired|hidden|changed|reset|never|always|secure)$`)
	jargon  = regexp.MustCompile(`(?i)^(?:md[45]|sha-?[0-9]+|b?crypt[0-9]?|scrypt|argon2i?d?|pbkdf2|base(?:32|64)|oauth2?|utf-?8|aes-?[0-9]*|rsa-?[0-9]*|v[0-9.]+|[0-9]+(?:st|nd|rd|th|x|-[a-z]+))$`)
	counts  = regexp.MustCompile(`^[0-9]{1,3}$`)
	mixture = regexp.MustCompile(`[a-z][A-Z]|[A-Za-z][!@#$%^&*_+=~]|[!@#$%^&*_+=~][A-Za-z0-9]|(?:[a-z]+-){3}`)
)

// looksSecret refuses words, names of methods and counts: "my password is too weak".
func looksSecret(_, secret string) bool {
	word := strings.TrimRight(secret, ".!?:)")
	return len(word) >= 4 && !jargon.MatchString(word) && !counts.MatchString(word) &&
		(strings.ContainsAny(word, "0123456789") || mixture.MatchString(secret) || len(word) >= 20)
}

// hasDigitAndLetter accepts a text that is secret even without a verb before it.
func hasDigitAndLetter(before, secret string) bool {
	return looksSecret(before, secret) && strings.ContainsAny(secret, numerals) && strings.ContainsAny(secret, letters) && len(secret) >= 6
}

// isNoRemark refuses a form's remark about a password: "password: required".
func isNoRemark(_, secret string) bool { return !remark.MatchString(secret) }
