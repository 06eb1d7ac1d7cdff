// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/internal/einox"
)

// inputLine is a message as the summarising model sees it. Reasoning is left out:
// it is derived, and what came of it is said.
type inputLine struct {
	Role  string      `json:"role"`
	Tool  string      `json:"tool,omitempty"`
	Text  string      `json:"text,omitempty"`
	Calls []inputCall `json:"calls,omitempty"`
}

type inputCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"`
}

// The roles that no provider knows.
const (
	roleSummary = "summary" // of what stands in for several messages
	roleContext = "context" // of what no user said in the role of the user: it gives no directives
)

// inputOf renders messages for the model: a line of JSON each, between two tags.
// Nothing in a text can end a line or close a tag.
func inputOf(tag string, lines []inputLine) string {
	if len(lines) == 0 {
		return ""
	}
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "<%s>\n", tag)
	e := json.NewEncoder(&buf)
	for i := range lines {
		_ = e.Encode(lines[i]) // texts only; '<' comes out as \u003c
	}
	fmt.Fprintf(&buf, "</%s>\n", tag)
	return buf.String()
}

func (p *promptSet) line(m *schema.Message) inputLine {
	if standsForMany(m) {
		return inputLine{Role: roleSummary, Text: readSummary(m).body}
	}
	l := inputLine{Role: string(m.Role), Text: p.textOf(m)}
	if m.Role == schema.User && (!asks(m) || einox.IsDigest(m)) {
		l.Role = roleContext
	}
	if m.Role == schema.Tool {
		l.Tool = m.ToolName
	}
	for i := range m.ToolCalls {
		l.Calls = append(l.Calls, inputCall{Tool: m.ToolCalls[i].Function.Name, Arguments: m.ToolCalls[i].Function.Arguments})
	}
	return l
}

// textOf is the text of a message, with a word for what is not text.
func (p *promptSet) textOf(m *schema.Message) string {
	texts := []string{einox.Text(m)}
	for _, kind := range mediaIn(m) {
		texts = append(texts, fmt.Sprintf(p.media, kind))
	}
	return strings.TrimSpace(strings.Join(texts, " "))
}

// clipTo renders messages in at most limit tokens: the longest texts lose their
// middle. It reports false when there are too many messages for that.
func (p *promptSet) clipTo(messages []*schema.Message, limit int, count budget.Counter) (string, bool) {
	whole := make([]inputLine, len(messages))
	for i, m := range messages {
		whole[i] = p.line(m)
	}
	for most := limit; ; most = most * 3 / 4 {
		lines := make([]inputLine, len(whole))
		for i := range whole {
			lines[i] = p.clipLine(whole[i], most, count)
		}
		text := inputOf("messages", lines)
		if count.Text(text) <= limit {
			return text, true
		}
		if most < 16 {
			return "", false
		}
	}
}

func (p *promptSet) clipLine(l inputLine, most int, count budget.Counter) inputLine {
	l.Text = p.clip(l.Text, most, count)
	calls := make([]inputCall, len(l.Calls))
	for i, c := range l.Calls {
		calls[i] = inputCall{Tool: c.Tool, Arguments: p.clip(c.Arguments, most, count)}
	}
	l.Calls = calls
	return l
}

// clip keeps the beginning and the end of a text, and says how much it left out.
func (p *promptSet) clip(s string, tokens int, count budget.Counter) string {
	n := count.Text(s)
	if n <= tokens {
		return s
	}
	runes := []rune(s)
	keep := int(float64(len(runes)) * float64(tokens) / float64(n))
	for {
		tail := keep / 4
		cut := string(runes[:keep-tail]) + fmt.Sprintf(p.omitted, len(runes)-keep) + string(runes[len(runes)-tail:])
		if keep < 8 || count.Text(cut) <= tokens {
			return cut
		}
		keep = keep * 4 / 5
	}
}
