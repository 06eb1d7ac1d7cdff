// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"github.com/cloudwego/eino/schema"
)

// Task makes up the long work of an agent with tools: turns of a user's message, up to
// three exchanges, and an answer. Six in ten tool results have 100 to 500 tokens, three
// in ten up to 3,000, and one in ten up to 12,000: the pages, listings and logs that
// agents read.
func Task(src Source, turns int) [][]*schema.Message {
	w := newWriter(src)
	out := make([][]*schema.Message, turns)
	for t := range out {
		out[t] = append(out[t], schema.UserMessage(w.write(1+src(4), prose)))
		for e := range src(4) {
			out[t] = append(out[t], w.work(t, e)...)
		}
		out[t] = append(out[t], schema.AssistantMessage(w.write(3+src(15), prose), nil))
	}
	return out
}

// work is one exchange of a task: one call, seldom more.
func (w *writer) work(t, e int) []*schema.Message {
	n := 1
	if oneIn(w.src, 4) {
		n += 1 + w.src(2)
	}
	m := schema.AssistantMessage(w.write(1, prose), nil)
	results := make([]*schema.Message, n)
	for c := range n {
		call := w.call(t, e, c)
		m.ToolCalls = append(m.ToolCalls, call)
		tokens := 100 + w.src(400)
		switch w.src(10) {
		case 6, 7, 8:
			tokens = 500 + w.src(2500)
		case 9:
			tokens = 3000 + w.src(9000)
		}
		results[c] = schema.ToolMessage(w.sized(tokens, lines), call.ID, schema.WithToolName(call.Function.Name))
	}
	return append([]*schema.Message{m}, results...)
}
