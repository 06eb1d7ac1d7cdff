// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Span is a part of a list of messages, from From up to To, exclusive.
type Span struct{ From, To int }

// Rounds divides messages into rounds, oldest first. A round is a user's message, the notes that
// memory put right before it, and the messages until the next one. The last round is the running
// one, and there always is one. It begins with the first user message of the last turn, or with the
// list if no user spoke, and goes to the end. The first round may be messages from before any user
// spoke.
func Rounds(messages []Marked) []Span {
	running := runningFrom(messages)
	var out []Span
	from := 0
	for i := 1; i < running; i++ {
		if !messages[i].Asks() {
			continue
		}
		if at := withNotes(messages, i, from); at > from {
			out = append(out, Span{from, at})
			from = at
		}
	}
	if from < running {
		out = append(out, Span{from, running})
	}
	return append(out, Span{running, len(messages)})
}

// runningFrom returns the index where the running round begins.
func runningFrom(messages []Marked) int {
	last := len(messages) - 1
	for last >= 0 && !messages[last].Asks() {
		last--
	}
	if last < 0 {
		return 0
	}
	first := last
	if turn := messages[last].Turn; turn != "" {
		for i := last - 1; i >= 0; i-- {
			if messages[i].Asks() && messages[i].Turn == turn {
				first = i
			}
		}
	}
	return withNotes(messages, first, 0)
}

// withNotes returns the index of the first note in the row right before message i, at least from.
func withNotes(messages []Marked, i, from int) int {
	for i > from && messages[i-1].Added() {
		i--
	}
	return i
}

// Exchanges divides the messages of a span into units that a cut of the context keeps together: an
// assistant's message with the results of its calls, or one message of any other sort. The messages
// must be in the order in which [Repair] leaves them.
func Exchanges(messages []Marked, s Span) []Span {
	var out []Span
	for i := s.From; i < s.To; {
		end := i + 1
		if len(messages[i].ToolCalls) > 0 {
			for end < s.To && messages[end].Role == schema.Tool {
				end++
			}
		}
		out = append(out, Span{i, end})
		i = end
	}
	return out
}

// RepairTexts are the texts that [Repair] puts into a conversation.
type RepairTexts struct {
	Begins   string // in front of a conversation that begins with another role than the user's
	NoResult string // the result of an open call
	NoAnswer string // the answer of an assistant that only thought
	Orphan   string // in front of a result whose call is gone; %s: the tool
	Role     string // in front of a message of a role that is unknown to providers; %q: the role
}

// The texts in the languages of prompts.
var (
	RepairEnglish = &RepairTexts{
		Begins:   "[The assistant began this conversation.]",
		NoResult: "[No result: the turn was interrupted before the tool answered, or it is still at work.]",
		NoAnswer: "[No answer.]",
		Orphan:   "[Result of the tool %q, which was called before the messages shown here.]",
		Role:     "[A message of the role %q.]",
	}
	RepairChinese = &RepairTexts{
		Begins:   "[此对话由助手开始。]",
		NoResult: "[无结果：本轮在工具返回之前中断，或工具仍在运行。]",
		NoAnswer: "[无回答。]",
		Orphan:   "[工具 %q 的结果；它在此处所示消息之前被调用。]",
		Role:     "[角色 %q 的一条消息。]",
	}
)

// Repair returns messages as a list that providers take. One result follows each call of a tool at
// once, and each result has its call. Every message says something in a known role, and the user
// begins. Repair moves results behind their calls. An open call gets
// [RepairTexts].NoResult, which a later result replaces. A result whose call is gone becomes a
// user's message of its own. Sound messages are the same pointers, and every word stays. Repairing
// twice changes nothing.
//
// Other things that providers refuse are the caller's to avoid: parts of another role, calls by
// anybody but an assistant, a content beside parts.
func Repair(in []Marked, texts *RepairTexts) []Marked {
	var messages []Marked
	for _, m := range in {
		if m.Message != nil && texts.alone(&m) {
			messages = append(messages, m)
		}
	}
	p := pair(messages)
	out := make([]Marked, 0, len(messages)+1)
	for i, m := range messages {
		switch {
		case p.taken[i]:
		case m.Role == schema.Tool:
			m.asUser(fmt.Sprintf(texts.Orphan, cmp.Or(m.ToolName, m.ToolCallID)))
			out = append(out, m)
		case len(m.ToolCalls) > 0:
			out = append(out, p.exchange(i, texts)...)
		default:
			out = append(out, m)
		}
	}
	first := slices.IndexFunc(out, func(m Marked) bool { // memory's own messages may be dropped
		return m.Role != schema.System && !m.Added()
	})
	if first >= 0 && out[first].Role != schema.User {
		out = slices.Insert(out, first, Marked{Message: schema.UserMessage(texts.Begins), Mark: Mark{Kind: Summary}})
	}
	return out
}

