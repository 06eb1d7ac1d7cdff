// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// GuideTools returns inner with guidelines in the descriptions of the tools that each call offers,
// bound by WithTools or given as an option. A guideline is fenced, marked as an observation rather
// than an instruction, and within 300 tokens. Each call asks scope, so that a shared bound model
// shows each workspace its own experience. If a look-up fails or takes longer than 2 seconds, the
// tools stay as they are, and OnError reports it. A scope without a workspace has no guidelines.
func (m *Memory) GuideTools(inner model.ToolCallingChatModel, scope func(context.Context) (backends.Scope, error)) model.ToolCallingChatModel {
	return einox.BeforeModel(inner, "Guided", func(ctx context.Context, c *einox.ModelCall) error {
		tools := c.Offered()
		if described := m.described(ctx, scope, tools); !slices.Equal(described, tools) {
			c.Options = append(c.Options, model.WithTools(described))
		}
		return nil
	})
}

// described returns the tools of a call with their guidelines, or as they are.
func (m *Memory) described(ctx context.Context, scope func(context.Context) (backends.Scope, error), tools []*schema.ToolInfo) []*schema.ToolInfo {
	if len(tools) == 0 {
		return tools
	}
	var described []*schema.ToolInfo
	err := work.Catch("tool", func() (err error) {
		described, err = m.describe(ctx, scope, tools)
		return err
	})
	switch {
	case errors.Is(err, backends.ErrNoScope):
		return tools
	case err != nil:
		m.notify(ctx, fmt.Errorf("tool: describing %d tools: %w", len(tools), err))
		return tools
	}
	return described
}

// maxLookup bounds the look-up in front of a call of the model.
const maxLookup = 2 * time.Second

// describe returns the tools; a tool with a guideline is a copy with it under its description. It
// reads the index, which asks the store what changed, and skips the records.
func (m *Memory) describe(ctx context.Context, scope func(context.Context) (backends.Scope, error), tools []*schema.ToolInfo) ([]*schema.ToolInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLookup)
	defer cancel()
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	_, p, err := m.keeper.Resolve(ctx, s, keeper.Workspace)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(tools))
	for i, t := range tools {
		if t != nil {
			ids[i] = guidelineID(p, strings.TrimSpace(t.Name))
		}
	}
	held, err := m.keeper.Held(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(tools)
	for i, t := range tools {
		of := held[ids[i]]
		if t == nil || of == nil || !of.Active() || of.Expired(m.keeper.Now()) {
			continue
		}
		described := *t
		described.Desc = strings.TrimSpace(t.Desc + "\n\n" + m.note(of.Text))
		out[i] = &described
	}
	return out, nil
}

// fence encloses experience in a description.
const fence = "tool_experience"

var fenceMark = regexp.MustCompile(`(?i)<(\s*/?\s*` + fence + `)`)

// note returns a guideline in a fence that stays closed to its text.
func (m *Memory) note(guideline string) string {
	shown := text.Fit(fenceMark.ReplaceAllString(m.redact(guideline), "‹$1"), maxDescription, text.Tokens)
	return "<" + fence + ">\n" + promptsIn[m.language.For(shown)].Note + "\n" + shown + "\n</" + fence + ">"
}
