// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/transcript"
)

type list = []*schema.Message

func user(text string) *schema.Message   { return schema.UserMessage(text) }
func answer(text string) *schema.Message { return schema.AssistantMessage(text, nil) }
func result(id string) *schema.Message   { return schema.ToolMessage("", id) }

func calls(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "f"}})
	}
	return m
}

func image(role schema.RoleType, url string) *schema.Message {
	return &schema.Message{Role: role, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}
}

func drawing(role schema.RoleType, text string) *schema.Message {
	return &schema.Message{Role: role, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: text}}}
}

// Each list with the rules that it breaks; an empty one is not broken.
func TestRules(t *testing.T) {
	both := func(r transcript.Rule) [2]transcript.Rule { return [2]transcript.Rule{r, r} }
	openAI := func(r transcript.Rule) [2]transcript.Rule { return [2]transcript.Rule{r} }
	anthropic := func(r transcript.Rule) [2]transcript.Rule { return [2]transcript.Rule{1: r} }
	system := schema.SystemMessage("be brief")
	mixed := user("and a content")
	mixed.UserInputMultiContent = image(schema.User, "u").UserInputMultiContent
	calling := user("hi")
	calling.ToolCalls = calls("a").ToolCalls
	unnamed := calls("a")
	unnamed.ToolCalls[0].Function.Name = ""

	for name, tc := range map[string]struct {
		list list
		want [2]transcript.Rule // of OpenAI, of Anthropic
	}{
		"a question":                {list{user("hi")}, both("")},
		"prompts in front":          {list{system, system, user("hi"), answer("yes"), user("why?")}, both("")},
		"a prompt in between":       {list{user("hi"), system, answer("yes")}, both("")},
		"calls":                     {list{user("hi"), calls("a", "b"), result("b"), result("a"), answer("so")}, both("")},
		"an id again":               {list{user("hi"), calls("a"), result("a"), calls("a"), result("a")}, both("")},
		"two questions":             {list{user("hi"), user("there")}, both("")},
		"a question after results":  {list{user("hi"), calls("a"), result("a"), user("go on")}, both("")},
		"a picture":                 {list{image(schema.User, "u"), drawing(schema.Assistant, "so")}, both("")},
		"nothing":                   {nil, both(transcript.RuleNone)},
		"a prompt alone":            {list{system}, anthropic(transcript.RuleNone)},
		"a nil":                     {list{user("hi"), nil}, both(transcript.RuleNil)},
		"a strange role":            {list{user("hi"), {Role: "function", Content: "x"}}, both(transcript.RuleRole)},
		"the assistant begins":      {list{answer("hello"), user("hi")}, anthropic(transcript.RuleFirst)},
		"nothing said":              {list{user("hi"), answer("")}, both(transcript.RuleContent)},
		"a blank":                   {list{user("hi"), answer(" \n"), user("?")}, [2]transcript.Rule{transcript.RuleContent, transcript.RuleText}},
		"a blank beside calls":      {list{user("hi"), {Role: schema.Assistant, Content: " ", ToolCalls: calls("a").ToolCalls}, result("a")}, anthropic(transcript.RuleText)},
		"an empty prompt":           {list{schema.SystemMessage(""), user("hi")}, [2]transcript.Rule{transcript.RuleContent, transcript.RuleText}},
		"a blank part":              {list{user("hi"), drawing(schema.Assistant, "")}, both(transcript.RuleText)},
		"a picture without address": {list{image(schema.User, "")}, both(transcript.RuleMedia)},
		"a picture by a tool":       {list{user("hi"), calls("a"), {Role: schema.Tool, ToolCallID: "a", UserInputMultiContent: image("", "u").UserInputMultiContent}}, both(transcript.RuleParts)},
		"parts of the other":        {list{drawing(schema.User, "x")}, both(transcript.RuleParts)},
		"parts and content":         {list{mixed}, both(transcript.RuleParts)},
		"a user calls":              {list{calling}, both(transcript.RuleCaller)},
		"an id twice":               {list{user("hi"), calls("a", "a"), result("a")}, both(transcript.RuleCallID)},
		"no id":                     {list{user("hi"), calls(""), result("")}, both(transcript.RuleCallID)},
		"no name":                   {list{user("hi"), unnamed, result("a")}, both(transcript.RuleCallID)},
		"a result of nothing":       {list{user("hi"), result("a")}, both(transcript.RuleOrphan)},
		"a result at the begin":     {list{result("a"), user("hi")}, both(transcript.RuleOrphan)},
		"a result too late":         {list{user("hi"), calls("a"), result("a"), answer("so"), result("a")}, both(transcript.RuleOrphan)},
		"a result of others":        {list{user("hi"), calls("a"), result("a"), calls("b"), result("b"), result("a")}, both(transcript.RuleOrphan)},
		"a result twice":            {list{user("hi"), calls("a"), result("a"), result("a")}, both(transcript.RuleTwice)},
		"no result":                 {list{user("hi"), calls("a", "b"), result("a"), user("?")}, both(transcript.RuleUnanswered)},
		"no result at the end":      {list{user("hi"), calls("a")}, both(transcript.RuleUnanswered)},
		"a question between":        {list{user("hi"), calls("a", "b"), result("a"), user("?"), result("b")}, [2]transcript.Rule{transcript.RuleUnanswered, transcript.RuleOrder}},
		"a question before results": {list{user("hi"), calls("a"), user("?"), result("a")}, [2]transcript.Rule{transcript.RuleUnanswered, transcript.RuleOrder}},
		"a prompt before results":   {list{user("hi"), calls("a"), system, result("a")}, openAI(transcript.RuleUnanswered)},
		"an answer before results":  {list{user("hi"), calls("a"), answer("so"), result("a")}, openAI(transcript.RuleUnanswered)},
	} {
		t.Run(name, func(t *testing.T) {
			for i, err := range []error{transcript.OpenAI(tc.list), transcript.Anthropic(tc.list)} {
				if tc.want[i] == "" {
					assert.NoError(t, err)
					continue
				}
				var v *transcript.Violation
				require.ErrorAs(t, err, &v)
				assert.Equal(t, tc.want[i], v.Rule, err.Error())
				assert.Contains(t, err.Error(), []string{"OpenAI", "Anthropic"}[i])
			}
			assert.Equal(t, tc.want != both(""), transcript.Check(tc.list) != nil)
		})
	}
}

// The violation tells where it is.
func TestWhereARuleIsBroken(t *testing.T) {
	var v *transcript.Violation
	require.ErrorAs(t, transcript.OpenAI(list{user("hi"), calls("a"), result("a"), result("a")}), &v)
	require.Equal(t, 3, v.Index)
	require.ErrorAs(t, transcript.OpenAI(list{user("hi"), calls("a")}), &v)
	require.Equal(t, 2, v.Index, "missing at the end")
	require.ErrorAs(t, transcript.Anthropic(list{user("hi"), calls("a"), answer("so"), user("?")}), &v)
	require.Equal(t, 3, v.Index)
	require.ErrorAs(t, transcript.Anthropic(list{schema.SystemMessage("s"), answer("hi")}), &v)
	require.Equal(t, 1, v.Index)
}
