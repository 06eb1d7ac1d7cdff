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
	name    string         // what it finds, for readers of the table
	needles []string       // in lower case: looked for first, because that is fast
	rest    *regexp.Regexp // what follows the needle. Its group is the secret; without groups needle and match are.
	// check accepts a match, given up to 32 bytes in front of the needle. Optional.
	check func(before, secret string) bool
}

// Parts of expressions: a value in quotes, which a cut-off text may leave open, and one
// without.
const (
	quoted = `"((?:[^"\\]|\\.)+)|'((?:[^'\\]|\\.)+)|\\+"([^"\\]+)`
	bare   = `([^\s,;&"'<>{}()\[\]\\，。；]+)`
	suffix = `^(?i:[_-]?key)?(?i:[_-]?id)?` // of a field's name
)

// fieldNames are the names of fields that hold secrets, or their ends: db_password.
var fieldNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key",
	"privatekey", "private_key", "private-key", "credential", "credentials", "authorization", "cookie", "密码", "口令", "密钥", "私钥", "令牌",
}

var token = []string{"token"}

// forms is the table of what is found.
var forms = []form{
	{name: "private key", needles: []string{"-----begin "},
		rest: regexp.MustCompile(`^[A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)`)},
	{name: "bearer token, basic credentials", needles: []string{"bearer", "basic"}, check: isCredential,
		rest: regexp.MustCompile(`^\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{name: "password in a URL", needles: []string{"://"}, rest: regexp.MustCompile(`^[^/\s:@"']{0,200}:([^/\s@"'\[]{1,200})@`)},
	{name: "authorization header", needles: []string{"authorization"},
		rest: regexp.MustCompile(`(?i)^\s*[:：=]\s*(?:bearer|basic|token|digest|api[_-]?key|negotiate|ntlm|hmac|hawk|oauth|jwt|aws4-hmac-sha256)\s+((?:="[^"\r\n]*"|[^\r\n"'\\])+)`)},
	{name: "cookies", needles: []string{"cookie"}, rest: regexp.MustCompile(`^\s*[:：]\s*([^\s=;,"'\[]+=[^\r\n"'\\]*)`)},

	{name: "field in JSON", needles: fieldNames,
		rest: regexp.MustCompile(suffix + `s?\\*["']\s*[:：=]\s*(?:` + quoted + `|\[([^\[\]{}]+)|\{([^\[\]{}]+)|(-?[0-9][^\s,}\]]*))`)},
	{name: "token in JSON", needles: token, check: isNoPage,
		rest: regexp.MustCompile(suffix + `\\*["']\s*[:：=]\s*(?:` + quoted + `|(-?[0-9][^\s,}\]]*))`)},
	{name: "field in a text or a query string", needles: fieldNames,
		rest: regexp.MustCompile(suffix + `\s*(?:[:：=]|是|为)\s*(?:` + quoted + `|` + bare + `)`)},
	{name: "password in a sentence", needles: []string{"password", "passphrase", "passcode", "pwd"}, check: isCredential,
		rest: regexp.MustCompile(`^\s+(?:is|was)\s+(?:` + quoted + `|` + bare + `)`)},
	{name: "token in a query string", needles: token, check: isNoPage, rest: regexp.MustCompile(`^\s*=\s*(?:` + quoted + `|` + bare + `)`)},
	{name: "token after a colon", needles: token, rest: regexp.MustCompile(`^\s*(?:[:：]|是|为)\s*(?:` + quoted + `|` + bare + `)`),
		check: func(before, secret string) bool { // not "unexpected token: x"
			return (strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-")) && isNoPage(before, secret)
		}},
	{name: "flag of a command", needles: slices.Concat(token, fieldNames), rest: regexp.MustCompile(`^\s+(?:` + quoted + `|([^\s"'\\-][^\s"'\\]*))`),
		check: func(before, _ string) bool { return flag.MatchString(before) }},
	{name: "element of XML", needles: slices.Concat(token, fieldNames), rest: regexp.MustCompile(`^>\s*([^<>\s][^<>]*)</`),
		check: func(before, _ string) bool { return element.MatchString(before) }},

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

// service is the form of the keys of a service: a prefix that is no part of a longer word,
// and what goes on from it.
func service(name, rest string, prefixes ...string) form {
	return form{name: name, needles: prefixes, rest: regexp.MustCompile(`^` + rest), check: func(before, _ string) bool {
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
