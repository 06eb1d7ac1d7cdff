// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// paired returns the messages of a turn in an order that providers accept: behind
// an assistant's calls their results, each once. A result that is missing is made
// up, and says so; one whose call is not there is told by a user's message.
func (s *Service) paired(turn []store.Entry) []*schema.Message {
	out := make([]*schema.Message, 0, len(turn))
	used := make([]bool, len(turn))
	for i := range turn {
		m := turn[i].Message.Message
		switch {
		case used[i]:
		case m.Role == schema.Tool:
			out = append(out, s.orphan(&turn[i]))
		default:
			out = append(out, marked(&turn[i]))
			for _, call := range m.ToolCalls {
				if j := resultOf(call.ID, turn, i, used); j >= 0 {
					used[j] = true
					out = append(out, marked(&turn[j]))
				} else {
					out = append(out, s.missing(&turn[i], &call))
				}
			}
		}
	}
	return out
}

// resultOf returns where the result of a call is that the message at i makes, or
// -1. A later call of the same id has results of its own.
func resultOf(id string, turn []store.Entry, i int, used []bool) int {
	for j := i + 1; j < len(turn); j++ {
		m := turn[j].Message.Message
		if m.Role == schema.Tool && m.ToolCallID == id && !used[j] {
			return j
		}
		for k := range m.ToolCalls {
			if m.ToolCalls[k].ID == id {
				return -1
			}
		}
	}
	return -1
}

// marked returns the message of an entry with the marks of where it stands.
func marked(e *store.Entry) *schema.Message {
	m := einox.MarkTurn(einox.MarkSeq(e.Message.Message, e.Seq), e.Turn)
	if i, ok := indexOf(e); ok {
		m = einox.MarkIndex(m, i)
	}
	return m
}

// missing returns what stands in for the result that a call did not get.
func (s *Service) missing(e *store.Entry, call *schema.ToolCall) *schema.Message {
	m := schema.ToolMessage(s.words.missing, call.ID, schema.WithToolName(call.Function.Name))
	return einox.MarkTurn(m, e.Turn)
}
