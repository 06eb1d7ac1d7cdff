// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// chatCall is one request, ready to be sent, and the options it came from.
type chatCall struct {
	request api.ChatCompletionRequest
	options *model.Options
}

func (c *chatCall) doing() string { return fmt.Sprintf("asking %q", c.request.Model) }

func (m *ChatModel) prepare(in []*schema.Message, opts []model.Option) (*chatCall, error) {
	base := m.defaults // a copy: options overwrite its pointers
	base.Tools = m.tools
	o := model.GetCommonOptions(&base, opts...)
	special := model.GetImplSpecificOptions(&callOptions{}, opts...)
	call := &chatCall{options: o, request: api.ChatCompletionRequest{
		Model: *o.Model, Stop: o.Stop, ResponseFormat: special.format,
	}}
	call.limits()
	var err error
	if call.request.Messages, err = toMessages(in); err != nil {
		return nil, fmt.Errorf("openai: %s: %w", call.doing(), err)
	}
	if err = call.offer(); err != nil {
		return nil, fmt.Errorf("openai: %s: %w", call.doing(), err)
	}
	return call, nil
}

// limits sets how the model may answer. go-openai leaves out a zero and refuses
// some settings for reasoning models before they are sent.
func (c *chatCall) limits() {
	maxTokens := 0
	if c.options.MaxTokens != nil {
		maxTokens = *c.options.MaxTokens
	}
	if reasons(c.request.Model) {
		c.request.MaxCompletionTokens = maxTokens
		return
	}
	c.request.MaxTokens = maxTokens
	c.request.Temperature = explicit(c.options.Temperature)
	c.request.TopP = explicit(c.options.TopP)
}

// explicit makes a zero that was asked for the smallest number that go-openai
// does send.
func explicit(v *float32) float32 {
	switch {
	case v == nil:
		return 0
	case *v == 0:
		return math.SmallestNonzeroFloat32
	}
	return *v
}

func reasons(name string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// offer puts the tools and the tool choice into the request. Allowed tool names
// narrow the tools themselves, which every server understands.
func (c *chatCall) offer() error {
	tools, err := allowed(c.options.Tools, c.options.AllowedToolNames)
	if err != nil {
		return err
	}
	for _, t := range tools {
		tool, err := toTool(t)
		if err != nil {
			return err
		}
		c.request.Tools = append(c.request.Tools, tool)
	}
	if c.options.ToolChoice == nil {
		return nil
	}
	switch choice := *c.options.ToolChoice; {
	case choice == schema.ToolChoiceForced && len(tools) == 0:
		return fmt.Errorf("tool choice: %w: forced, but no tool is offered", backends.ErrInvalid)
	case len(tools) == 0: // the API refuses a choice among nothing
	case choice == schema.ToolChoiceForced && len(tools) == 1:
		c.request.ToolChoice = api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: tools[0].Name}}
	case choice == schema.ToolChoiceForced:
		c.request.ToolChoice = "required"
	case choice == schema.ToolChoiceAllowed:
		c.request.ToolChoice = "auto"
	case choice == schema.ToolChoiceForbidden:
		c.request.ToolChoice = "none"
	default:
		return fmt.Errorf("tool choice %q: %w: use forced, allowed or forbidden", choice, backends.ErrInvalid)
	}
	return nil
}

func allowed(tools []*schema.ToolInfo, names []string) ([]*schema.ToolInfo, error) {
	if slices.Contains(tools, nil) {
		return nil, fmt.Errorf("tools: %w: one of them is nil", backends.ErrInvalid)
	}
	if len(names) == 0 {
		return tools, nil
	}
	var out []*schema.ToolInfo
	for _, name := range names {
		i := slices.IndexFunc(tools, func(t *schema.ToolInfo) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("allowed tool %q: %w: not among the tools", name, backends.ErrInvalid)
		}
		out = append(out, tools[i])
	}
	return out, nil
}

func toTool(t *schema.ToolInfo) (api.Tool, error) {
	f := &api.FunctionDefinition{Name: t.Name, Description: t.Desc, Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	s, err := t.ToJSONSchema()
	if err != nil {
		return api.Tool{}, fmt.Errorf("parameters of tool %q: %w: %w", t.Name, backends.ErrInvalid, err)
	}
	if s != nil {
		f.Parameters = s
	}
	return api.Tool{Type: api.ToolTypeFunction, Function: f}, nil
}

func (c *chatCall) config() *model.Config {
	r := c.request
	return &model.Config{Model: r.Model, MaxTokens: max(r.MaxTokens, r.MaxCompletionTokens), Temperature: r.Temperature, TopP: r.TopP, Stop: r.Stop}
}
