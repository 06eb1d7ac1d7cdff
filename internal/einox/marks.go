// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"
)

// Memory writes into schema.Message.Extra the facts that must survive a checkpoint and lack
// another source. The values are plain strings. Eino's checkpoints encode Extra with gob, which knows
// strings without registration and fails on most other types, and only once a run is interrupted
// (trap T5). Chat models keep Extra from the provider.
//
// Marks are set on copies: a message may be the caller's history, or shared by several runs (trap
// T13). MarkNote, MarkSummary and MarkCore alone change their message, which is memory's own.
const (
	// MarkerKey is the key for the kind of a message that memory made.
	MarkerKey = "_einomem"

	turnKey   = MarkerKey + "_turn"    // the turn's id
	lifeKey   = MarkerKey + "_life"    // the life of the user's partition in which the turn began
	indexKey  = MarkerKey + "_index"   // the message's place in its turn, in decimal
	seqKey    = MarkerKey + "_seq"     // the message's place in the session's log, in decimal
	refKey    = MarkerKey + "_archive" // the archive of the original of a placeholder
	ofKey     = MarkerKey + "_session" // the session to which those two belong
	searchKey = MarkerKey + "_search_" // + the memory's name: the outcome of the search for the turn
	ownerKey  = MarkerKey + "_owner_"  // + the name of a note or a tool: the middleware of the agent that has it

	privateKey = MarkerKey + "_private" // the message stays out of memory, see MarkPrivate
	foldedKey  = MarkerKey + "_folded"  // the notes inside a user's message, see Fold
	apartKey   = MarkerKey + "_apart"   // the note is a message of its own, see MarkApart

	noteMark    = "note"
	summaryMark = "summary"
	coreMark    = "core"
)

// MarkNote marks m as a note that memory injected: it is neither stored nor learnt from.
func MarkNote(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, noteMark) }

// IsNote reports whether m is a message of memory's own making: a note, a summary, the core blocks.
// Such a message stands outside the conversation.
func IsNote(m *schema.Message) bool { return markOf(m, MarkerKey) != "" }

// IsRecalled reports whether m is a note that a search found.
func IsRecalled(m *schema.Message) bool { return markOf(m, MarkerKey) == noteMark }

// MarkSummary marks m as a placeholder for messages that left the context, or for a missing
// one, such as the result of an interrupted call.
func MarkSummary(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, summaryMark) }

// IsSummary reports whether m is a placeholder: for messages that left the context, which [RefOf]
// names, or for a missing one.
func IsSummary(m *schema.Message) bool { return markOf(m, MarkerKey) == summaryMark }

// MarkCore marks m as the message of the core blocks.
func MarkCore(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, coreMark) }

// IsCore reports whether m is the message of the core blocks.
func IsCore(m *schema.Message) bool { return markOf(m, MarkerKey) == coreMark }

// MarkTurn returns a copy of m that carries the id of its turn.
func MarkTurn(m *schema.Message, turnID string) *schema.Message { return marked(m, turnKey, turnID) }

// TurnOf returns the id of the turn that m carries, or "".
func TurnOf(m *schema.Message) string { return markOf(m, turnKey) }

// MarkLife returns a copy of m that carries the life in which its turn began.
func MarkLife(m *schema.Message, life string) *schema.Message { return marked(m, lifeKey, life) }

// LifeOf returns the life that m carries, or "".
func LifeOf(m *schema.Message) string { return markOf(m, lifeKey) }

// MarkIndex returns a copy of m that carries its place in its turn, so that the
// place stays known when other messages of the turn are compacted away.
func MarkIndex(m *schema.Message, index int) *schema.Message {
	return marked(m, indexKey, strconv.Itoa(index))
}

// IndexOf returns the place in its turn that m carries.
func IndexOf(m *schema.Message) (int, bool) {
	i, err := strconv.Atoi(markOf(m, indexKey))
	return i, err == nil && i >= 0
}

// MarkSearch returns a copy of m, the last user message of a turn, with the outcome of the search
// in the memory of that name. The mark keeps it to one search a turn, however often Eino calls the
// model (trap T2).
func MarkSearch(m *schema.Message, name string, found bool) *schema.Message {
	return marked(m, searchKey+name, strconv.FormatBool(found))
}

// SearchOf returns the outcome that [MarkSearch] wrote.
func SearchOf(m *schema.Message, name string) (searched, found bool) {
	mark := markOf(m, searchKey+name)
	return mark != "", mark == "true"
}

// MarkOwner returns a copy of m, the last user message of a turn, that names the middleware of the
// agent that has the note or the tool of that name.
func MarkOwner(m *schema.Message, name, owner string) *schema.Message {
	return marked(m, ownerKey+name, owner)
}

// OwnerOf returns the owner that [MarkOwner] wrote, or "".
func OwnerOf(m *schema.Message, name string) string { return markOf(m, ownerKey+name) }

