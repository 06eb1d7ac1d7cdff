// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"

	"github.com/cloudwego/eino/schema"
)

// toolTokens is what a tool's definition costs beside its texts: "type", "function"
// and the names of its fields.
const toolTokens = 12

// CountTools estimates the tokens of the definitions of tools, as they go to a
// provider: names, descriptions and the JSON schemas of the arguments. It is what
// [Budget.Tools] is to be for an agent with these tools. A schema that cannot be
// made counts nothing: the chat model refuses its tool anyway.
func CountTools(tools []*schema.ToolInfo) int {
	n := 0
	for _, t := range tools {
		if t == nil {
			continue
		}
		n += toolTokens + Estimate.Text(t.Name) + Estimate.Text(t.Desc) + countArguments(t)
	}
	return n
}

func countArguments(t *schema.ToolInfo) int {
	s, err := t.ToJSONSchema()
	if err != nil || s == nil {
		return 0
	}
	text, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return Estimate.Text(string(text))
}
