// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Models print calls into the text of an answer if their server, or their training, lacks tool
// calls: in tags, in fences, bare. All such calls have the name of a tool.

const (
	// callFrame is the frame of a call: a fence, a tag of any name, Mistral's and Phi's words.
	callFrame = "(?:`{3}\\w*|<[\\w|:｜▁-]{2,30}>|<\\|\\w{2,30}\\|?>|\\[[A-Z_]{2,20}\\]|functools)\\s*"
	// beforeName stands between a frame and the name of a tool: DeepSeek's, gpt-oss' and Kimi's words.
	beforeName = `(?:function<｜tool▁sep｜>|\w+ to=)?(?:functions\.)?`
	// callHead is the number of bytes from a call's begin within which its tool is named.
	callHead = 160
)

var (
	callObject = regexp.MustCompile(`(?:\[\s*)*\{\{?\s*["']?\w+["']?\s*:`)
	callEnd    = regexp.MustCompile("\\s*(?:</|```|<\\||\n\\{|$)")
	framed     = regexp.MustCompile("(?:" + callFrame + ")+$")
	// named is a frame and the name of a tool in front of its arguments.
	named = regexp.MustCompile("(?:" + callFrame + ")+" + beforeName + `(\w+)(?::\d+)?\s*(?:json\s*|` + callFrame + ")*$")
	// taggedCall is a call of Qwen3-Coder, of MiniMax, or of GLM.
	taggedCall = regexp.MustCompile(`(?s)<(?:function=|invoke name=|tool_call>\s*)["']?([\w.-]+)["']?>?\s*(|<.*?|\{.*?)</(?:function|invoke|tool_call)>`)
	parameter  = regexp.MustCompile(`(?s)<(?:parameter(?:=| name=)|arg_key>)["']?([\w.-]+)["']?(?:>|</arg_key>\s*<arg_value>)\n?(.*?)\n?</(?:parameter|arg_value)>`)

	startsCall = regexp.MustCompile("^(?:" + callFrame + `|[\[\s]*\{|<(?:function=|invoke ))`)
	// unfinished is a text that may become a call.
	unfinished = regexp.MustCompile("(?s)^(?:" + callFrame + ")*(?:|`{1,3}\\w*|</?[\\w|/=｜▁: \"'-]{0,40}|\\[/?[A-Z_]{0,20}|" +
		`\[\s*|[\[\s]*\{\{?\s*["']?(?:\w*|(?:name|tool|tool_name|function|type|action|tool_calls?|arguments|parameters)["']?\s*(?::.{0,160})?)` + ")$")
	// inFrame is a text behind a frame that may become the name of a tool, with further frames.
	inFrame = regexp.MustCompile("^" + callFrame + `(?:\w+ (?:to?=?)?)?(?:\w[\w.:]*)?\s*(?:[<\[` + "`" + `][\w|｜▁>\]` + "`" + `-]*\s*(?:\w[\w.:]*)?\s*)*$`)
)

// Printed returns the calls of the named tools that an assistant printed as text, with their
// arguments as JSON, and the text in front of them. It drops the text behind, which was said
// before the tool answered. Calls of other tools are text, and calls in a thought are left
// out. Unreadable JSON with the name of a tool is dropped: it is neither a call nor speech.
func Printed(s string, tools []string) (calls []schema.FunctionCall, said string) {
	if !namesAny(s, tools) {
		return nil, s
	}
	text, first := taggedCall.ReplaceAllStringFunc(s, plainCall), -1
	for at := 0; ; {
		next := callObject.FindStringIndex(text[at:])
		if next == nil {
			break
		}
		start, begin := at+next[0], at+next[0]
		v, length := printedValue(text[start:])
		found := callsIn(v, tools)
		head := text[max(at, start-callHead):start]
		if m := named.FindStringSubmatchIndex(head); m != nil && len(found) == 0 && slices.Contains(tools, head[m[2]:m[3]]) {
			if begin -= len(head) - m[0]; v != nil {
				found = []schema.FunctionCall{callOf(head[m[2]:m[3]], v)}
			}
		}
		if at += next[1]; len(found) == 0 && begin == start && (v != nil || !namesAny(text[start:start+length], tools)) || inThought(text, start) {
			continue
		}
		calls, at = append(calls, found...), start+length
		if first < 0 {
			first = begin
		}
	}
	if first < 0 {
		return nil, s
	}
	if said = strings.TrimSpace(framed.ReplaceAllString(text[:first], "")); !says(said) {
		said = ""
	}
	return calls, said
}