// alone gives a message a form that providers take where it stands alone. It returns false if the
// message says nothing.
func (t *RepairTexts) alone(m *Marked) bool {
	switch {
	case m.Role == schema.Tool: // a tool may return an empty text
	case m.Role != schema.System && m.Role != schema.User && m.Role != schema.Assistant:
		m.asUser(fmt.Sprintf(t.Role, string(m.Role)))
	case m.Content != "" && strings.TrimSpace(m.Content) != "":
	case HasParts(m.Message) || len(m.ToolCalls) > 0:
		m.Message = withContent(m.Message, "")
	case m.Role == schema.Assistant && m.ReasoningContent != "":
		m.Message = withContent(m.Message, t.NoAnswer)
	default:
		return false
	}
	return true
}

func withContent(m *schema.Message, content string) *schema.Message {
	if m.Content == content {
		return m
	}
	n := *m
	n.Content = content
	return &n
}

// asUser puts m into the role of the user, behind a line that names its origin. It is a message of
// memory's own, since no user said it.
func (m *Marked) asUser(headline string) {
	n := *m.Message
	n.Role, n.ToolCallID, n.ToolName = schema.User, "", ""
	switch {
	case len(m.UserInputMultiContent) > 0:
		head := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: headline}
		n.UserInputMultiContent = slices.Insert(slices.Clone(m.UserInputMultiContent), 0, head)
	case len(m.MultiContent) > 0:
		head := schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText, Text: headline}
		n.MultiContent = slices.Insert(slices.Clone(m.MultiContent), 0, head)
	default:
		n.Content = strings.TrimSpace(headline + "\n" + m.Content)
	}
	m.Message, m.Kind = &n, Summary
}

// pairs joins calls of tools with the messages that answer them.
type pairs struct {
	messages []Marked
	results  map[call]int // the message that answers a call
	taken    map[int]bool // messages that answer one
}

// call is the nth call of a message.
type call struct{ message, nth int }

// pair finds the call that each result answers: the nearest open one before it, since providers use
// ids again.
func pair(messages []Marked) *pairs {
	p := &pairs{messages: messages, results: map[call]int{}, taken: map[int]bool{}}
	open, closed := map[string][]call{}, map[string]call{}
	for i, m := range messages {
		if m.Role != schema.Tool {
			for n := range m.ToolCalls {
				id := m.ToolCalls[n].ID
				open[id] = append(open[id], call{i, n})
			}
			continue
		}
		c, ok := closed[m.ToolCallID]
		if waiting := open[m.ToolCallID]; len(waiting) > 0 {
			at := len(waiting) - 1
			for at > 0 && waiting[at-1].message == waiting[at].message {
				at--
			}
			c = waiting[at]
			open[m.ToolCallID] = slices.Delete(waiting, at, at+1)
		} else if !ok || messages[p.results[c]].Kind == "" { // else the turn was resumed, and this is the real result
			continue
		}
		p.results[c], p.taken[i], closed[m.ToolCallID] = i, true, c
	}
	return p
}

// exchange returns the assistant's message i, the results of its calls in the order in which they
// came, and a placeholder for each open call.
func (p *pairs) exchange(i int, texts *RepairTexts) []Marked {
	m := p.messages[i]
	ids := uniqueIDs(m.ToolCalls)
	m.Message = withIDs(m.Message, ids)
	out := []Marked{m}
	var answered []call // the results, and the calls that they answer
	for n := range ids {
		if at, ok := p.results[call{i, n}]; ok {
			answered = append(answered, call{at, n})
		}
	}
	slices.SortFunc(answered, func(a, b call) int { return a.message - b.message })
	for _, a := range answered {
		r := p.messages[a.message]
		if id := ids[a.nth]; r.ToolCallID != id {
			copied := *r.Message
			copied.ToolCallID = id
			r.Message = &copied
		}
		out = append(out, r)
	}
	for n := range ids {
		if _, ok := p.results[call{i, n}]; !ok {
			missing := schema.ToolMessage(texts.NoResult, ids[n], schema.WithToolName(m.ToolCalls[n].Function.Name))
			out = append(out, Marked{Message: missing, Mark: Mark{Kind: Summary}})
		}
	}
	return out
}

// uniqueIDs returns the ids under which calls of one message are answered: their own, or a new one
// if a call lacks an id or shares it with another.
func uniqueIDs(calls []schema.ToolCall) []string {
	ids, used := make([]string, len(calls)), map[string]bool{"": true}
	for n := range calls {
		if id := calls[n].ID; !used[id] {
			ids[n], used[id] = id, true
		}
	}
	for n := range ids {
		for k := n + 1; ids[n] == ""; k++ {
			if id := cmp.Or(calls[n].ID, "call") + "-" + strconv.Itoa(k); !used[id] {
				ids[n], used[id] = id, true
			}
		}
	}
	return ids
}

// withIDs returns m with these ids of its calls: m itself if it has them.
func withIDs(m *schema.Message, ids []string) *schema.Message {
	n := *m
	n.ToolCalls = slices.Clone(m.ToolCalls)
	changed := false
	for i, id := range ids {
		changed = changed || n.ToolCalls[i].ID != id
		n.ToolCalls[i].ID = id
	}
	if !changed {
		return m
	}
	return &n
}
