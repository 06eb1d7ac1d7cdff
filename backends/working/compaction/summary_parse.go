// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

// digest is what a model wrote: the entries of each part.
type digest map[string][]string

// What makes an answer unusable beside what modelanswer says. The texts are shown
// to the model.
var (
	errNothing = errors.New("the answer summarises nothing")
	errForeign = errors.New("the answer has nothing to do with the messages")
)

// partNames are those under which a part is found, ours first, then those that models
// take from elsewhere.
var partNames = map[string][]string{
	partGoal:       {"goal", "goals", "overall_goal", "objective", "目标", "用户目标"},
	partDirectives: {"directives", "user_directives", "instructions", "constraints", "要求", "用户的要求", "用户要求", "指示"},
	partFacts:      {"facts", "facts_and_decisions", "key_knowledge", "decisions", "summary", "事实", "事实与决定", "决定", "摘要"},
	partFailed:     {"failed", "failures", "what_failed", "errors", "失败", "失败的尝试"},
	partOpen:       {"open", "open_items", "open_work", "recent_actions", "未完成", "未完成的事", "待办"},
	partNext:       {"next", "next_steps", "plan", "下一步", "后续步骤"},
}

// readDigest reads an answer: the arguments of a tool call, or JSON or tagged
// text in the content.
func readDigest(m *schema.Message) (digest, error) {
	switch {
	case m == nil:
		return nil, modelanswer.ErrEmpty
	case modelanswer.CutOff(m):
		return nil, modelanswer.ErrTruncated
	}
	answer := m.Content
	if len(m.ToolCalls) > 0 {
		answer = m.ToolCalls[0].Function.Arguments
	}
	v, err := modelanswer.JSON(answer)
	if err != nil {
		if d := tagged(modelanswer.WithoutThoughts(answer)); len(d) > 0 {
			return d, nil
		}
		return nil, err
	}
	d := digestIn(v)
	if len(d) == 0 {
		return nil, errNothing
	}
	return d, nil
}

// digestIn finds the parts in a JSON value: in the object itself, or in one that
// it holds.
func digestIn(v any) digest {
	switch x := v.(type) {
	case []any:
		if len(x) == 1 {
			return digestIn(x[0])
		}
	case map[string]any:
		if d := partsOf(x); len(d) > 0 {
			return d
		}
		for _, inner := range x {
			if o, ok := inner.(map[string]any); ok && len(x) == 1 {
				return digestIn(o)
			}
		}
	}
	return nil
}

func partsOf(o map[string]any) digest {
	d := digest{}
	for _, part := range parts {
		for _, name := range partNames[part] {
			if _, nested := o[name].(map[string]any); nested && len(o) == 1 {
				continue // everything stands below, as in {"summary":{"goal":…}}
			}
			d.add(part, entriesIn(o[name])...)
		}
	}
	return d
}

// add keeps the entries that say something, each once.
func (d digest) add(part string, texts ...string) {
	for _, t := range texts {
		if t = cleanEntry(t); t != "" && !slices.Contains(d[part], t) {
			d[part] = append(d[part], t)
		}
	}
}

// entriesIn reads a list, a text of several lines that are one each, or an object.
func entriesIn(v any) []string {
	switch x := v.(type) {
	case string:
		return strings.Split(x, "\n")
	case json.Number:
		return []string{x.String()}
	case []any:
		var out []string
		for _, e := range x {
			if s, ok := e.(string); ok { // a line break inside an entry stays in it
				out = append(out, s)
			} else {
				out = append(out, strings.Join(entriesIn(e), "; "))
			}
		}
		return out
	case map[string]any:
		var out []string
		for k, e := range x {
			if s := strings.Join(entriesIn(e), "; "); s != "" {
				out = append(out, fmt.Sprintf("%s: %s", k, s))
			}
		}
		slices.Sort(out)
		return out
	}
	return nil
}

// emptyWords are what models write where they should write nothing.
var emptyWords = []string{"none", "n/a", "na", "nil", "null", "nothing", "empty", "-", "...", "…", "……", "无", "没有", "暂无"}

// cleanEntry cleans one entry. Its further lines are indented, so that none of them can
// pass for a heading or a line that code writes.
func cleanEntry(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	s = strings.TrimSpace(s)
	for _, bullet := range []string{"- ", "* ", "• "} {
		s = strings.TrimSpace(strings.TrimPrefix(s, bullet))
	}
	if slices.Contains(emptyWords, strings.ToLower(strings.Trim(s, ".。 "))) || s == "" {
		return ""
	}
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n  ")
}

// tagged reads parts between tags: <goal>…</goal>.
func tagged(s string) digest {
	d := digest{}
	for _, part := range parts {
		for _, name := range partNames[part] {
			_, rest, found := strings.Cut(s, "<"+name+">")
			text, _, closed := strings.Cut(rest, "</"+name+">")
			if found && closed && !strings.Contains(text, "<"+partGoal+">") {
				d.add(part, strings.Split(text, "\n")...)
			}
		}
	}
	return d
}
