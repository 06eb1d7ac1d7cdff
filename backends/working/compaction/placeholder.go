// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// A placeholder replaces messages that left. Its mark has the reference to their archive, and says
// what it stands for: one message, or many by their digest.

// ofOne is einox.Mark.Stands for one message; for many it is the digest as JSON.
const ofOne = "one"

// draftRef has the length of the longest usual reference. With it, placeholders are measured
// before anything is stored.
const draftRef = "a-xxxxxxxxxxxxxxxxxxxx"

const (
	nameRunes = 64  // of a tool's name
	lineRunes = 100 // of a user's message, or of a call
	maxLines  = 12  // of either
	maxTools  = 12  // that are named
)

// isDigest reports whether m stands for many messages: a placeholder of ours, or a summary from
// elsewhere.
func isDigest(m einox.Marked) bool {
	return m.Kind == einox.Summary && m.Ref != "" && m.Stands != ofOne
}

// placeholderFor returns the message that replaces m: its text is content, it plays m's part for
// the provider, and it carries memory's marks.
func placeholderFor(m einox.Marked, content, ref string) einox.Marked {
	m.Message = &schema.Message{Role: m.Role, Name: m.Name, Content: content, ReasoningContent: reasonOf(m.Message), ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName}
	m.Stands, m.Ref = ofOne, ref
	return m
}

// where gives a reference and the way to read it.
func (c *draft) where(ref string) string {
	if c.config.NoTools {
		return fmt.Sprintf(c.texts.kept, ref)
	}
	return fmt.Sprintf(c.texts.readable, ref)
}

