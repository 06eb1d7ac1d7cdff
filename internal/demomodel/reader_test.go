// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/demomodel"
)

// A model with documents to read goes by the messages alone.
func TestAReader(t *testing.T) {
	question, read := schema.UserMessage("Which pump at Orla station had a cracked valve?"), schema.UserMessage("Read all the reports.")
	result := func(text string) *schema.Message { return schema.ToolMessage(text, "c") }
	called := func(tool string) *schema.Message {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: tool}}})
	}
	grep := called("grep_working_memory")
	for name, tt := range map[string]struct {
		in        []*schema.Message
		tool, has string // the tool that is called, and what stands in the call or the answer
	}{
		"begins":           {[]*schema.Message{read}, "read_report", `"number":1`},
		"goes on":          {[]*schema.Message{read, called("read_report"), result("Report 7 of 9\nAll is well.")}, "read_report", `"number":8`},
		"ends":             {[]*schema.Message{read, called("read_report"), result("Report 9 of 9\nAll is well.")}, "", "all 9"},
		"searches":         {[]*schema.Message{read, result("Report 9 of 9"), question}, "grep_working_memory", `"pattern":"Orla"`},
		"searches further": {[]*schema.Message{question, grep, result("No line has it.")}, "grep_working_memory", `"pattern":"station"`},
		"finds":            {[]*schema.Message{question, grep, result("Matches: 1.\n[log-3]\n12: A cracked valve on pump 31 at Orla station.")}, "", "pump 31"},
		"reads on": {
			[]*schema.Message{question, grep, result("[log-3]\n1: (byte 4000 of a long line) …cked valve on pump 31 at Orla station…")},
			"read_working_memory", `"archive":"log-3","byte":3800`,
		},
		"reads on in Chinese": {[]*schema.Message{question, grep, result("[a-x#2]\n1: （长行的第 4000 字节）…")}, "read_working_memory", `"archive":"a-x#2"`},
		"gives up":            {[]*schema.Message{question, grep, grep, grep, grep, grep, grep, grep, result("No line has it.")}, "", "I don't know"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := demomodel.New(&demomodel.Config{Reads: "read_report"}).Generate(context.Background(), tt.in)
			require.NoError(t, err)
			if tt.tool == "" {
				require.Empty(t, out.ToolCalls)
				require.Contains(t, out.Content, tt.has)
				return
			}
			require.Len(t, out.ToolCalls, 1)
			require.Equal(t, tt.tool, out.ToolCalls[0].Function.Name)
			require.Contains(t, out.ToolCalls[0].Function.Arguments, tt.has)
		})
	}
}
