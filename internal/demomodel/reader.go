// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// The tools by which a reader finds again what left its context.
const (
	grepTool = "grep_working_memory"
	readTool = "read_working_memory"
)

// reader is what the model makes of its input when it has documents to read: see
// Config.Reads. All that it knows stands in the messages.
type reader struct {
	tool string
	in   []*schema.Message
	said string // the last thing that the user said
	from int    // where what followed it begins
}

// reading returns a reader of the conversation, or nil when nobody said anything.
func reading(tool string, in []*schema.Message) *reader {
	for i := len(in) - 1; i >= 0; i-- {
		if m := in[i]; m != nil && m.Role == schema.User && !isNote(m) && einox.Text(m) != "" {
			return &reader{tool: tool, in: in, said: einox.Text(m), from: i + 1}
		}
	}
	return nil
}

// next is the reader's answer, or its next call.
func (r *reader) next() *schema.Message {
	if asked := questions(r.said); len(asked) > 0 {
		return r.look(asked[0])
	}
	return r.read()
}

// of is how a document says which of how many it is.
var of = regexp.MustCompile(`(\d+) of (\d+)`)

// read reads the document after the one that was read last.
func (r *reader) read() *schema.Message {
	last, all := 0, 0
	for _, m := range r.in[r.from:] {
		if m == nil || m.Role != schema.Tool {
			continue
		}
		if found := of.FindStringSubmatch(m.Content); found != nil {
			last, _ = strconv.Atoi(found[1])
			all, _ = strconv.Atoi(found[2])
		}
	}
	if last > 0 && last >= all {
		return schema.AssistantMessage(fmt.Sprintf("I have read all %d of them.", all), nil)
	}
	return r.call(r.tool, map[string]any{"number": last + 1})
}

// look answers a question from what its calls have brought, and else makes the
// next call: it searches for one word of the question after the other, the names
// first, and reads on where a line was cut.
func (r *reader) look(asked string) *schema.Message {
	say, q := phrases[isHan(asked)], parseQuestion(asked)
	c := &conversation{}
	var cut []place
	for _, m := range r.in[r.from:] {
		if m == nil || m.Role != schema.Tool {
			continue
		}
		texts, places := lines(m.Content)
		cut = append(cut, places...)
		for _, text := range texts {
			c.evidence = append(c.evidence, fromText(text, "")...)
		}
	}
	if found := c.find(q); len(found) > 0 {
		return schema.AssistantMessage(fmt.Sprintf(say.read, found[len(found)-1].text), nil)
	}
	read, searched := r.called(readTool), r.called(grepTool)
	if len(cut) > read {
		p := cut[read]
		return r.call(readTool, map[string]any{"archive": p.ref, "byte": max(p.at-200, 0), "bytes": 1000})
	}
	if words := patterns(asked, q); searched < len(words) {
		return r.call(grepTool, map[string]any{"pattern": words[searched], "limit": 20})
	}
	return schema.AssistantMessage(say.unknown, nil)
}

// called is how often a tool was called since the user spoke.
func (r *reader) called(tool string) int {
	n := 0
	for _, m := range r.in[r.from:] {
		if m != nil && slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool { return c.Function.Name == tool }) {
			n++
		}
	}
	return n
}

func (r *reader) call(tool string, arguments map[string]any) *schema.Message {
	raw, err := json.Marshal(arguments)
	if err != nil { // texts and numbers always marshal
		raw = []byte("{}")
	}
	id := fmt.Sprintf("demo-%s-%d", tool, len(r.in))
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: string(raw)}}})
}

// place is where a line goes on that was cut.
type place struct {
	ref string
	at  int
}

var (
	inArchive = regexp.MustCompile(`^\[((?:log|a)-[^\]]+)\]$`)
	lineSign  = regexp.MustCompile(`^\d+[:-] `)
	cutAt     = regexp.MustCompile(`^(?:\(byte (\d+) of a long line\) |（长行的第 (\d+) 字节）)`)
)

// lines takes apart what the tools found: the texts of lines, and where lines
// were cut.
func lines(found string) (texts []string, cut []place) {
	ref := ""
	for line := range strings.Lines(found) {
		line = strings.TrimSpace(line)
		if m := inArchive.FindStringSubmatch(line); m != nil {
			ref = m[1]
			continue
		}
		line = lineSign.ReplaceAllString(line, "")
		if m := cutAt.FindStringSubmatch(line); m != nil && ref != "" {
			at, _ := strconv.Atoi(m[1] + m[2])
			cut = append(cut, place{ref: ref, at: at})
			continue // half a sentence proves nothing
		}
		texts = append(texts, line)
	}
	return texts, cut
}

// patterns are what to search for: the words of the question that are names or
// numbers, then the others, the longest first.
func patterns(asked string, q *question) []string {
	var names, others []string
	for _, t := range q.terms {
		named := strings.ContainsFunc(t.shown, unicode.IsNumber) || unicode.IsUpper([]rune(t.shown)[0]) && !strings.HasPrefix(asked, t.shown)
		if named {
			names = append(names, t.shown)
		} else if !t.light {
			others = append(others, t.shown)
		}
	}
	slices.SortStableFunc(others, func(a, b string) int { return len(b) - len(a) })
	return append(names, others...)
}
