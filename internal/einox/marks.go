// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
)

// MarkKey is the key in a message's Extra under which memory keeps its [Mark].
const MarkKey = "_einomem"

// A Mark is all that memory knows of one message beyond its words, where that must survive a
// checkpoint and has no other source. It stands in the message's Extra as JSON, in one string.
// Eino's checkpoints encode Extra with gob, which knows strings without registration and fails on
// most other types, and only once a run is interrupted (trap T5). Streams join strings, and fail on
// structs. Chat models keep Extra from the provider.
//
// A message may be the caller's history, or shared by several runs (trap T13). So marks are read
// once, by [Decode] or [Unfold], changed in a [Marked], and put on copies by [Encode] or [Fold]. The
// maps in a mark are shared: replace them by [With].
type Mark struct {
	Kind    Kind              `json:"kind,omitempty"`    // of a message that memory made
	Turn    string            `json:"turn,omitempty"`    // the turn's id
	Nth     int               `json:"nth,omitempty"`     // its number in the turn, from 1; kept when others are compacted away
	Epoch   string            `json:"epoch,omitempty"`   // the epoch of the user's partition in which the turn began
	Seq     int64             `json:"seq,omitempty"`     // its number in the session's log, which holds the original; of a summary the last that it covers
	Ref     string            `json:"ref,omitempty"`     // of a placeholder: the archive of its original
	Session string            `json:"session,omitempty"` // the session to which Seq and Ref belong
	Stands  string            `json:"stands,omitempty"`  // of a placeholder of package compaction: what it stands for
	Found   map[string]bool   `json:"found,omitempty"`   // of a turn's last user message: whether a memory, by name, found something for it
	Owner   map[string]string `json:"owner,omitempty"`   // of the same: by the name of a note or a tool, the middleware of the agent that has it
	Private Privacy           `json:"private,omitempty"` // stored with the message, in every copy
	Apart   bool              `json:"apart,omitempty"`   // the note stays a message of its own, see [Fold]
	Folded  []Folded          `json:"folded,omitempty"`  // the notes inside a user's message, see [Fold]
}

// Kind says which message of memory's own a message is: it stands outside the conversation, and is
// neither stored nor learnt from.
type Kind string

// The kinds. A summary is a placeholder for messages that left the context, or for a missing one,
// such as the result of an interrupted call.
const (
	Note    Kind = "note" // what a search found
	Summary Kind = "summary"
	Core    Kind = "core" // the core blocks
)

// Privacy says what of a conversation stays out of memory.
type Privacy string

// Memory stores the result of [Withheld] for a private message. Before is the privacy of a user's
// message that asks memory to forget the turn before it, too.
const (
	Private Privacy = "this"
	Before  Privacy = "before"
)

// ReadSecret is the name of the vault's tool. Its result is private, whatever the program says.
const ReadSecret = "read_secret"

// Added reports whether memory adds the message to each context anew: a note or the core blocks.
func (k Mark) Added() bool { return k.Kind == Note || k.Kind == Core }

// With returns a copy of a mark's map that has value under name.
func With[V any](m map[string]V, name string, value V) map[string]V {
	c := make(map[string]V, len(m)+1)
	maps.Copy(c, m)
	c[name] = value
	return c
}

// encoding writes a mark in one form alone, so that an unchanged mark is known by its text.
var encoding = sonic.Config{SortMapKeys: true, CopyString: true}.Froze()

func (k Mark) String() string {
	if s, _ := encoding.MarshalToString(&k); s != "{}" { // texts and numbers always encode
		return s
	}
	return ""
}

// On returns a copy of m that carries this mark alone, or m itself if it does.
func (k Mark) On(m *schema.Message) *schema.Message {
	mark := k.String()
	if was, _ := m.Extra[MarkKey].(string); was == mark && (mark != "" || !slices.ContainsFunc(slices.Collect(maps.Keys(m.Extra)), ours)) {
		return m
	}
	c := *m
	c.Extra = make(map[string]any, len(m.Extra)+1)
	for key, value := range m.Extra {
		if !ours(key) {
			c.Extra[key] = value
		}
	}
	if mark != "" {
		c.Extra[MarkKey] = mark
	}
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return &c
}

func ours(key string) bool { return key == MarkKey || strings.HasPrefix(key, MarkKey+"_") }

// MarkOf returns the mark that m carries, also in the form of older releases.
func MarkOf(m *schema.Message) (k Mark) {
	if m == nil || len(m.Extra) == 0 {
		return k
	}
	mark, _ := m.Extra[MarkKey].(string)
	if !strings.HasPrefix(mark, "{") {
		return OldMark(m.Extra)
	}
	if encoding.UnmarshalFromString(mark, &k) == nil {
		return k
	}
	var first Mark // a stream that carries a mark twice joins its texts
	if json.NewDecoder(strings.NewReader(mark)).Decode(&first) != nil {
		return Mark{}
	}
	return first
}

// IsNote reports whether m is a message of memory's own making.
func IsNote(m *schema.Message) bool { return MarkOf(m).Kind != "" }

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
