// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// describeTimeout bounds the look-up before a model's call.
const describeTimeout = 2 * time.Second

// fenceName is the mark around experience in a description.
const fenceName = "tool_experience"

// Describe returns tools with what is known of each under its description: marked as
// experience that is no instruction, and within Config.MaxDescription tokens. Tools of
// which nothing is known, and all of them when it cannot be looked up in 2 seconds
// (Config.OnError is told), are those that were given; others are copies. In a scope
// without a workspace nothing is known. The tools given stay as they are.
func (m *Memory) Describe(ctx context.Context, s backends.Scope, tools []*schema.ToolInfo) []*schema.ToolInfo {
	out, _ := m.describe(ctx, func(context.Context) (backends.Scope, error) { return s, nil }, tools)
	return out
}

// describe also tells whether a description changed.
func (m *Memory) describe(ctx context.Context, scope func(context.Context) (backends.Scope, error), tools []*schema.ToolInfo) (out []*schema.ToolInfo, changed bool) {
	defer func() { // of the scope, a store, or Config.Redact: none is worth the agent's call
		if v := recover(); v != nil {
			out, changed = tools, false
			m.tell(ctx, fmt.Errorf("toolmem: describing %d tools: panic: %v", len(tools), v))
		}
	}()
	if len(tools) == 0 {
		return tools, false
	}
	known, err := m.known(ctx, scope, tools)
	if errors.Is(err, backends.ErrNoScope) {
		return tools, false // a run in no workspace
	}
	if err != nil {
		m.tell(ctx, fmt.Errorf("toolmem: describing %d tools: %w", len(tools), err))
		return tools, false
	}
	out = make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		out[i] = t
		if t == nil {
			continue
		}
		of := known[strings.TrimSpace(t.Name)]
		if of == nil || !of.Active() || of.Expired(m.cfg.Clock()) {
			continue
		}
		described := *t
		described.Desc = strings.TrimSpace(t.Desc + "\n\n" + m.note(of))
		out[i], changed = &described, true
	}
	return out, changed
}

// tell reports an error. A panic of who is told is not worth the agent's call.
func (m *Memory) tell(ctx context.Context, err error) {
	defer func() { _ = recover() }()
	m.cfg.OnError(ctx, err)
}

// known returns the memories of tools by name, from the index: that asks the store what
// changed, and reads no record at each call of a model.
func (m *Memory) known(ctx context.Context, scope func(context.Context) (backends.Scope, error), tools []*schema.ToolInfo) (map[string]*backends.Memory, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	_, p, err := m.partition(ctx, s)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range tools {
		if t != nil {
			list = append(list, t.Name)
		}
	}
	legal, err := names(list, "")
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(legal))
	for i, name := range legal {
		ids[i] = cardID(p, name)
	}
	held, err := m.keeper.Held(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*backends.Memory, len(held))
	for i, name := range legal {
		if of := held[ids[i]]; of != nil {
			out[name] = of
		}
	}
	return out, nil
}

var fenceMark = regexp.MustCompile(`(?i)<(\s*/?\s*` + fenceName + `)`)

// note returns a guideline between marks that nothing in it can close.
func (m *Memory) note(of *backends.Memory) string {
	text := fenceMark.ReplaceAllString(m.redact(of.Text), "‹$1")
	preface := m.prompts(m.language(text)).Note
	return "<" + fenceName + ">\n" + preface + "\n" + m.shorten(text, m.cfg.MaxDescription) + "\n</" + fenceName + ">"
}

// shorten returns the beginning of a text that is within so many tokens, with a count
// of what was left out.
func (m *Memory) shorten(text string, tokens int) string {
	count := m.cfg.Models.Counter()
	if count.Text(text) <= tokens {
		return text
	}
	low, high := 0, len(text) // the longest beginning that fits lies between
	for low < high {
		mid := (low + high + 1) / 2
		if count.Text(cutShort(text, mid)) <= tokens {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return cutShort(text, low)
}

func cutShort(text string, at int) string {
	at = cutBack(text, at)
	return strings.TrimRight(text[:at], " \n") + fmt.Sprintf(mark, len(text)-at)
}
