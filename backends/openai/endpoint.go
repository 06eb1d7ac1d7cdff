// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// endpoint is what the process has learnt of one model at one address from what it refused.
// It is safe for concurrent use.
type endpoint struct {
	name string // for reports

	mu      sync.Mutex
	adapted []string // names of adaptations
	batch   int      // how many texts it embeds at a time at most; 0 is not known
}

// endpoints are those of the process, by their names.
var endpoints sync.Map

func endpointOf(baseURL, model string) *endpoint {
	name := fmt.Sprintf("%s at %s", model, baseURL)
	e, _ := endpoints.LoadOrStore(name, &endpoint{name: name})
	return e.(*endpoint)
}

// adapts says that an adaptation is needed, and whether that is news.
func (e *endpoint) adapts(name string) (news bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Contains(e.adapted, name) {
		return false
	}
	e.adapted = append(e.adapted, name)
	return true
}

// names returns the adaptations that were learnt, in the order of the table.
func (e *endpoint) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.adapted)
}

// size returns how many texts go into a request, of so many at most.
func (e *endpoint) size(most int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batch == 0 {
		return most
	}
	return min(most, e.batch)
}

// takes says how many texts are taken at a time, and whether that is news.
func (e *endpoint) takes(texts int) (news bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batch != 0 && e.batch <= texts {
		return false
	}
	e.batch = texts
	return true
}

// body is a request of chat as it goes over the wire.
type body map[string]json.RawMessage

// adaptation is one way in which a request is said otherwise.
type adaptation struct {
	name    string         // in Config.Adapt and in reports
	refusal *regexp.Regexp // how services ask for it
	apply   func(body) bool
}

// The words by which services refuse a field that they do not know, or not in this place.
const refuses = `(?:unsupported|not support|unrecognized|unknown|extra_forbidden|extra inputs|not permitted|not allowed|unexpected)`

// refusesField finds the refusal of a field, whichever is named first.
func refusesField(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?is)\b` + name + `\b.{0,200}` + refuses + `|` + refuses + `.{0,200}\b` + name + `\b`)
}

// adaptations are all that are known, in the order in which they are applied.
var adaptations = []adaptation{
	{"max_completion_tokens", regexp.MustCompile(`(?i)use \W*max_completion_tokens|\bmax_tokens\W+is not supported`), rename("max_tokens", "max_completion_tokens")},
	{"max_tokens", regexp.MustCompile(`(?i)` + refuses + `[^.]{0,80}max_completion_tokens|max_completion_tokens\W+extra inputs`), rename("max_completion_tokens", "max_tokens")},
	{"no_temperature", refusesField("temperature"), drop("temperature")},
	{"no_top_p", refusesField("top_p"), drop("top_p")},
	{"no_stop", refusesField("stop"), drop("stop")},
	{"no_stream_options", refusesField("stream_options"), drop("stream_options")},
	{"no_names", regexp.MustCompile(`(?i)messages\W+\d+\W+(?:\w+\W+)?name\b|property 'name' is unsupported`), dropOfMessages("name")},
	{"no_reasoning", refusesField("reasoning_content"), dropOfMessages("reasoning_content")},
	{"reasoning", regexp.MustCompile(`(?i)reasoning_content.{0,60}(?:must be passed|missing|required)|missing \W*reasoning_content`), addReasoning},
	{"no_system", regexp.MustCompile(`(?i)system role not supported|system messages? (?:must|should|is not|are not)|not support (?:the )?system|developer instruction is not enabled`), mergeSystem},
	{"alternate", regexp.MustCompile(`(?i)roles? must alternate|should alternate with|alternat\w* (?:user|roles|between)|(?:successive|consecutive) (?:user|assistant|messages)`), alternate},
}

// rename sends a field by another name.
func rename(from, to string) func(body) bool {
	return func(b body) bool {
		value, ok := b[from]
		if ok {
			delete(b, from)
			b[to] = value
		}
		return ok
	}
}

// drop sends a request without a field.
func drop(name string) func(body) bool {
	return func(b body) bool {
		_, ok := b[name]
		delete(b, name)
		return ok
	}
}

// message is one of the messages of a body.
type message map[string]any

// eachMessage changes the messages of a body: change returns them, and whether they differ.
func eachMessage(b body, change func([]message) ([]message, bool)) bool {
	var messages []message
	if json.Unmarshal(b["messages"], &messages) != nil {
		return false
	}
	messages, changed := change(messages)
	if changed {
		b["messages"], _ = json.Marshal(messages) // was JSON
	}
	return changed
}

func dropOfMessages(name string) func(body) bool {
	return func(b body) bool {
		return eachMessage(b, func(all []message) (_ []message, changed bool) {
			for _, m := range all {
				_, has := m[name]
				changed = changed || has
				delete(m, name)
			}
			return all, changed
		})
	}
}

// addReasoning gives calls of tools whose thoughts are not known an empty thought.
func addReasoning(b body) bool {
	return eachMessage(b, func(all []message) (_ []message, changed bool) {
		for _, m := range all {
			if m["tool_calls"] != nil && m["reasoning_content"] == nil {
				m["reasoning_content"], changed = "", true
			}
		}
		return all, changed
	})
}

// mergeSystem sends what the system says as a part of what the user says.
func mergeSystem(b body) bool {
	changed := eachMessage(b, func(all []message) (_ []message, changed bool) {
		for _, m := range all {
			if m["role"] == "system" {
				m["role"], changed = "user", true
			}
		}
		return all, changed
	})
	return alternate(b) || changed
}

// alternate joins messages of the same role that follow one another.
func alternate(b body) bool {
	return eachMessage(b, func(all []message) (out []message, changed bool) {
		for _, m := range all {
			n := len(out) - 1
			if n < 0 || m["role"] == "tool" || m["role"] != out[n]["role"] || m["tool_calls"] != nil || out[n]["tool_calls"] != nil {
				out = append(out, m)
				continue
			}
			out[n]["content"], changed = join(out[n]["content"], m["content"]), true
		}
		return out, changed
	})
}

// join joins two contents, each of which is a text or a list of parts.
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

// limits find how many texts an endpoint embeds at a time, in its refusal of more.
var (
	limits = regexp.MustCompile(`(?i)(?:larger than|at most|maximum|max|up to|exceeds?|limit|only)\D{0,60}(\d+)`)
	single = regexp.MustCompile(`(?i)\b(?:only one|single)\b`)
)

// smaller returns how many texts are tried after so many were refused: as many as the refusal
// says, else a quarter.
func smaller(n int, refusal string) int {
	for _, found := range limits.FindAllStringSubmatch(refusal, -1) {
		if limit, err := strconv.Atoi(found[1]); err == nil && limit > 0 && limit < n {
			return limit
		}
	}
	if single.MatchString(refusal) {
		return 1
	}
	return max(n/4, 1)
}
