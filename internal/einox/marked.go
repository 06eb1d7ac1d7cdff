// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"
)

// Marked is a message with its mark, decoded. The mark in the message's Extra is the one that it
// came with: [Encode] puts Mark in its place.
type Marked struct {
	*schema.Message // nil where a list has none
	Mark
	Digest bool // Eino's own middleware made it, in place of others: see [IsDigest]
	Retold bool // it tells one agent about the work of another: see [IsRetold]
}

// DecodeOne returns a message, which may be nil, with its mark.
func DecodeOne(m *schema.Message) Marked {
	return Marked{Message: m, Mark: MarkOf(m), Digest: IsDigest(m), Retold: IsRetold(m)}
}

// Decode returns messages with their marks.
func Decode(messages []*schema.Message) []Marked {
	out := make([]Marked, len(messages))
	for i, m := range messages {
		out[i] = DecodeOne(m)
	}
	return out
}

// Encode returns messages that carry their marks: copies, where the marks changed.
func Encode(messages []Marked) []*schema.Message {
	if messages == nil {
		return nil
	}
	out := make([]*schema.Message, len(messages))
	for i := range messages {
		out[i] = messages[i].encode()
	}
	return out
}

func (m *Marked) encode() *schema.Message {
	if m.Message == nil {
		return nil
	}
	return m.On(m.Message)
}

// Asks reports whether m is a user's own message: it begins a round.
func (m Marked) Asks() bool {
	return m.Message != nil && m.Role == schema.User && m.Kind == "" && !m.Retold
}

// Logged returns the message of an entry of a session's log with what the entry knows: its sequence
// number, its turn, and its number there.
func Logged(m *schema.Message, seq int64, turn, id string) Marked {
	out := DecodeOne(m)
	out.Mark = Mark{Seq: seq, Turn: turn, Nth: LogIndex(turn, id) + 1, Private: out.Private}
	return out
}

// LogIndex returns the offset of a message in its turn, which ends the id of its entry in
// the log, or -1.
func LogIndex(turn, id string) int {
	digits, ok := strings.CutPrefix(id, turn+"-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

// LogRef names a range of a session's log as archives do: "log-12-40", or "log-12".
func LogRef(from, upto int64) string {
	if from == upto {
		return fmt.Sprintf("log-%d", from)
	}
	return fmt.Sprintf("log-%d-%d", from, upto)
}

// Withheld returns the placeholder for a private message, free of its words. It keeps the speaker
// and the names of called tools, so that a call and its result stay together.
func Withheld(m *schema.Message) *schema.Message {
	n := &schema.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, ToolName: m.ToolName}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		n.ToolCalls = append(n.ToolCalls, schema.ToolCall{
			Index: c.Index, ID: c.ID, Type: c.Type, Function: schema.FunctionCall{Name: c.Function.Name, Arguments: "{}"},
		})
	}
	if len(n.ToolCalls) > 0 && m.ReasoningContent != "" { // services want reasoning back with calls
		n.ReasoningContent = withheld[0]
	}
	if len(n.ToolCalls) == 0 {
		n.Content = withheld[0]
		if strings.ContainsFunc(Text(m), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			n.Content = withheld[1]
		}
	}
	return n
}

// withheld is the text of a placeholder for a private message, in the languages of prompts.
var withheld = [...]string{"[Private: not kept.]", "[私密内容，未保留。]"}