// sizeOf describes the size of a message, and its media.
func (c *draft) sizeOf(m *schema.Message, tokens int) string {
	said := einox.Text(m)
	out := fmt.Sprintf(c.texts.size, tokens, len(said), strings.Count(said, "\n")+1)
	media := make(map[string]int)
	for _, p := range einox.Parts(m) {
		if p.Media != "" {
			media[p.Media]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(media)) {
		out += fmt.Sprintf(", %d × %s", media[kind], kind)
	}
	return out
}

// withSnippet returns headline with the first runes of a text below it.
func (c *draft) withSnippet(headline, said string, runes int) string {
	if runes <= 0 || strings.TrimSpace(said) == "" {
		return headline
	}
	return headline + "\n" + c.texts.snippet + "\n" + quote(text.Clean(text.Truncate(said, runes)))
}

// quote puts a mark in front of each line, to tell it from our own lines.
func quote(s string) string { return "> " + text.Indent(s, "> ") }

func callLine(c *schema.ToolCall, arguments int) string {
	return text.Line(c.Function.Name, nameRunes) + "(" + text.Line(c.Function.Arguments, arguments) + ")"
}

// digest is the content of a placeholder of many messages. It is kept in its mark, so that a later
// placeholder can take it over.
type digest struct {
	Rounds   int            `json:"rounds,omitempty"`
	Messages int            `json:"messages,omitempty"`
	Tokens   int            `json:"tokens,omitempty"`
	Summary  string         `json:"summary,omitempty"` // by a model, or of a placeholder from elsewhere
	ByModel  bool           `json:"by_model,omitempty"`
	Unread   []string       `json:"unread,omitempty"` // messages that no model has summarised
	Asked    []string       `json:"asked,omitempty"`  // messages of users: the newest lines
	Calls    []string       `json:"calls,omitempty"`  // the newest calls
	Tools    map[string]int `json:"tools,omitempty"`  // how often each was called
}

// digestOf returns the digest of a placeholder of this package, or nil.
func digestOf(m einox.Marked) *digest {
	var d digest
	if m.Stands == ofOne || m.Stands == "" || json.Unmarshal([]byte(m.Stands), &d) != nil {
		return nil
	}
	return &d
}

// add adds one more message, in order.
func (d *digest) add(m einox.Marked, tokens int) {
	if isDigest(m) {
		d.merge(m)
		return
	}
	d.Messages++
	d.Tokens += tokens
	if m.Asks() {
		d.Rounds++
		d.Asked = newest(append(d.Asked, text.Line(einox.Text(m.Message), lineRunes)))
	}
	for i := range m.ToolCalls {
		d.called(m.ToolCalls[i].Function.Name, 1)
		d.Calls = newest(append(d.Calls, callLine(&m.ToolCalls[i], lineRunes)))
	}
}

// merge adds the content of a former placeholder.
func (d *digest) merge(m einox.Marked) {
	f := digestOf(m)
	if f == nil {
		f = readDigest(bodyOf(m.Message))
	}
	d.Rounds += f.Rounds
	d.Messages += f.Messages
	d.Tokens += f.Tokens
	d.Summary = strings.TrimSpace(d.Summary + "\n" + f.Summary)
	d.Unread = append(d.Unread, f.Unread...)
	d.Asked = newest(append(d.Asked, f.Asked...))
	d.Calls = newest(append(d.Calls, f.Calls...))
	for tool, n := range f.Tools {
		d.called(tool, n)
	}
}

func (d *digest) called(tool string, times int) {
	if d.Tools == nil {
		d.Tools = make(map[string]int)
	}
	d.Tools[text.Line(tool, nameRunes)] += times
}

// readDigest returns the digest that a text says; a summary kept with a session lacks the mark.
func readDigest(body string) *digest {
	for _, l := range []backends.Language{backends.English, backends.Chinese} {
		t := phrasesIn[l]
		if summary, unread, ok := strings.Cut(body, "## "+t.unread+"\n- "); ok {
			return &digest{Summary: summary, Unread: strings.Split(unread, "\n- ")}
		}
	}
	return &digest{Summary: body}
}

// newest returns the last lines, which may be shared.
func newest(lines []string) []string { return slices.Clip(lines[max(0, len(lines)-maxLines):]) }

// bodyOf returns the text of a placeholder below its headline, or all of it if that is one line.
func bodyOf(m *schema.Message) string {
	said := einox.Text(m)
	if headline, body, ok := strings.Cut(said, "\n"); ok && strings.HasPrefix(headline, "[") {
		return body
	}
	return said
}

// shape says which parts of a digest its placeholder shows.
type shape struct {
	running bool // it stands for steps of the running round, else for rounds
	summary bool // a model wrote its Summary now
	lines   int  // of messages or calls
	tokens  int  // of an older Summary
}

// placeholder returns the one message that replaces the messages of d.
func (c *draft) placeholder(d *digest, s shape, ref string) einox.Marked {
	d = d.bounded(s, c.countText)
	calls := 0
	for _, n := range d.Tools {
		calls += n
	}
	headline, title, lines, all := fmt.Sprintf(c.texts.rounds, d.Rounds, d.Messages, d.Tokens, c.where(ref)), c.texts.asked, d.Asked, d.Rounds
	if s.running {
		headline, title, lines, all = fmt.Sprintf(c.texts.current, calls, d.Messages, d.Tokens, c.where(ref)), c.texts.calls, d.Calls, calls
	}
	out := []string{headline}
	if s.summary {
		out = append(out, c.texts.summary, d.Summary)
	} else if d.Summary != "" {
		out = append(out, c.texts.before, quote(d.Summary))
	}
	if n := len(d.Unread); n > 0 {
		if n > maxLines {
			d.Unread = append([]string{c.texts.older}, d.Unread[n-maxLines+1:]...)
		}
		out = append(out, section(c.texts.unread, d.Unread))
	}
	if len(lines) > 0 {
		out = append(out, title)
		if all > len(lines) {
			out = append(out, fmt.Sprintf(c.texts.more, all-len(lines)))
		}
		out = append(out, "> "+strings.Join(lines, "\n> "))
	}
	if len(d.Tools) > 0 {
		out = append(out, fmt.Sprintf(c.texts.tools, toolsText(d.Tools)))
	}
	stands, _ := json.Marshal(d) // texts and numbers always encode
	return einox.Marked{
		Message: schema.UserMessage(strings.Join(out, "\n")),
		Mark:    einox.Mark{Kind: einox.Summary, Ref: ref, Stands: string(stands)},
	}
}

// bounded returns a copy with only the parts that the placeholder shows.
func (d *digest) bounded(s shape, count func(string) int) *digest {
	b := *d
	b.Asked, b.Calls = d.Asked[max(0, len(d.Asked)-s.lines):], d.Calls[max(0, len(d.Calls)-s.lines):]
	if s.running {
		b.Asked = nil
	} else {
		b.Calls = nil
	}
	if !s.summary {
		b.Summary = text.Fit(d.Summary, s.tokens, count)
	}
	return &b
}

// toolsText lists the most called tools with their counts; the others are one count.
func toolsText(tools map[string]int) string {
	often := slices.SortedFunc(maps.Keys(tools), func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b], tools[a]), cmp.Compare(a, b))
	})
	var out []string
	others := 0
	for i, name := range often {
		if i < maxTools {
			out = append(out, fmt.Sprintf("%s × %d", name, tools[name]))
		} else {
			others += tools[name]
		}
	}
	if others > 0 {
		out = append(out, fmt.Sprintf("… × %d", others))
	}
	return strings.Join(out, ", ")
}

// section is a heading with a list below it. Further lines of an entry are indented, to tell
// them from headings and entries.
func section(title string, entries []string) string {
	var b strings.Builder
	b.WriteString("## " + title)
	for _, e := range entries {
		b.WriteString("\n- " + text.Indent(e, "  "))
	}
	return b.String()
}
