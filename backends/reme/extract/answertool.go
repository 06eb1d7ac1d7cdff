// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import "github.com/cloudwego/eino/schema"

// The tools by which a model answers. They are never run: their arguments are the
// answer.
const (
	toolExperiences = "extract_experiences"
	toolMemories    = "extract_memories"
	toolVerdicts    = "extract_verdicts"
	toolSegments    = "extract_segments"
)

// AnswerTools returns the tools by which the model answers, for flow.Config.Tools.
func AnswerTools() []*schema.ToolInfo {
	text := func(what string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Required: true, Desc: what}
	}
	texts := func(what string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.String}, Desc: what}
	}
	list := func(name, what string, entry map[string]*schema.ParameterInfo) *schema.ParamsOneOf {
		return schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			name: {Type: schema.Array, Required: true, Desc: what, ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: entry}},
		})
	}
	experience := map[string]*schema.ParameterInfo{
		"when_to_use": text("the situation in which it helps"),
		"experience":  text("what to do or avoid then, and why"),
		"tags":        texts("keywords"),
		"confidence":  {Type: schema.Number, Desc: "0 to 1"},
		"step_type":   {Type: schema.String, Enum: []string{string(StepReasoning), string(StepAction), string(StepObservation), string(StepDecision)}},
		"tools_used":  texts("names of the tools that it is about"),
	}
	memory := map[string]*schema.ParameterInfo{
		"when_to_use": text("the situation in which it helps"),
		"memory":      text("what to do or avoid then, as text or code"),
	}
	verdict := map[string]*schema.ParameterInfo{
		"candidate": {Type: schema.Integer, Required: true, Desc: "its number"},
		"is_valid":  {Type: schema.Boolean, Required: true, Desc: "whether it is worth keeping"},
		"score":     {Type: schema.Number, Required: true, Desc: "0 to 1"},
		"feedback":  {Type: schema.String, Desc: "why, in a sentence"},
	}
	segments := map[string]*schema.ParameterInfo{
		"segment_points": {Type: schema.Array, Required: true, ElemInfo: &schema.ParameterInfo{Type: schema.Integer}, Desc: "number of the last step of each segment"},
		"reasoning":      {Type: schema.String, Desc: "why there, in a sentence"},
	}
	return []*schema.ToolInfo{
		{Name: toolExperiences, Desc: "Hand in what was learnt.", ParamsOneOf: list("experiences", "empty if nothing is worth keeping", experience)},
		{Name: toolMemories, Desc: "Hand in what was learnt.", ParamsOneOf: list("memories", "empty if nothing is worth keeping", memory)},
		{Name: toolVerdicts, Desc: "Hand in the verdicts.", ParamsOneOf: list("verdicts", "one for each candidate", verdict)},
		{Name: toolSegments, Desc: "Hand in where the trajectory falls into segments.", ParamsOneOf: schema.NewParamsOneOfByParams(segments)},
	}
}
