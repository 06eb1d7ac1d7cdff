// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// mend returns a message that providers take where it stands alone, m itself if it
// is one, or nil if it says nothing.
func (p *pairing) mend(m *schema.Message) *schema.Message {
	switch {
	case m == nil:
		return nil
	case m.Role == schema.Tool && len(m.ToolCalls) == 0: // one that returns nothing is no error
		return m
	case m.Role == schema.Tool:
		return withoutCalls(m)
	case einox.HasParts(m) && m.Content != "":
		return p.mend(inParts(m))
	case m.Role == schema.Assistant:
		return p.mendAssistant(m)
	case m.Role != schema.System && m.Role != schema.User:
		return p.retell(m, fmt.Sprintf(p.text.role, string(m.Role)), retoldMark)
	case len(m.ToolCalls) > 0: // only an assistant calls
		return p.retell(m, fmt.Sprintf(p.text.role, string(m.Role)), retoldMark)
	case blank(m.Content) && !einox.HasParts(m):
		return nil
	}
	return m
}

func (p *pairing) mendAssistant(m *schema.Message) *schema.Message {
	says := !blank(m.Content) || einox.HasParts(m)
	switch {
	case says && (m.Content == "" || !blank(m.Content)):
		return m
	case says || len(m.ToolCalls) > 0:
		if m.Content == "" {
			return m
		}
		return withContent(m, "")
	case m.ReasoningContent != "":
		return withContent(m, p.text.noAnswer)
	}
	return nil
}

// orphan returns the result of a call that is not in the context as a message that
// may stand alone.
func (p *pairing) orphan(m *schema.Message) *schema.Message {
	name := m.ToolName
	if name == "" {
		name = m.ToolCallID
	}
	return p.retell(m, fmt.Sprintf(p.text.orphan, oneLine(name, maxName)), orphanMark)
}

// retell returns m in the role of the user behind a line that says what it was: a
// message of memory's own, since no user said it.
func (p *pairing) retell(m *schema.Message, headline, mark string) *schema.Message {
	n := *m
	n.Role, n.ToolCallID, n.ToolName, n.ToolCalls = schema.User, "", "", nil
	headline += callsText(m)
	text := schema.ChatMessagePartTypeText
	switch {
	case len(m.UserInputMultiContent) > 0:
		n.UserInputMultiContent = slices.Insert(slices.Clone(m.UserInputMultiContent), 0, schema.MessageInputPart{Type: text, Text: headline})
	case len(m.MultiContent) > 0:
		n.MultiContent = slices.Insert(slices.Clone(m.MultiContent), 0, schema.ChatMessagePart{Type: text, Text: headline})
	default:
		n.Content = strings.TrimSpace(headline + "\n" + m.Content)
	}
	einox.MarkSummary(&n)
	return withMark(&n, standInKey, mark)
}

// withoutCalls returns m, a tool's, with its calls as text: only an assistant calls.
func withoutCalls(m *schema.Message) *schema.Message {
	n := withContent(m, strings.TrimSpace(m.Content+callsText(m)))
	n.ToolCalls = nil
	return n
}

// callsText is what a message calls, a line each.
func callsText(m *schema.Message) string {
	var b strings.Builder
	for i := range m.ToolCalls {
		b.WriteString("\n" + m.ToolCalls[i].Function.Name + "(" + m.ToolCalls[i].Function.Arguments + ")")
	}
	return b.String()
}

// inParts returns m, which has parts, with its content as the first of them: clients
// take the one or the other.
func inParts(m *schema.Message) *schema.Message {
	n := withContent(m, "")
	text := schema.ChatMessagePartTypeText
	switch {
	case blank(m.Content):
	case len(m.UserInputMultiContent) > 0:
		n.UserInputMultiContent = slices.Insert(slices.Clone(m.UserInputMultiContent), 0, schema.MessageInputPart{Type: text, Text: m.Content})
	case len(m.AssistantGenMultiContent) > 0:
		n.AssistantGenMultiContent = slices.Insert(slices.Clone(m.AssistantGenMultiContent), 0, schema.MessageOutputPart{Type: text, Text: m.Content})
	default:
		n.MultiContent = slices.Insert(slices.Clone(m.MultiContent), 0, schema.ChatMessagePart{Type: text, Text: m.Content})
	}
	return n
}

// missing returns a result for a call that has none.
func (p *pairing) missing(call *schema.ToolCall, id string) *schema.Message {
	m := schema.ToolMessage(p.text.noResult, id, schema.WithToolName(call.Function.Name))
	einox.MarkSummary(m)
	return m
}

func withContent(m *schema.Message, content string) *schema.Message {
	n := *m
	n.Content = content
	return &n
}

// withIDs returns m with those ids of its calls, and a name for calls of nothing.
func withIDs(m *schema.Message, ids []string) *schema.Message {
	var calls []schema.ToolCall
	for n, id := range ids {
		if m.ToolCalls[n].ID == id && m.ToolCalls[n].Function.Name != "" {
			continue
		}
		if calls == nil {
			calls = slices.Clone(m.ToolCalls)
		}
		calls[n].ID = id
		if calls[n].Function.Name == "" {
			calls[n].Function.Name = "unknown"
		}
	}
	if calls == nil {
		return m
	}
	c := *m
	c.ToolCalls = calls
	return &c
}

func withCallID(m *schema.Message, id string) *schema.Message {
	if m.ToolCallID == id {
		return m
	}
	n := *m
	n.ToolCallID = id
	return &n
}

// numbered is the kth other id for one that is taken or empty.
func numbered(id string, k int) string {
	if id == "" {
		id = "call"
	}
	return id + "-" + strconv.Itoa(k)
}
