// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/backends/working/budget"
)

func withArgument(desc string) *schema.ToolInfo {
	return &schema.ToolInfo{Name: "find", Desc: "Finds.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"query": {Type: schema.String, Desc: desc, Required: true},
	})}
}

func TestCountTools(t *testing.T) {
	bare := budget.CountTools([]*schema.ToolInfo{{Name: "find", Desc: "Finds."}})
	assert.Zero(t, budget.CountTools(nil))
	assert.Zero(t, budget.CountTools([]*schema.ToolInfo{nil}))
	assert.Equal(t, 15, bare)
	assert.Equal(t, 2*bare, budget.CountTools([]*schema.ToolInfo{{Name: "find", Desc: "Finds."}, nil, {Name: "find", Desc: "Finds."}}))
	short := budget.CountTools([]*schema.ToolInfo{withArgument("What to look for.")})
	assert.Greater(t, short, bare+10, "the schema of the arguments counts")
	long := budget.CountTools([]*schema.ToolInfo{withArgument(strings.Repeat("What to look for. ", 100))})
	assert.Greater(t, long, short+350, "and what it says")
}
