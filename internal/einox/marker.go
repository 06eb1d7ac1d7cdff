// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"maps"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// What memory writes into schema.Message.Extra. The values are plain strings,
// because Eino's checkpoints encode Extra with gob, which knows a string without
// being told and fails on most other things, and only once a run is interrupted
// (trap T5). Chat models do not send Extra to the provider.
const (
	// MarkerKey is the key under which a message of memory's own says what it is.
	MarkerKey = "_einomem"
	// TurnKey is the key under which a message carries its turn's id.
	TurnKey = "_einomem_turn"

	indexKey  = "_einomem_index"   // the message's place in its turn, in decimal
	seqKey    = "_einomem_seq"     // the message's place in the session's log, in decimal
	refKey    = "_einomem_archive" // what the message stands in for
	ofKey     = "_einomem_session" // the session in which those two mean something
	searchKey = "_einomem_search_" // + the memory's name: what the search for the turn came to

	noteMark    = "note"
	summaryMark = "summary"
	coreMark    = "core"

	searchHit  = "hit"
	searchMiss = "miss"
)

// MarkNote marks m as a note that memory injected: it is never persisted and
// never learnt from. It changes m, which must be the caller's own.
func MarkNote(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, noteMark) }

// IsNote reports whether m is a message of memory's own making: a note, a summary,
// the core blocks. Nobody said it.
func IsNote(m *schema.Message) bool { return text(m, MarkerKey) != "" }

// IsRecalled reports whether m is a note of what a search found.
func IsRecalled(m *schema.Message) bool { return text(m, MarkerKey) == noteMark }

// MarkSummary marks m as standing in for messages that left the context, or for
// what never was in it, as the result of a call that was interrupted. It changes m,
// which must be the caller's own.
func MarkSummary(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, summaryMark) }

// IsSummary reports whether m stands in for messages that left the context, which
// [RefOf] then names, or for what never was in it.
func IsSummary(m *schema.Message) bool { return text(m, MarkerKey) == summaryMark }

// MarkCore marks m as the message of the core blocks. It changes m, which must be
// the caller's own.
func MarkCore(m *schema.Message) { m.Extra = with(m.Extra, MarkerKey, coreMark) }

// IsCore reports whether m is the message of the core blocks.
func IsCore(m *schema.Message) bool { return text(m, MarkerKey) == coreMark }

// MarkSeq returns a copy of m that carries its sequence number in the log of its
// session: the log holds the original. For a summary it is the last of those that
// it covers.
func MarkSeq(m *schema.Message, seq int64) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, seqKey, strconv.FormatInt(seq, 10))
	return &c
}

// SeqOf returns the sequence number that m carries, or 0.
func SeqOf(m *schema.Message) int64 {
	n, err := strconv.ParseInt(text(m, seqKey), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// MarkRef returns a copy of m that says in which archive what it stands in for is
// found.
func MarkRef(m *schema.Message, ref string) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, refKey, ref)
	return &c
}

// RefOf returns the archive that m stands in for, or "".
func RefOf(m *schema.Message) string { return text(m, refKey) }

// IsTied reports whether m carries something that means nothing outside its
// session: a sequence number, or an archive.
func IsTied(m *schema.Message) bool { return SeqOf(m) > 0 || RefOf(m) != "" }

// MarkSession returns a copy of m that says in which session it is tied.
func MarkSession(m *schema.Message, tag string) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, ofKey, tag)
	return &c
}

// SessionOf returns the session in which m is tied, or "".
func SessionOf(m *schema.Message) string { return text(m, ofKey) }

// Untie returns a copy of m that is tied to no session.
func Untie(m *schema.Message) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	for _, key := range []string{seqKey, refKey, ofKey} {
		delete(c.Extra, key)
	}
	return &c
}

// Marks returns memory's marks on m, or nil.
func Marks(m *schema.Message) map[string]string {
	var out map[string]string
	for k := range m.Extra {
		if !ours(k) {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[k] = text(m, k)
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

// MarkTurn returns a copy of m that carries the id of its turn. m itself is left
// as it is: it may be the caller's history, or shared by several runs (trap T13).
func MarkTurn(m *schema.Message, turnID string) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, TurnKey, turnID)
	return &c
}

// TurnOf returns the id of the turn that m carries, or "".
func TurnOf(m *schema.Message) string { return text(m, TurnKey) }

// MarkIndex returns a copy of m that carries its place in its turn, so that the
// place stays known when other messages of the turn are compacted away.
func MarkIndex(m *schema.Message, index int) *schema.Message {
	c := *m
	c.Extra = with(m.Extra, indexKey, strconv.Itoa(index))
	return &c
}

// IndexOf returns the place in its turn that m carries.
func IndexOf(m *schema.Message) (int, bool) {
	i, err := strconv.Atoi(text(m, indexKey))
	return i, err == nil && i >= 0
}

// MarkSearch returns a copy of m, the last user message of a turn, that tells
// that the memory of that name was searched for the turn, and whether it found
// anything: the search is made once however often the model is called (trap T2).
func MarkSearch(m *schema.Message, name string, found bool) *schema.Message {
	c := *m
	mark := searchMiss
	if found {
		mark = searchHit
	}
	c.Extra = with(m.Extra, searchKey+name, mark)
	return &c
}

// SearchOf returns what [MarkSearch] wrote.
func SearchOf(m *schema.Message, name string) (searched, found bool) {
	mark := text(m, searchKey+name)
	return mark != "", mark == searchHit
}

// Unmark returns m without memory's marks: m itself when it has none.
func Unmark(m *schema.Message) *schema.Message {
	marked := false
	for k := range m.Extra {
		marked = marked || ours(k)
	}
	if !marked {
		return m
	}
	c := *m
	c.Extra = maps.Clone(m.Extra)
	maps.DeleteFunc(c.Extra, func(k string, _ any) bool { return ours(k) })
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return &c
}

func ours(key string) bool { return key == MarkerKey || strings.HasPrefix(key, MarkerKey+"_") }

// with returns a copy of extra that has value under key.
func with(extra map[string]any, key, value string) map[string]any {
	c := make(map[string]any, len(extra)+1)
	maps.Copy(c, extra)
	c[key] = value
	return c
}

func text(m *schema.Message, key string) string {
	if m == nil {
		return ""
	}
	s, _ := m.Extra[key].(string)
	return s
}
