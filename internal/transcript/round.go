// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// round makes a user's message up, and what answers it. The last round may still
// be running: its end is then the user's message, or the results of tools.
func (w *writer) round(r int, last bool) []*schema.Message {
	var out []*schema.Message
	if !w.shape.Plain && oneIn(w.src, 4) {
		note := schema.UserMessage("<memories>\n" + w.texts.short() + "\n</memories>")
		einox.MarkNote(note)
		out = append(out, note)
	}
	out = append(out, w.user())
	for e := range w.src.IntN(w.shape.Exchanges + 1) {
		out = append(out, w.exchange(r, e)...)
	}
	if last && w.src.IntN(4) > 0 {
		return out
	}
	return append(out, w.answer())
}

func (w *writer) user() *schema.Message {
	if w.shape.Plain || !oneIn(w.src, 6) {
		return schema.UserMessage(w.text())
	}
	m := &schema.Message{Role: schema.User, Name: "ann"}
	if oneIn(w.src, 3) {
		m.MultiContent = oldParts(w.texts.short())
	} else {
		m.UserInputMultiContent = userParts(w.texts.short(), w.texts.short())
	}
	return m
}

func (w *writer) answer() *schema.Message {
	if !w.shape.Plain && oneIn(w.src, 8) {
		return &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: assistantParts(w.texts.short())}
	}
	m := schema.AssistantMessage(w.text(), nil)
	w.think(m)
	return m
}

// think gives a message what a provider adds to it.
func (w *writer) think(m *schema.Message) {
	if w.shape.Plain || !oneIn(w.src, 3) {
		return
	}
	m.ReasoningContent = w.texts.short()
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop"}
}

// exchange makes calls up, and their results in any order.
func (w *writer) exchange(r, e int) []*schema.Message {
	n := 1
	if w.shape.Calls > 1 && w.src.IntN(2) > 0 {
		n += w.src.IntN(w.shape.Calls)
		n = min(n, w.shape.Calls)
	}
	m := schema.AssistantMessage("", nil)
	if w.src.IntN(2) > 0 {
		m.Content = w.texts.short()
	}
	w.think(m)
	results := make([]*schema.Message, n)
	for c := range n {
		call := w.call(r, e, c)
		m.ToolCalls = append(m.ToolCalls, call)
		results[c] = schema.ToolMessage(w.result(), call.ID, schema.WithToolName(call.Function.Name))
	}
	shuffle(w.src, results)
	return append([]*schema.Message{m}, results...)
}

// tools are made-up tools. The last is an agent, whose result is a tale of what it
// did.
var tools = []string{"search", "read_file", "run_shell", "query_weather", "research_agent"}

func (w *writer) call(r, e, c int) schema.ToolCall {
	name := tools[w.src.IntN(len(tools))]
	id := fmt.Sprintf("call_%d_%d_%d", r, e, c)
	switch w.ids {
	case 1:
		id = fmt.Sprintf("call_%d", c)
	case 2:
		id = fmt.Sprintf("%s-%d", name, c)
	}
	arguments, _ := json.Marshal(map[string]string{"request": w.texts.short()})
	if w.src.IntN(4) == 0 {
		arguments = []byte("{}")
	}
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(arguments)}}
}

func (w *writer) result() string {
	switch w.src.IntN(8) {
	case 0:
		return ""
	case 1, 2:
		return w.texts.long(w.shape.Tokens)
	}
	return w.text()
}

// text is short, seldom long.
func (w *writer) text() string {
	switch w.src.IntN(12) {
	case 10:
		return w.texts.long(w.shape.Tokens / 8)
	case 11:
		return w.texts.long(w.shape.Tokens)
	}
	return w.texts.short()
}

func shuffle[T any](s Source, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := i - s.IntN(i+1)
		list[i], list[j] = list[j], list[i]
	}
}
