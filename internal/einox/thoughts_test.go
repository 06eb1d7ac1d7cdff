// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
)

func TestThoughtsAreNotSpoken(t *testing.T) {
	for said, want := range map[string]string{
		"<think>\nThe user asks for 2+2.\n</think>\n\nIt is 4.":                              "It is 4.",
		"<think></think>It is 4.":                                                            "It is 4.",
		"<think>\n\n</think>\n\n你住在杭州。":                                                      "你住在杭州。",
		"<THINKING>hm</THINKING> It is 4.":                                                   "It is 4.",
		"<seed:think>hm</seed:think>It is 4.":                                                "It is 4.",
		"[THINK]hm[/THINK]It is 4.":                                                          "It is 4.",
		"◁think▷嗯◁/think▷四。":                                                                 "四。",
		"<|START_THINKING|>hm<|END_THINKING|>It is 4.":                                       "It is 4.",
		"Okay, two and two.\n</think>\n\nIt is 4.":                                           "It is 4.",
		"好的，用户问二加二。</think>是四。":                                                              "是四。",
		"I could use ```go\nx\n``` here.\n</think>\nIt is 4.":                                "It is 4.",
		"<think>a</think>It is 4.\n<think>Is it?</think>\nYes.":                              "It is 4.\n\nYes.",
		"The answer <think>hm</think> is 4.":                                                 "The answer  is 4.",
		"答案<think>嗯</think>是四。":                                                              "答案是四。",
		"<think>I say </think> when I am done, `</think>`.\n</think>Four":                    "Four",
		"<think>It never ends, and the stream was":                                           "",
		"It is 4.\n<think>\nWait":                                                            "It is 4.",
		"<think>```\nunclosed code\n</think>\nIt is 4.":                                      "It is 4.",
		"Let me look.\n<tool_call>\n{\"name\":\"read\"}\n</tool_call>":                       "Let me look.",
		"<tool_call>\n{\"name\":\"read\"}":                                                   "",
		"<tool_response>\n- [a1] user: I live in Graz.\n</tool_response>\nYou live in Graz.": "You live in Graz.",
		"Done.\n</tool_call>":                                                                "Done.",
	} {
		require.Equal(t, want, einox.Spoken(said), said)
	}
}

// People ask about the tags, and code has them.
func TestTagsThatAreSpokenOfStay(t *testing.T) {
	for _, said := range []string{
		"", "It is 4.", "a < b > c", "I think so.",
		"Models put `<think>` and `</think>` around their thoughts.",
		"Strip it by\n```python\nre.sub(r\"<think>.*?</think>\", \"\", s)\n```\nand print the rest.",
		"The <think> tag opens it, and the </think> tag closes it.",
		"Put it between <think> and </think>, please.",
		"请使用<think>标签，并以</think>标签结束。",
		`It prints "<think>" first, then “</think>”.`,
		"Use <tool_call> tags around each call.",
		"``a ` b <think>`` is code, too.",
	} {
		require.Equal(t, said, einox.Spoken(said))
	}
}

func TestOnlyAnAssistantThinksAloud(t *testing.T) {
	const s = "<think>what?</think>Hi."
	require.Equal(t, s, einox.Text(schema.UserMessage(s)))
	require.Equal(t, s, einox.Stored(schema.ToolMessage(s, "1"), strings.Clone).Content)
	said := schema.AssistantMessage(s, nil)
	require.Equal(t, "Hi.", einox.Text(said))
	require.Equal(t, "Hi.", einox.Stored(said, strings.Clone).Content)
	require.Equal(t, s, said.Content, "the program's own message stays as it is")
	parts := &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: s}}}
	require.Equal(t, "Hi.", einox.Text(parts))
	require.Equal(t, "Hi.", einox.Stored(parts, strings.Clone).AssistantGenMultiContent[0].Text)
	require.Equal(t, s, parts.AssistantGenMultiContent[0].Text)
}

func TestManyTagsTakeNoSquareOfTheTime(t *testing.T) {
	for _, unit := range []string{"`<", "```<\n", "<think>", "</think>", "a <think> tag ", "`a\n\n<", "<tool_call>```"} {
		require.NotPanics(t, func() { einox.Spoken(strings.Repeat(unit, 1<<16)) }, unit)
	}
}
