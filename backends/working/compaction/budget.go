// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// OverError is returned for a context that exceeds its budget, and says by how much.
type OverError struct {
	Tokens int // of the context
	Limit  int // the most that it may have
}

// Error gives the excess in tokens, and the remedy.
func (e *OverError) Error() string {
	return fmt.Sprintf("context over budget: %d tokens, %d more than the %d that fit: shorten the last message or the system prompt, or raise the window",
		e.Tokens, e.Tokens-e.Limit, e.Limit)
}

// Budget divides a model's context window. The conversation gets all that is left of it.
type Budget struct {
	// Window is the model's context window in tokens: input and answer together.
	// Required.
	Window int
	// Answer is reserved for the model's answer. Optional. Defaults to an eighth of
	// Window, at most 8192; negative reserves nothing.
	Answer int
	// Tools is reserved for the definitions of the agent's tools, which Eino hides from hooks.
	// Count them with [CountTools]. Optional. Defaults to a sixteenth of Window, at most 4096;
	// negative reserves nothing.
	Tools int
	// Memories is the part of the conversation's share that a prompt of package window may give
	// to the hits of a search. Optional. Defaults to a sixteenth of Window, at most 2048;
	// negative gives nothing.
	Memories int
	// Counter counts tokens. Optional. Defaults to [Estimate].
	Counter Counter
}

// WithDefaults returns a budget with all fields set. It returns backends.ErrInvalid where Window
// is missing, or where the conversation's share is zero or less.
func (b Budget) WithDefaults() (Budget, error) {
	if b.Window <= 0 {
		return b, fmt.Errorf("budget: %w: Window is %d: give the model's context window in tokens", backends.ErrInvalid, b.Window)
	}
	b.Answer = reserve(b.Answer, b.Window/8, 8192)
	b.Tools = reserve(b.Tools, b.Window/16, 4096)
	b.Memories = reserve(b.Memories, b.Window/16, 2048)
	work.Default(&b.Counter, Estimate)
	if max(b.Answer, b.Tools, b.Memories) >= b.Window || b.Limit() <= 0 {
		return b, fmt.Errorf("budget: %w: Window %d leaves nothing beside Answer %d, Tools %d and Memories %d",
			backends.ErrInvalid, b.Window, b.Answer, b.Tools, b.Memories)
	}
	return b, nil
}

// reserve returns given, or share up to limit where given is 0. Nothing stays negative, so that
// filling in the defaults again keeps it.
func reserve(given, share, limit int) int {
	if given == 0 {
		return min(share, limit)
	}
	return max(given, -1)
}

// Limit is how many tokens the conversation may have.
func (b Budget) Limit() int { return b.Window - max(b.Answer, 0) - max(b.Tools, 0) }

// Usage is how full a context is.
type Usage struct {
	Tokens int // of the conversation and of memory's messages
	Limit  int // the most that it may have, see [Budget.Limit]
}

// Percent returns the used share of the limit: 100 is full.
func (u Usage) Percent() float64 { return 100 * float64(u.Tokens) / float64(max(u.Limit, 1)) }

// Over returns the tokens above the limit: negative where there is room.
func (u Usage) Over() int { return u.Tokens - u.Limit }

// Usage counts a context. Nil messages count 0.
func (b Budget) Usage(messages []*schema.Message) Usage {
	work.Default(&b.Counter, Estimate)
	u := Usage{Limit: b.Limit()}
	for _, m := range messages {
		u.Tokens += b.Counter.Message(m)
	}
	return u
}

// Counter counts the tokens of a text as a model does. It must be safe for concurrent use. A
// longer text must count at least as much.
type Counter func(text string) int

// toolTokens is the protocol's share of the definition of a tool.
const toolTokens = 12

// Estimate counts offline, independently of any model's vocabulary. It errs on the high side by
// a few percent for English, and more for other scripts. A budget that must be used to the last
// token needs the model's own tokenizer.
var Estimate Counter = text.Tokens

// Message counts a message as it goes to the provider: its texts, reasoning, tool calls, media,
// and the protocol's share. A nil message counts 0.
func (c Counter) Message(m *schema.Message) int { return einox.Tokens(m, c) }

// CountTools estimates the tokens of tool definitions, for [Budget].Tools. A schema that JSON
// rejects counts 0.
func CountTools(tools []*schema.ToolInfo) int {
	n := 0
	for _, t := range tools {
		if t == nil {
			continue
		}
		n += toolTokens + Estimate(t.Name) + Estimate(t.Desc)
		if s, err := t.ToJSONSchema(); err == nil && s != nil {
			arguments, _ := json.Marshal(s) // a failure counts 0
			n += Estimate(string(arguments))
		}
	}
	return n
}
