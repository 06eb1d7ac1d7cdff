// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// ErrLimit is returned when a request would cost more than its [Limits] allow. It is
// backends.ErrInvalid: repeating the request spends as much again.
var ErrLimit = fmt.Errorf("the limit of the request is reached: %w", backends.ErrInvalid)

// Limits bound what one request may cost. 0 is no limit.
type Limits struct {
	Calls  int // model calls, repeats included
	Tokens int // of prompts and answers together
}

// Run is one request to a backend: the questions that belong to it, and what they cost
// together. It is safe for concurrent use.
type Run struct {
	model  *Model
	limits Limits

	mu     sync.Mutex
	calls  int // made or under way
	tokens int // spent, and those of the prompts under way
	usage  backends.Usage
	stages []*Stage
}

// Begin returns a run without questions so far.
func (m *Model) Begin(l Limits) *Run { return &Run{model: m, limits: l} }

// Usage returns what the run has cost so far.
func (r *Run) Usage() backends.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

// Embedded counts texts that were embedded for the run.
func (r *Run) Embedded(texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.EmbeddedTexts += texts
}

// reserve takes one call and the tokens of its prompt, by estimate.
func (r *Run) reserve(in []*schema.Message) (tokens int, err error) {
	for _, m := range in {
		tokens += text.Tokens(m.Content)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch l := r.limits; {
	case l.Calls > 0 && r.calls >= l.Calls:
		return 0, fmt.Errorf("%w: %d model calls; raise Limits.Calls or send less at a time", ErrLimit, l.Calls)
	case l.Tokens > 0 && r.tokens+tokens > l.Tokens:
		return 0, fmt.Errorf("%w: %d tokens; raise Limits.Tokens or send less at a time", ErrLimit, l.Tokens)
	}
	r.calls++
	r.tokens += tokens
	r.usage.ModelCalls++
	return tokens, nil
}

// spent replaces the estimate of a call by what the model reported.
func (r *Run) spent(estimate int, out *schema.Message) {
	if out == nil || out.ResponseMeta == nil || out.ResponseMeta.Usage == nil {
		return
	}
	u := out.ResponseMeta.Usage
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens += u.PromptTokens + u.CompletionTokens - estimate
	r.usage.PromptTokens += u.PromptTokens
	r.usage.CompletionTokens += u.CompletionTokens
}
