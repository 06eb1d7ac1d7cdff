// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"regexp"
	"sync"
)

// endpoints are the process's knowledge from refusals: the names of adaptations in a
// sync.Map, by model and address.
var endpoints sync.Map

func endpointOf(name string) *sync.Map {
	e, _ := endpoints.LoadOrStore(name, &sync.Map{})
	return e.(*sync.Map)
}

// body is a request as it goes over the wire.
type body map[string]json.RawMessage

// adaptation is one way to change the form of a request.
type adaptation struct {
	name    string         // in Config.Adapt and in reports
	refusal *regexp.Regexp // how services ask for it
	apply   func(body) (changed bool)
}

// adaptations are all known ones, in the order in which they are applied.
var adaptations = []adaptation{
	{"max_completion_tokens", regexp.MustCompile(`(?i)use \W*max_completion_tokens|\bmax_tokens\W+is not supported`), rename("max_tokens", "max_completion_tokens")},
	{"max_tokens", regexp.MustCompile(`(?i)` + refuses + `[^.]{0,80}max_completion_tokens|max_completion_tokens\W+extra inputs`), rename("max_completion_tokens", "max_tokens")},
	{"no_temperature", refusesField("temperature"), drop[body]("temperature")},
	{"no_top_p", refusesField("top_p"), drop[body]("top_p")},
	{"no_stop", refusesField("stop"), drop[body]("stop")},
	{"no_stream_options", refusesField("stream_options"), drop[body]("stream_options")},
	{"no_names", regexp.MustCompile(`(?i)messages\W+\d+\W+(?:\w+\W+)?name\b|property 'name' is unsupported`), ofMessages(drop[message]("name"))},
	{"no_reasoning", refusesField("reasoning_content"), ofMessages(drop[message]("reasoning_content"))},
	{"reasoning", regexp.MustCompile(`(?i)reasoning_content.{0,60}(?:must be passed|missing|required)|missing \W*reasoning_content`), ofMessages(emptyThought)},
	{"no_system", regexp.MustCompile(`(?i)system role not supported|system messages? (?:must|should|is not|are not)|not support (?:the )?system|developer instruction is not enabled`), ofMessages(asUser)},
	{"alternate", regexp.MustCompile(`(?i)roles? must alternate|should alternate with|alternat\w* (?:user|roles|between)|(?:successive|consecutive) (?:user|assistant|messages)`), alternate},
}

// refuses are the words by which services refuse an unknown or misplaced field.
const refuses = `(?:unsupported|not support|unrecognized|unknown|extra_forbidden|extra inputs|not permitted|not allowed|unexpected)`

// refusesField matches the refusal of a field, before or behind its name.
func refusesField(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?is)\b` + name + `\b.{0,200}` + refuses + `|` + refuses + `.{0,200}\b` + name + `\b`)
}

// rename sends a field by another name.
func rename(from, to string) func(body) bool {
	return func(b body) bool {
		value, ok := b[from]
		if ok {
			b[to] = value
		}
		return drop[body](from)(b)
	}
}

// message is one of the messages of a body.
type message map[string]any

// ofMessages changes each message.
func ofMessages(change func(message) bool) func(body) bool {
	return func(b body) (changed bool) {
		var all []message
		_ = json.Unmarshal(b["messages"], &all) // a request for embeddings has none
		for _, m := range all {
			changed = change(m) || changed
		}
		if changed {
			b["messages"], _ = json.Marshal(all) // decoded from JSON
		}
		return changed
	}
}

// drop sends a request, or a message of it, without a field.
func drop[M ~map[string]V, V any](name string) func(M) bool {
	return func(m M) bool {
		_, ok := m[name]
		delete(m, name)
		return ok
	}
}

// emptyThought gives tool calls whose thoughts are unknown an empty one.
func emptyThought(m message) bool {
	lacks := m["tool_calls"] != nil && m["reasoning_content"] == nil
	if lacks {
		m["reasoning_content"] = ""
	}
	return lacks
}

// asUser turns a message of the system into one of the user.
func asUser(m message) bool {
	is := m["role"] == "system"
	if is {
		m["role"] = "user"
	}
	return is
}

// alternate joins consecutive messages of the same role.
func alternate(b body) bool {
	var all, out []message
	_ = json.Unmarshal(b["messages"], &all)
	for _, m := range all {
		n := len(out) - 1
		if n < 0 || m["role"] == "tool" || m["role"] != out[n]["role"] || m["tool_calls"] != nil || out[n]["tool_calls"] != nil {
			out = append(out, m)
			continue
		}
		out[n]["content"] = join(out[n]["content"], m["content"])
	}
	if len(out) == len(all) {
		return false
	}
	b["messages"], _ = json.Marshal(out) // decoded from JSON
	return true
}

// join joins two contents; each is a text or a list of parts.
func join(a, b any) any {
	s, isText := a.(string)
	t, areTexts := b.(string)
	if isText && areTexts {
		return s + "\n\n" + t
	}
	return append(parts(a), parts(b)...)
}

func parts(content any) []any {
	if list, ok := content.([]any); ok {
		return list
	}
	return []any{message{"type": "text", "text": content}}
}
