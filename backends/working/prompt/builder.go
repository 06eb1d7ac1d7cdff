// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Builder builds prompts. It holds no state of its own, and is safe for concurrent
// use: one serves any number of users and sessions.
type Builder struct {
	cfg  *Config
	text words
}

// New returns a builder, or ErrInvalid.
func New(cfg *Config) (*Builder, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	return &Builder{cfg: c, text: phrases[c.Language]}, nil
}

// Build returns the prompt for a question. What is read for it is read at the same
// time. A part that cannot be read is left out and named in [Prompt.Failed].
//
// The error is a [*compaction.OverError], with the prompt as small as it could be,
// when system prompt, core blocks, context and question do not fit; ErrInvalid,
// without a prompt, for a request that can never succeed; the context's when it
// ends first.
func (b *Builder) Build(ctx context.Context, r *Request) (*Prompt, error) {
	question, err := r.question()
	if err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	p := &Prompt{}
	found := b.read(ctx, r, question, p)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	d := &draft{Builder: b, scope: r.Scope, prompt: p, question: question, history: withoutRepeat(found.history, question)}
	if strings.TrimSpace(r.System) != "" {
		d.head = append(d.head, schema.SystemMessage(r.System))
	}
	if found.core != nil {
		d.head = append(d.head, found.core)
	}
	d.context = b.text.contextMessage(r.Context)

	d.compact(ctx)
	d.trim()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	said := d.messages()
	if note := b.note(r, found, said, p); note != nil {
		said = slices.Insert(said, len(said)-1, note)
	}
	p.Messages, p.Usage = said, b.cfg.Budget.Usage(said)
	if err := p.Usage.Err(); err != nil {
		return p, fmt.Errorf("prompt: %w", err)
	}
	return p, nil
}
