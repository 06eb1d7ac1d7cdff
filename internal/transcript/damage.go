// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"

	"github.com/cloudwego/eino/schema"
)

// damage breaks some rounds, as interrupted runs, lost writes and careless callers do.
func (w *writer) damage(round []*schema.Message) []*schema.Message {
	anywhere := func(m *schema.Message) []*schema.Message {
		return slices.Insert(round, w.src.IntN(len(round)+1), m)
	}
	calls, called := w.any(round, func(m *schema.Message) bool { return len(m.ToolCalls) > 0 })
	result, answered := w.any(round, func(m *schema.Message) bool { return m.Role == schema.Tool })
	switch n := w.src.IntN(12); {
	case n == 3 && called: // the round ends after calls, of which some may be answered
		return round[:calls+1+w.src.IntN(len(round[calls].ToolCalls))]
	case n == 4 && answered: // a result is lost
		return slices.Delete(round, result, result+1)
	case n == 5 && answered: // a result comes twice, the second time another
		again := *round[result]
		again.Content = w.short()
		return slices.Insert(round, result+1, &again)
	case n == 6 && answered: // a result comes late
		late := round[result]
		return append(slices.Delete(round, result, result+1), late)
	case n == 7 && called: // the calls of a message share an id, or have none
		id := []string{"same", ""}[w.src.IntN(2)]
		for c := range round[calls].ToolCalls {
			round[calls].ToolCalls[c].ID = id
		}
		for i := calls + 1; i < len(round) && round[i].Role == schema.Tool; i++ {
			round[i].ToolCallID = id
		}
	case n == 8:
		return anywhere(schema.ToolMessage(w.short(), "call_without_message", schema.WithToolName("search")))
	case n == 9: // a message without content
		thought := schema.AssistantMessage("", nil)
		thought.ReasoningContent = w.short()
		empty := []*schema.Message{thought, nil, schema.UserMessage(""), schema.AssistantMessage(" \n", nil), schema.SystemMessage("")}
		return anywhere(empty[w.src.IntN(len(empty))])
	case n == 10:
		return append(round, &schema.Message{Role: "function", Content: w.short()})
	case n == 11: // the assistant begins
		return append([]*schema.Message{schema.AssistantMessage(w.short(), nil)}, round...)
	}
	return round
}

// any returns the place of one of the messages that are so, by chance.
func (w *writer) any(round []*schema.Message, is func(*schema.Message) bool) (at int, ok bool) {
	var all []int
	for i, m := range round {
		if is(m) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[w.src.IntN(len(all))], true
}
