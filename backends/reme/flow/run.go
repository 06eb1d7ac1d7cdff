// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"sync"

	"github.com/einomem/einomem/backends"
)

// Run is one request. It is safe for concurrent use: branches of a flow share it.
type Run struct {
	models *Models

	mu     sync.Mutex
	calls  int // model calls made or under way
	tokens int // tokens spent, and those of the prompts under way
	usage  backends.Usage
	stages []*Stage
}

// reserve takes a model call of the given size out of what the request may spend.
func (r *Run) reserve(tokens int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	limits := r.models.limits
	switch {
	case r.calls >= limits.Calls:
		return fmt.Errorf("%w: %d model calls; raise Limits.Calls or send less at a time", ErrLimit, limits.Calls)
	case r.tokens+tokens > limits.Tokens:
		return fmt.Errorf("%w: %d tokens; raise Limits.Tokens or send less at a time", ErrLimit, limits.Tokens) // the same of each question: reports have each error once
	}
	r.calls++
	r.tokens += tokens
	return nil
}

// settle puts what the model reported in place of what was reserved for it.
func (r *Run) settle(reserved int, u *backends.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if spent := u.PromptTokens + u.CompletionTokens; spent > 0 {
		r.tokens += spent - reserved*u.ModelCalls
	}
	r.usage.ModelCalls += u.ModelCalls
	r.usage.PromptTokens += u.PromptTokens
	r.usage.CompletionTokens += u.CompletionTokens
}

// Embedded counts texts that were embedded for the request.
func (r *Run) Embedded(texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.EmbeddedTexts += texts
}

// Limits returns the limits of the request.
func (r *Run) Limits() Limits { return r.models.limits }

// Models returns what the request asks.
func (r *Run) Models() *Models { return r.models }

// Usage returns what the request has cost so far.
func (r *Run) Usage() backends.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}