// says reports whether a text has a letter or a number: marks before a call, such as "<", are part of it.
func says(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func namesAny(s string, tools []string) bool {
	return slices.ContainsFunc(tools, func(name string) bool { return strings.Contains(s, name) })
}

func inThought(s string, at int) bool {
	return slices.ContainsFunc(einox.Asides(s), func(a [2]int) bool {
		return a[0] <= at && at < a[1] && !strings.HasPrefix(s[a[0]:], "<tool_call")
	})
}

// plainCall returns a call in tags as JSON.
func plainCall(s string) string {
	arguments, call := map[string]any{}, taggedCall.FindStringSubmatch(s)
	for _, p := range parameter.FindAllStringSubmatch(call[2], -1) {
		var v any = p[2]
		_ = json.Unmarshal([]byte(p[2]), &v) // else it is a text
		arguments[p[1]] = v
	}
	if len(arguments) == 0 {
		return `{"name":"` + call[1] + `","arguments":` + cmp.Or(call[2], "{}") + `}`
	}
	b, _ := json.Marshal(map[string]any{"name": call[1], "arguments": arguments}) // texts, and decoded JSON
	return string(b)
}

// printedValue returns the JSON at the begin of a text, and its length; nil if it is unreadable.
// Small models lose count of its braces.
func printedValue(s string) (v any, length int) {
	d := json.NewDecoder(strings.NewReader(s))
	if d.Decode(&v) == nil {
		return v, int(d.InputOffset())
	}
	length = callEnd.FindStringIndex(s)[0]
	for _, missing := range []string{"", "}", "}}"} {
		if v, err := Parse(s[:length] + missing); err == nil {
			return v, length
		}
	}
	return nil, length
}

// callsIn returns the calls in a value.
func callsIn(v any, tools []string) (out []schema.FunctionCall) {
	m, _ := v.(map[string]any)
	for _, key := range []string{"name", "tool", "tool_name", "function", "action"} {
		if name, _ := m[key].(string); slices.Contains(tools, name) {
			return []schema.FunctionCall{callOf(name, argumentsOf(m))}
		}
	}
	for _, child := range Inside(v) {
		if slices.Contains(tools, child.Name) {
			out = append(out, callOf(child.Name, child.Value))
		} else {
			out = append(out, callsIn(child.Value, tools)...)
		}
	}
	return out
}

func argumentsOf(call map[string]any) any {
	for _, key := range []string{"arguments", "parameters", "args", "input", "action_input"} {
		if v := call[key]; v != nil {
			return Parsed(v)
		}
	}
	return map[string]any{}
}

func callOf(name string, arguments any) schema.FunctionCall {
	b, _ := json.Marshal(arguments) // was decoded from JSON
	return schema.FunctionCall{Name: name, Arguments: string(b)}
}

// MayPrint returns where a printed call of one of the tools may begin in an unfinished text, of
// which so many bytes are shown; its length if it cannot. Marks that open a text belong to the call.
func MayPrint(s string, shown int, tools []string) int {
	for i := range s[shown:] {
		at := shown + i
		if strings.IndexByte("`<[{", s[at]) >= 0 && (unfinished.MatchString(s[at:]) || len(s)-at < callHead && inFrame.MatchString(s[at:]) ||
			startsCall.MatchString(s[at:]) && namesAny(s[at:min(len(s), at+callHead)], tools)) {
			s = s[:at]
			break
		}
	}
	if shown == 0 && !says(s) {
		return 0
	}
	return len(s)
}