// MarkSeq returns a copy of m that carries its sequence number in the log of its session: the log
// holds the original. A summary carries the last number that it covers.
func MarkSeq(m *schema.Message, seq int64) *schema.Message {
	return marked(m, seqKey, strconv.FormatInt(seq, 10))
}

// SeqOf returns the sequence number that m carries, or 0.
func SeqOf(m *schema.Message) int64 {
	n, _ := strconv.ParseInt(markOf(m, seqKey), 10, 64) // 0 if the mark is missing
	return n
}

// Logged returns the message of an entry of a session's log with its marks: its sequence number,
// its turn, and its place in the turn.
func Logged(m *schema.Message, seq int64, turn, id string) *schema.Message {
	m = MarkSeq(Unmark(m), seq)
	if turn != "" {
		m = MarkTurn(m, turn)
	}
	if i := LogIndex(turn, id); i >= 0 {
		m = MarkIndex(m, i)
	}
	return m
}

// LogIndex returns the place of a message in its turn, which ends the id of its entry in
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

// MarkRef returns a copy of m, a placeholder, that names the archive of its original.
func MarkRef(m *schema.Message, ref string) *schema.Message { return marked(m, refKey, ref) }

// RefOf returns the archive of the original of m, or "".
func RefOf(m *schema.Message) string { return markOf(m, refKey) }

// IsTied reports whether m carries a value of its session: a sequence number, or an archive.
func IsTied(m *schema.Message) bool { return SeqOf(m) > 0 || RefOf(m) != "" }

// MarkSession returns a copy of m that names the session to which it is tied.
func MarkSession(m *schema.Message, tag string) *schema.Message { return marked(m, ofKey, tag) }

// SessionOf returns the session to which m is tied, or "".
func SessionOf(m *schema.Message) string { return markOf(m, ofKey) }

// Untie returns a copy of m freed of its tie to a session.
func Untie(m *schema.Message) *schema.Message {
	return without(m, func(key string) bool { return key == seqKey || key == refKey || key == ofKey })
}

// Unmark returns a copy of m freed of memory's marks and its notes, or m itself if it is plain. A
// private message stays private.
func Unmark(m *schema.Message) *schema.Message {
	m = own(m)
	passing := func(key string) bool { return ours(key) && key != privateKey }
	for k := range m.Extra {
		if passing(k) {
			return without(m, passing)
		}
	}
	return m
}

// Marks returns memory's marks on m. The map is the caller's own.
func Marks(m *schema.Message) map[string]string {
	out := map[string]string{}
	for k := range m.Extra {
		if ours(k) {
			out[k] = markOf(m, k)
		}
	}
	return out
}

// WithMarks returns a copy of m with memory's marks replaced by marks.
func WithMarks(m *schema.Message, marks map[string]string) *schema.Message {
	c := *Unmark(m)
	for k, v := range marks {
		if ours(k) {
			c.Extra = with(c.Extra, k, v)
		}
	}
	return &c
}

// MarkPrivate returns a private copy of m: memory stores the result of [Withheld] for it. The mark
// is stored with it, and stays in every copy.
func MarkPrivate(m *schema.Message) *schema.Message { return marked(m, privateKey, "this") }

// MarkPrivateBefore is MarkPrivate for a message of a user who asks memory to forget the turn
// before.
func MarkPrivateBefore(m *schema.Message) *schema.Message { return marked(m, privateKey, "before") }

// IsPrivate reports whether m stays out of memory.
func IsPrivate(m *schema.Message) bool { return markOf(m, privateKey) != "" }

// IsPrivateBefore reports whether the turn before m stays out of memory, too.
func IsPrivateBefore(m *schema.Message) bool { return markOf(m, privateKey) == "before" }

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
	return WithMarks(n, Marks(m))
}

// withheld is the text of a placeholder for a private message, in the languages of prompts.
var withheld = [...]string{"[Private: not kept.]", "[私密内容，未保留。]"}

func ours(key string) bool { return key == MarkerKey || strings.HasPrefix(key, MarkerKey+"_") }

// marked returns a copy of m that has the mark.
func marked(m *schema.Message, key, value string) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, key, value)
	return &c
}

// without returns a copy of m that lacks the keys of its Extra that drop names.
func without(m *schema.Message, drop func(key string) bool) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	maps.DeleteFunc(c.Extra, func(k string, _ any) bool { return drop(k) })
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return &c
}

// with returns a copy of extra that has value under key.
func with(extra map[string]any, key, value string) map[string]any {
	c := make(map[string]any, len(extra)+1)
	maps.Copy(c, extra)
	c[key] = value
	return c
}

func markOf(m *schema.Message, key string) string {
	if m == nil {
		return ""
	}
	s, _ := m.Extra[key].(string)
	return s
}
