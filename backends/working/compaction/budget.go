// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// OverError is returned for a context that does not fit its budget, and says by how much.
type OverError struct {
	Tokens int // of the context
	Limit  int // what it may have
}

// Error says by how many tokens, and what to do.
func (e *OverError) Error() string {
	return fmt.Sprintf("context over budget: %d tokens, %d more than the %d that fit: shorten the last message or the system prompt, or raise the window",
		e.Tokens, e.Tokens-e.Limit, e.Limit)
}

// Budget divides a model's context window. What is not reserved belongs to the
// conversation.
type Budget struct {
	// Window is the model's context window in tokens: input and answer together.
	// Required.
	Window int
	// Answer is reserved for the model's answer. Optional. Defaults to an eighth of
	// Window, at most 8192; negative reserves nothing.
	Answer int
	// Tools is reserved for the definitions of the agent's tools, which no hook of
	// Eino shows. Count them with [CountTools]. Optional. Defaults to a sixteenth of
	// Window, at most 4096; negative reserves nothing.
	Tools int
	// Memories is how much of the conversation's share a prompt of package window may
	// give to what a search found. Optional. Defaults to a sixteenth of Window, at most
	// 2048; negative gives nothing.
	Memories int
	// Counter counts tokens. Optional. Defaults to [Estimate].
	Counter Counter
}

// WithDefaults returns a budget whose fields are all set. One without a window, or of
// which nothing is left for the conversation, is backends.ErrInvalid.
func (b Budget) WithDefaults() (Budget, error) {
	if b.Window <= 0 {
		return b, fmt.Errorf("budget: %w: Window is %d: give the model's context window in tokens", backends.ErrInvalid, b.Window)
	}
	b.Answer = reserve(b.Answer, b.Window/8, 8192)
	b.Tools = reserve(b.Tools, b.Window/16, 4096)
	b.Memories = reserve(b.Memories, b.Window/16, 2048)
	config.Default(&b.Counter, Estimate)
	if max(b.Answer, b.Tools, b.Memories) >= b.Window || b.Limit() <= 0 {
		return b, fmt.Errorf("budget: %w: Window %d leaves nothing beside Answer %d, Tools %d and Memories %d",
			backends.ErrInvalid, b.Window, b.Answer, b.Tools, b.Memories)
	}
	return b, nil
}

// reserve returns what is given, or the share if nothing is, at most limit.
func reserve(given, share, limit int) int {
	switch {
	case given < 0:
		return -1 // nothing, also when the defaults are filled in again
	case given > 0:
		return given
	}
	return min(share, limit)
}

// Limit is how many tokens the conversation may have.
func (b Budget) Limit() int { return b.Window - max(b.Answer, 0) - max(b.Tools, 0) }

// Usage is how full a context is.
type Usage struct {
	Tokens int // of the conversation, and of what memory put in
	Limit  int // what it may have, see [Budget.Limit]
}

// Percent returns the share of the limit that is taken: 100 is full.
func (u Usage) Percent() float64 { return 100 * float64(u.Tokens) / float64(max(u.Limit, 1)) }

// Over returns by how many tokens the limit is exceeded: negative where there is room.
func (u Usage) Over() int { return u.Tokens - u.Limit }

// Usage counts a context. Nil messages count nothing.
func (b Budget) Usage(messages []*schema.Message) Usage {
	config.Default(&b.Counter, Estimate)
	u := Usage{Limit: b.Limit()}
	for _, m := range messages {
		u.Tokens += b.Counter.Message(m)
	}
	return u
}

// isMemory reports whether m is what memory put in: a note of a search or the core
// blocks. It was not said, and memory can make it again.
func isMemory(m *schema.Message) bool { return einox.IsRecalled(m) || einox.IsCore(m) }

// Counter counts the tokens of a text as a model does. It must be safe for concurrent use.
// More text must not count less.
type Counter func(text string) int

// toolTokens is what the protocol adds to the definition of a tool.
const toolTokens = 12

// Estimate counts offline and without any model's vocabulary. It errs on the high
// side by a few percent for English, and more for other scripts; a budget that must be
// used to the last token needs the model's own tokenizer.
var Estimate Counter = text.Tokens

// Message counts a message as it goes to the provider: its texts, reasoning, tool calls,
// media, and what the protocol adds. A nil message counts nothing.
func (c Counter) Message(m *schema.Message) int { return einox.Tokens(m, c) }

// CountTools estimates what the definitions of tools take of a window, for
// [Budget].Tools. A schema that JSON cannot express counts nothing.
func CountTools(tools []*schema.ToolInfo) int {
	n := 0
	for _, t := range tools {
		if t == nil {
			continue
		}
		n += toolTokens + Estimate(t.Name) + Estimate(t.Desc)
		if s, err := t.ToJSONSchema(); err == nil && s != nil {
			arguments, _ := json.Marshal(s) // what fails counts nothing
			n += Estimate(string(arguments))
		}
	}
	return n
}
