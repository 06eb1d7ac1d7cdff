// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Text returns the text of a message, whatever form it has: its parts, else its
// content. Images and sounds have none.
func Text(m *schema.Message) string {
	var texts []string
	for _, p := range Parts(m) {
		if t := strings.TrimSpace(p.Text); t != "" {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 { // no parts, or media with a text beside them
		return strings.TrimSpace(m.Content)
	}
	return strings.Join(texts, "\n")
}

// HasParts reports whether a message says what it says in parts, of whichever sort.
func HasParts(m *schema.Message) bool {
	return len(m.MultiContent)+len(m.UserInputMultiContent)+len(m.AssistantGenMultiContent) > 0
}

var retold = regexp.MustCompile("^For context:($| \\[[^\\]\n]*\\] (said: |called tool: |`[^`]*` tool returned result: ))")

// IsRetold reports whether m tells one agent what another did: Eino writes that
// in the role of the user (trap T16).
func IsRetold(m *schema.Message) bool {
	return m != nil && m.Role == schema.User && retold.MatchString(m.Content)
}

// summaryKey is what Eino's summarization middleware of newer releases marks the
// message with that it puts in the place of others.
const summaryKey = "_eino_summarization_content_type"

// IsDigest reports whether m is a summary that Eino's own middleware made: it is
// in the role of the user, and no user said it.
func IsDigest(m *schema.Message) bool {
	if m == nil {
		return false
	}
	_, ok := m.Extra[summaryKey]
	return ok
}
