// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Rewording is a Learner that says of a "drawer", and that somebody "bought", something
// else each time: what it learns again is not recognised by its words.
type Rewording struct{ *Learner }

// WithTools implements model.ToolCallingChatModel.
func (r Rewording) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := r.Learner.WithTools(tools)
	return rewordingTool{inner}, err
}

type rewordingTool struct{ model.ToolCallingChatModel }

func (r rewordingTool) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m, err := r.ToolCallingChatModel.Generate(ctx, in, opts...)
	if err == nil && !strings.Contains(m.ToolCalls[0].Function.Name, "verdicts") {
		word := " {" + backends.NewID() + "}"
		c := &m.ToolCalls[0].Function
		c.Arguments = strings.NewReplacer("drawer", "drawer"+word, "bought", "bought"+word).Replace(c.Arguments)
	}
	return m, err
}

var reworded = regexp.MustCompile(` \{[-0-9a-f]+\}`)

// Reworded returns a text without what a [Rewording] put into it.
func Reworded(text string) string { return reworded.ReplaceAllString(text, "") }
