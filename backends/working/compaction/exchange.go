// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"github.com/cloudwego/eino/schema"
)

// exchange is what stays together when a context is cut: an assistant's message
// with the results of its calls, or one message of any other sort.
type exchange struct {
	from, to int // the messages [from, to)
}

// exchanges divides the messages [from, to), which are in order as [repair] leaves
// them.
func exchanges(messages []*schema.Message, from, to int) []exchange {
	var out []exchange
	for i := from; i < to; {
		end := i + 1
		if len(messages[i].ToolCalls) > 0 {
			for end < to && messages[end].Role == schema.Tool {
				end++
			}
		}
		out = append(out, exchange{from: i, to: end})
		i = end
	}
	return out
}

// callOf returns the call that message i, a tool's, answers, or nil.
func callOf(messages []*schema.Message, i int) *schema.ToolCall {
	id := messages[i].ToolCallID
	for i--; i >= 0 && messages[i].Role == schema.Tool; i-- {
	}
	if i < 0 {
		return nil
	}
	for n := range messages[i].ToolCalls {
		if messages[i].ToolCalls[n].ID == id {
			return &messages[i].ToolCalls[n]
		}
	}
	return nil
}
