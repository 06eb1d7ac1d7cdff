// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"regexp"
	"slices"
)

// secretField are names of fields whose values are secrets, with what may stand before
// them in a name: db_password, X-Api-Key.
var secretField = regexp.MustCompile(`(?i)^(?:.*(?:password|passwd|passphrase|pwd|secret(?:[_-]?key)?|(?:api|access|private)[_-]?key(?:[_-]?id)?|credential|authorization|cookie)s?|(?:.*[_-]|.*[a-z])?token|.*(?:密码|口令|密钥|私钥|令牌))$`)

// redacted returns calls without secrets: those that are kept may be of a time when
// nobody took them out. Their hashes stay, by which repeats are known.
func (m *Memory) redacted(calls []Call) []Call {
	out := slices.Clone(calls)
	for i := range out {
		c := &out[i]
		c.Input = redactInput(c.Input, m.redact)
		c.Output, c.Error = m.redact(c.Output), m.redact(c.Error)
		c.Summary, c.Evaluation = m.redact(c.Summary), m.redact(c.Evaluation)
	}
	return out
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
