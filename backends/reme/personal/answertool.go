// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import "github.com/cloudwego/eino/schema"

// The tools by which a model answers. They are never run: their arguments are the
// answer.
const (
	toolScores       = "personal_scores"
	toolObservations = "personal_observations"
	toolRelations    = "personal_relations"
	toolPeriod       = "personal_period"
)

// AnswerTools returns the tools by which a model answers the questions of this
// package, for flow.Config.Tools.
func AnswerTools() []*schema.ToolInfo {
	list := func(name, what string, entry map[string]*schema.ParameterInfo) *schema.ParamsOneOf {
		return schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			name: {Type: schema.Array, Required: true, Desc: what, ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: entry}},
		})
	}
	number := func(what string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.Integer, Required: true, Desc: what}
	}
	text := func(required bool, what string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Required: required, Desc: what}
	}
	relation := text(true, "")
	relation.Enum = []string{relationContradicts, relationContained, relationExtends}
	return []*schema.ToolInfo{
		{Name: toolScores, Desc: "Score every numbered message.", ParamsOneOf: list("scores", "one entry a numbered message", map[string]*schema.ParameterInfo{
			"n": number("of the message"), "score": number("0 to 3"),
		})},
		{Name: toolObservations, Desc: "Write down what the numbered messages tell about the user.", ParamsOneOf: list("observations", "empty if they tell nothing", map[string]*schema.ParameterInfo{
			"n": number("of the message that tells it"), "text": text(true, "one statement, in the language of the message"),
			"keywords": text(true, "two to six, with commas between them"), "when": text(false, "YYYY-MM-DD, YYYY-MM, YYYY, or two of them with a slash between"),
		})},
		{Name: toolRelations, Desc: "Say how new statements relate to others.", ParamsOneOf: list("relations", "empty if there are none", map[string]*schema.ParameterInfo{
			"n": number("of the new statement"), "relation": relation, "other": number("of the other statement"),
		})},
		{Name: toolPeriod, Desc: "Say which time a question asks about.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"period": text(true, "YYYY-MM-DD, YYYY-MM, YYYY, or two of them with a slash between; empty if it names no time"),
		})},
	}
}
