// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "github.com/cloudwego/eino/schema"

// toolName is the tool by which the model answers. It is never run: its arguments
// are the summary.
const toolName = "keep_summary"

// The parts of a summary, in the order in which they are written.
const (
	partGoal       = "goal"
	partDirectives = "directives"
	partFacts      = "facts"
	partFailed     = "failed"
	partOpen       = "open"
	partNext       = "next"
)

var parts = [...]string{partGoal, partDirectives, partFacts, partFailed, partOpen, partNext}

// answerTool describes the answer. Descriptions are in one language: what each
// part means is said in the prompt, in the prompt's.
func answerTool() *schema.ToolInfo {
	fields := map[string]*schema.ParameterInfo{partGoal: {Type: schema.String, Required: true}}
	for _, p := range parts[1:] {
		fields[p] = &schema.ParameterInfo{Type: schema.Array, Required: true, ElemInfo: &schema.ParameterInfo{Type: schema.String}}
	}
	return &schema.ToolInfo{Name: toolName, Desc: "Keep the summary.", ParamsOneOf: schema.NewParamsOneOfByParams(fields)}
}
