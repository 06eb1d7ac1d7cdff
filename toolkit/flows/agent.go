// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
)

type react struct {
	workspace
	Query    string    `json:"query,omitempty"`
	Messages []message `json:"messages,omitempty"`
}

func (f *Flows) agentFlows() {
	define(f, Flow{Name: "agentic_retrieve", Write: true, Long: true, Description: "An agent that answers over a long context: large results of tools go to files, which it searches and reads."}, (*call).agentic)
	define(f, Flow{Name: "react", Long: true, Description: "An agent that answers with what was learnt from earlier tasks."}, (*call).react)
}

// maxSteps is how often an agent may ask its model.
const maxSteps = 20

// toolsOf returns flows as tools for a model, with the parameters that they require. Their
// scope is none of these: models choose no scopes.
func (f *Flows) toolsOf(names []string) (out []*schema.ToolInfo) {
	for _, flow := range f.flows {
		if !slices.Contains(names, flow.Name) {
			continue
		}
		parameters := map[string]*schema.ParameterInfo{}
		for name, kind := range required(flow.Request) {
			parameters[name] = &schema.ParameterInfo{Type: schema.String, Required: true}
			if kind == reflect.Float64 {
				parameters[name].Type = schema.Integer
			}
		}
		out = append(out, &schema.ToolInfo{Name: flow.Name, Desc: flow.Description, ParamsOneOf: schema.NewParamsOneOfByParams(parameters)})
	}
	return out
}

// agent answers messages by ReAct, with flows as its tools, in the scope of the call. before
// makes the context of each step. The last message that it returns is the answer.
func (c *call) agent(messages []*schema.Message, tools []string, before func([]*schema.Message) ([]*schema.Message, error)) ([]*schema.Message, error) {
	calling, ok := c.cfg.Model.(model.ToolCallingChatModel)
	if !ok {
		return nil, fmt.Errorf("%w: a model.ToolCallingChatModel", reme.ErrNoModel)
	}
	bound, err := calling.WithTools(c.toolsOf(tools))
	here := func(backends.Scope, bool) (backends.Scope, error) { return c.scope, nil }
	for range maxSteps {
		var answer *schema.Message
		if err == nil {
			messages, err = before(messages)
		}
		if err == nil {
			if answer, err = bound.Generate(c, messages); err != nil {
				err = fmt.Errorf("%w: %w", backends.ErrModel, err)
			}
		}
		if err != nil {
			return nil, err
		}
		messages = append(messages, answer)
		for _, t := range answer.ToolCalls {
			result := fmt.Sprintf("no tool is named %.40q", t.Function.Name)
			if slices.Contains(tools, t.Function.Name) {
				r, err := c.Call(c, t.Function.Name, here, c.scope.Namespace, json.RawMessage(t.Function.Arguments))
				if errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNotFound) {
					r, err = &Response{Answer: "error: " + err.Error()}, nil
				}
				if err != nil {
					return nil, err
				}
				result = fmt.Sprint(r.Answer)
			}
			messages = append(messages, schema.ToolMessage(result, t.ID, schema.WithToolName(t.Function.Name)))
		}
		if len(answer.ToolCalls) == 0 {
			break
		}
	}
	return messages, nil
}

// ended returns the response of an agent.
func ended(messages []*schema.Message) (*Response, error) {
	metadata := map[string]any{"messages": wires(messages)}
	if last := messages[len(messages)-1]; last.Role == schema.Assistant {
		return reply(last.Content, metadata)
	}
	return refuse(fmt.Sprintf("no answer after %d steps", maxSteps), metadata)
}

func (c *call) agentic(in working) (*Response, error) {
	if c.cfg.Folder == nil {
		return nil, errNoFolder
	}
	with, f, err := c.compactor(&in, true)
	if err != nil {
		return nil, err
	}
	defer f.close()
	messages, err := c.agent(messagesOf(in.Messages), []string{"grep_working_memory", "read_working_memory"}, func(now []*schema.Message) ([]*schema.Message, error) {
		smaller, _, err := c.compact(with, f, now, or(in.PreviewCharLength, 0))
		return smaller, err
	})
	if err != nil {
		return nil, err
	}
	return ended(messages)
}

func (c *call) react(in react) (*Response, error) {
	now := c.cfg.Clock().UTC().Format(time.DateTime)
	messages := append([]*schema.Message{schema.SystemMessage("You are a helpful assistant. The current time is " + now + ".\n")}, messagesOf(in.Messages)...)
	if in.Query != "" {
		messages = append(messages, schema.UserMessage(in.Query))
	}
	if len(messages) == 1 {
		return nil, fmt.Errorf("%w: give a query or messages", backends.ErrInvalid)
	}
	messages, err := c.agent(messages, []string{"retrieve_task_memory"}, func(now []*schema.Message) ([]*schema.Message, error) { return now, nil })
	if err != nil {
		return nil, err
	}
	return ended(messages)
}
