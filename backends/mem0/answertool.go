// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import "github.com/cloudwego/eino/schema"

// The tools by which a model answers. They are never run: their arguments are
// the answer.
const (
	toolReconcile = "remember"
	toolAdditive  = "remember_facts"
	toolDecide    = "decide_facts"
)

func answerTools() []*schema.ToolInfo {
	list := func(name, what string, entry map[string]*schema.ParameterInfo) *schema.ParamsOneOf {
		return schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			name: {Type: schema.Array, Required: true, Desc: what, ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: entry}},
		})
	}
	fact := func(required bool) map[string]*schema.ParameterInfo {
		return map[string]*schema.ParameterInfo{
			"text":     {Type: schema.String, Required: required, Desc: "the fact, in the language it was said in"},
			"said_by":  {Type: schema.String, Enum: []string{"user", "assistant"}},
			"since":    {Type: schema.String, Desc: "YYYY-MM-DD, if it matters from when it holds"},
			"messages": {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.Integer}, Desc: "n of the new messages that say it"},
		}
	}
	operation := fact(false)
	operation["op"] = &schema.ParameterInfo{Type: schema.String, Required: true, Enum: []string{"add", "supersede", "retract"}}
	operation["index"] = &schema.ParameterInfo{Type: schema.Integer, Desc: "of the existing memory, for supersede and retract"}
	decision := map[string]*schema.ParameterInfo{
		"fact":  {Type: schema.Integer, Required: true},
		"event": {Type: schema.String, Required: true, Enum: []string{"ADD", "UPDATE", "DELETE", "NONE"}},
		"index": {Type: schema.Integer, Desc: "of the existing memory, for UPDATE, DELETE and NONE"},
		"text":  {Type: schema.String, Desc: "for UPDATE: the memory as it reads from now on"},
	}
	return []*schema.ToolInfo{
		{Name: toolReconcile, Desc: "Carry out operations on the memory.", ParamsOneOf: list("operations", "empty if nothing is worth keeping", operation)},
		{Name: toolAdditive, Desc: "Add facts to the memory.", ParamsOneOf: list("facts", "empty if nothing is worth keeping", fact(true))},
		{Name: toolDecide, Desc: "Decide what each new fact does to the memory.", ParamsOneOf: list("decisions", "one entry a fact", decision)},
	}
}
