// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// ErrOver is returned for a context that is larger than its budget; it is wrapped
// in an [*OverError], which says by how much.
var ErrOver = errors.New("context over budget")

// OverError says by how much a context is larger than what a model takes.
type OverError struct {
	Tokens int // of the context
	Limit  int // what it may have
}

// Error implements error.
func (e *OverError) Error() string {
	return fmt.Sprintf("%v: %d tokens, %d more than the %d that fit: shorten the last message or the system prompt, or raise the window",
		ErrOver, e.Tokens, e.Tokens-e.Limit, e.Limit)
}

// Unwrap returns [ErrOver].
func (e *OverError) Unwrap() error { return ErrOver }

// Budget says how many tokens a context may have. The zero values of its parts
// are their defaults; see [Budget.WithDefaults]. It is a value, and safe for
// concurrent use as its Counter is.
type Budget struct {
	// Window is the model's context window in tokens: what it takes and what it
	// answers together. Required.
	Window int
	// Answer is kept free for the model's answer. Optional. Defaults to an eighth
	// of Window, at most 8192; negative keeps nothing.
	Answer int
	// Tools is kept free for the definitions of the agent's tools, which no hook
	// of Eino shows. Count them with [CountTools]. Optional. Defaults to a
	// sixteenth of Window, at most 4096; negative keeps nothing.
	Tools int
	// Memories is kept free for what memory puts in: the note of a search and the
	// core blocks. What these take beyond it counts. Optional. Defaults to a
	// sixteenth of Window, at most 2048; negative keeps nothing.
	Memories int
	// Counter counts. Optional. Defaults to [Estimate].
	Counter Counter
}

// WithDefaults returns a copy that is complete, or ErrInvalid. That of a copy is
// the same again.
func (b Budget) WithDefaults() (Budget, error) {
	if b.Window <= 0 {
		return b, fmt.Errorf("budget: %w: Window is %d: give the model's context window in tokens", backends.ErrInvalid, b.Window)
	}
	b.Answer = reserve(b.Answer, b.Window/8, 8192)
	b.Tools = reserve(b.Tools, b.Window/16, 4096)
	b.Memories = reserve(b.Memories, b.Window/16, 2048)
	if b.Counter == nil {
		b.Counter = Estimate
	}
	if max(b.Answer, b.Tools, b.Memories) >= b.Window || b.Limit() <= 0 {
		return b, fmt.Errorf("budget: %w: Window %d leaves nothing beside Answer %d, Tools %d and Memories %d",
			backends.ErrInvalid, b.Window, b.Answer, b.Tools, b.Memories)
	}
	return b, nil
}

// nothing is kept free where zero would mean the default.
const nothing = -1

func reserve(given, share, most int) int {
	switch {
	case given < 0:
		return nothing
	case given > 0:
		return given
	}
	return min(share, most)
}

// Limit is the number of tokens that the conversation may have: the window less
// what is kept free. The budget should be complete, as for [Budget.Usage].
func (b Budget) Limit() int { return b.Window - max(b.Answer, 0) - max(b.Tools, 0) - b.Room() }

// Room is the number of tokens that is kept free for what memory puts in.
func (b Budget) Room() int { return max(b.Memories, 0) }

// Usage says how full a context is.
type Usage struct {
	Tokens int // of the conversation, and of memories beyond what is kept free for them
	Limit  int // what it may have, see [Budget.Limit]
}

// Percent is Tokens in percent of Limit; above 100 when it does not fit.
func (u Usage) Percent() float64 { return 100 * float64(u.Tokens) / float64(max(u.Limit, 1)) }

// Over is by how many tokens the context is too large; 0 or less when it fits.
func (u Usage) Over() int { return u.Tokens - u.Limit }

// Err returns an [*OverError] when the context does not fit, else nil.
func (u Usage) Err() error {
	if u.Over() <= 0 {
		return nil
	}
	return &OverError{Tokens: u.Tokens, Limit: u.Limit}
}

// Usage measures a context; nil messages count nothing. The budget should be complete,
// see [Budget.WithDefaults]: what is 0 in another is taken for 0.
func (b Budget) Usage(messages []*schema.Message) Usage {
	if b.Counter == nil {
		b.Counter = Estimate
	}
	said, memories := 0, 0
	for _, m := range messages {
		if m == nil {
			continue
		}
		if n := b.Counter.Message(m); einox.IsRecalled(m) || einox.IsCore(m) {
			memories += n
		} else {
			said += n
		}
	}
	return Usage{Tokens: said + max(memories-b.Room(), 0), Limit: b.Limit()}
}
