// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"

	"github.com/cloudwego/eino/schema"
)

// damage breaks rounds as interrupted runs, lost writes and careless callers do.
func (w *writer) damage() {
	if oneIn(w.src, 12) { // an assistant that speaks first
		w.rounds[0] = append([]*schema.Message{schema.AssistantMessage(w.texts.short(), nil)}, w.rounds[0]...)
	}
	for r := range w.rounds {
		switch w.src.IntN(11) {
		case 3:
			w.rounds[r] = w.interrupt(w.rounds[r])
		case 4:
			w.rounds[r] = w.lose(w.rounds[r])
		case 5:
			orphan := schema.ToolMessage(w.texts.short(), "call_of_nobody", schema.WithToolName("search"))
			w.rounds[r] = slices.Insert(w.rounds[r], w.src.IntN(len(w.rounds[r])+1), orphan)
		case 6:
			w.rounds[r] = w.repeat(w.rounds[r])
		case 7:
			w.rounds[r] = w.misplace(w.rounds[r])
		case 8:
			w.rounds[r] = w.blank(w.rounds[r])
		case 9:
			w.rounds[r] = w.blur(w.rounds[r])
		case 10:
			w.rounds[r] = append(w.rounds[r], &schema.Message{Role: "function", Content: w.texts.short()})
		}
	}
}

// interrupt ends a round after calls, of which some may be answered.
func (w *writer) interrupt(round []*schema.Message) []*schema.Message {
	at := places(round, func(m *schema.Message) bool { return len(m.ToolCalls) > 0 })
	if len(at) == 0 {
		return round
	}
	i := at[w.src.IntN(len(at))]
	return round[:i+1+w.src.IntN(len(round[i].ToolCalls))]
}

// lose takes one result away.
func (w *writer) lose(round []*schema.Message) []*schema.Message {
	if i, ok := w.anyResult(round); ok {
		return slices.Delete(round, i, i+1)
	}
	return round
}

// repeat gives a result twice, the second time another.
func (w *writer) repeat(round []*schema.Message) []*schema.Message {
	i, ok := w.anyResult(round)
	if !ok {
		return round
	}
	again := *round[i]
	again.Content = w.texts.short()
	return slices.Insert(round, i+1, &again)
}

// misplace moves a result to the end of its round.
func (w *writer) misplace(round []*schema.Message) []*schema.Message {
	if i, ok := w.anyResult(round); ok {
		late := round[i]
		return append(slices.Delete(round, i, i+1), late)
	}
	return round
}

// blank puts a message in that says nothing to a provider.
func (w *writer) blank(round []*schema.Message) []*schema.Message {
	thought := schema.AssistantMessage("", nil)
	thought.ReasoningContent = w.texts.short()
	nothing := []*schema.Message{thought, nil, schema.UserMessage(""), schema.AssistantMessage(" \n", nil), schema.SystemMessage("")}
	return slices.Insert(round, w.src.IntN(len(round)+1), nothing[w.src.IntN(len(nothing))])
}

// blur takes from calls of one message what tells them apart.
func (w *writer) blur(round []*schema.Message) []*schema.Message {
	id := []string{"same", ""}[w.src.IntN(2)]
	for i, m := range round {
		if m == nil || len(m.ToolCalls) < 2 {
			continue
		}
		for n := range m.ToolCalls {
			m.ToolCalls[n].ID = id
		}
		for i++; i < len(round) && round[i].Role == schema.Tool; i++ {
			round[i].ToolCallID = id
		}
		break
	}
	return round
}

func (w *writer) anyResult(round []*schema.Message) (int, bool) {
	at := places(round, func(m *schema.Message) bool { return m.Role == schema.Tool })
	if len(at) == 0 {
		return 0, false
	}
	return at[w.src.IntN(len(at))], true
}

func places(round []*schema.Message, is func(*schema.Message) bool) []int {
	var at []int
	for i, m := range round {
		if is(m) {
			at = append(at, i)
		}
	}
	return at
}
