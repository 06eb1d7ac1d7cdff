// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"regexp"
	"strings"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// secretName are names of fields that hold secrets, with what may stand before them
// in a name: db_password, X-Api-Key.
const secretName = `[A-Za-z0-9_.-]*(?:password|passwd|passphrase|pwd|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|(?:auth|access|refresh|id|session|bearer|bot)[_-]?token|credentials?|authorization|set-cookie|cookie)`

var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})`)
	inURL      = regexp.MustCompile(`(://[^/\s:@"']{0,200}:)([^/\s@"'\[]{1,200})(@)`)
	// knownKeys are the forms that well-known services give their keys.
	knownKeys = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{16,}|[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|LTAI[A-Za-z0-9]{12,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*)`)
	// quotedField is a field in quotes, also in JSON that stands in a JSON text.
	quotedField = regexp.MustCompile(`(?i)(\\*["'](?:` + secretName + `|[A-Za-z0-9_.-]*token|密码|口令|密钥|令牌)\\*["']\s*[:：=]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\+"(?:[^"\\])*\\+"|-?[0-9][0-9.eE+-]*)`)
	bareField   = regexp.MustCompile(`(?i)((?:\b` + secretName + `|密码|口令|密钥|令牌)\s*(?:[:：=]|是|为)\s*|\btoken=)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'<>{}()\[\]，。；]+)`)
	secretField = regexp.MustCompile(`(?i)^(?:` + secretName + `|(?:.*[_-])?token|密码|口令|密钥|令牌)$`)
	pageToken   = regexp.MustCompile(`(?i)(page|next|continuation|prev|sync|cursor)[_-]?token`)
)

// RedactSecrets returns the text without the secrets that can be told by their form:
// private keys, bearer tokens, passwords in URLs, keys of well-known services, and the
// values of fields called password, api_key, secret, token and the like, in JSON, in
// query strings and after a colon. It is the default of Config.Redact. No such list is
// complete: what must not be stored is best never given to a tool.
func RedactSecrets(s string) string {
	if len(s) < 6 {
		return s
	}
	s = privateKey.ReplaceAllString(s, redacted)
	s = bearer.ReplaceAllStringFunc(s, func(m string) string {
		part := bearer.FindStringSubmatch(m)
		if !strings.ContainsAny(part[3], "0123456789=") && len(part[3]) < 20 {
			return m // a word after "basic", not a token
		}
		return part[1] + part[2] + redacted
	})
	s = inURL.ReplaceAllString(s, "${1}"+redacted+"${3}")
	s = knownKeys.ReplaceAllString(s, redacted)
	s = quotedField.ReplaceAllStringFunc(s, redactField(quotedField))
	return bareField.ReplaceAllStringFunc(s, redactField(bareField))
}

// redactField returns what replaces a match of a field: its name, and in quotes as
// they were the word redacted.
func redactField(form *regexp.Regexp) func(string) string {
	return func(m string) string {
		part := form.FindStringSubmatch(m)
		name, value := part[1], part[2]
		if pageToken.MatchString(name) {
			return m
		}
		quote := value[:len(value)-len(strings.TrimLeft(value, `\"'`))]
		switch inner := strings.Trim(value, `\"'`); {
		case inner == "" || strings.HasPrefix(inner, redacted):
			return m
		case quote == "" && form == quotedField:
			quote = `"`
		}
		return name + quote + redacted + quote
	}
}

// redactInput returns a plain input without its secrets: every text goes through
// redact, and the values of fields that are called like secrets go, too.
func redactInput(v any, redact func(string) string) any {
	switch x := v.(type) {
	case string:
		return redact(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = redactInput(e, redact)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			if isSecret(k, e) {
				out[redact(k)] = redacted
				continue
			}
			out[redact(k)] = redactInput(e, redact)
		}
		return out
	}
	return v
}

// isSecret reports whether a field is called like a secret and holds something.
func isSecret(name string, v any) bool {
	switch x := v.(type) {
	case nil, bool:
		return false
	case string:
		if x == "" {
			return false
		}
	}
	return secretField.MatchString(name) && !pageToken.MatchString(name)
}
