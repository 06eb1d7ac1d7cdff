// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package jsontext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/jsontext"
)

var printable = []string{"search_memory", "add_memory"}

// Each is a shape in which models were seen to print a call.
func TestPrintedCalls(t *testing.T) {
	const tea, keywords = `{"content":"Ann likes tea."}`, `{"keywords":["tea"]}`
	for printed, want := range map[string]string{
		"<tool_call>\n{\"name\": \"search_memory\", \"arguments\": {\"keywords\": [\"tea\"]}}\n</tool_call>":                                                   "search_memory" + keywords,
		"Let me look.\n\n<tool_call>{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}</tool_call>\nYou like coffee.":                         "search_memory" + keywords + " Let me look.",
		"```json\n{\"name\": \"search_memory\", \"parameters\": {\"keywords\": [\"tea\"]}}\n```":                                                               "search_memory" + keywords,
		"{\"name\":\"search_memory\",\"arguments\":\"{\\\"keywords\\\":[\\\"tea\\\"]}\"}":                                                                      "search_memory" + keywords,
		"{{\"name\": \"search_memory\", \"arguments\": {{\"keywords\": [\"tea\"]}}}}":                                                                          "search_memory" + keywords,
		"<tool_call>\n{{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}}\n</tool_call>":                                                     "search_memory" + keywords,
		"{\"type\": \"function\", \"function\": {\"name\": \"search_memory\", \"arguments\": {\"keywords\": [\"tea\"]}}}":                                      "search_memory" + keywords,
		"{\"function\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}":                                                                              "search_memory" + keywords,
		"{\"search_memory\": {\"keywords\": [\"tea\"]}}":                                                                                                       "search_memory" + keywords,
		"```xml\n<tools>\n{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}\n</tools>\n```":                                                  "search_memory" + keywords,
		"[TOOL_CALLS][{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}]":                                                                    "search_memory" + keywords,
		"<|python_tag|>{\"name\":\"search_memory\",\"parameters\":{\"keywords\":[\"tea\"]}}":                                                                   "search_memory" + keywords,
		"functools[{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}]":                                                                       "search_memory" + keywords,
		"{\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"search_memory\",\"arguments\":\"{\\\"keywords\\\":[\\\"tea\\\"]}\"}}]}": "search_memory" + keywords,
		"<tool_call>\n<function=search_memory>\n<parameter=keywords>\n[\"tea\"]\n</parameter>\n</function>\n</tool_call>":                                      "search_memory" + keywords,
		"I look.\n<function=add_memory>\n<parameter=content>\nAnn likes tea.\n</parameter>\n</function>\n</tool_call>":                                         "add_memory" + tea + " I look.",
		"<invoke name=\"add_memory\"><parameter name=\"content\">Ann likes tea.</parameter></invoke>":                                                          "add_memory" + tea,
		"<function=add_memory>{\"content\":\"Ann likes tea.\"}</function>":                                                                                     "add_memory" + tea,
		"{'name': 'add_memory', 'arguments': {'content': 'Ann likes tea.'}}":                                                                                   "add_memory" + tea,
		"<tool_call>\n{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann likes tea.\"}\n</tool_call>":                                                   "add_memory" + tea,
		"{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann likes tea.\"}":                                                                              "add_memory" + tea,
		"好的，我记下来。\n```json\n{\"name\": \"add_memory\", \"arguments\": {\"content\": \"Ann likes tea.\"}}\n```":                                                 "add_memory" + tea + " 好的，我记下来。",
		"<think>I call {\"name\":\"search_memory\"}</think>{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann likes tea.\"}}":                           "add_memory" + tea + " <think>I call {\"name\":\"search_memory\"}</think>",
		"{{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}}\n{{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann likes tea.\"}}}":    "search_memory" + keywords + "add_memory" + tea,
		"{\"name\":\"search_memory\",\"arguments\":{\"keywords\":[\"tea\"]}}\n{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann likes tea.\"}}":        "search_memory" + keywords + "add_memory" + tea,
		"<tool_call>\n{\"name\":\"add_memory\",\"arguments\":{\"content\":\"Ann lik":                                                                           "",
		"{\"name\":\"search_memory\"}":                              "search_memory{}",
		"I look.[TOOL_CALLS]search_memory{\"keywords\": [\"tea\"]}": "search_memory" + keywords + " I look.",
		"[TOOL_CALLS]search_memory[ARGS]{\"keywords\": [\"tea\"]}[TOOL_CALLS]add_memory[ARGS]{\"content\": \"Ann likes tea.\"}":                          "search_memory" + keywords + "add_memory" + tea,
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search_memory\n```json\n{\"keywords\": [\"tea\"]}\n```<｜tool▁call▁end｜>":             "search_memory" + keywords,
		"好的。<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search_memory<｜tool▁sep｜>{\"keywords\": [\"tea\"]}<｜tool▁call▁end｜><｜tool▁calls▁end｜>":                "search_memory" + keywords + " 好的。",
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.search_memory:0<|tool_call_argument_begin|>{\"keywords\": [\"tea\"]}<|tool_call_end|>": "search_memory" + keywords,
		"<|channel|>commentary to=functions.search_memory <|constrain|>json<|message|>{\"keywords\": [\"tea\"]}<|call|>":                                 "search_memory" + keywords,
		"<tool_call>search_memory\n<arg_key>keywords</arg_key>\n<arg_value>[\"tea\"]</arg_value>\n</tool_call>":                                          "search_memory" + keywords,
		"<tool_call>search_memory\n{\"keywords\": [\"tea\"]}\n</tool_call>":                                                                              "search_memory" + keywords,
		"[TOOL_CALLS]search_memory{\"keywords\": [\"te": "",
		"<function=search_memory></function>":           "search_memory{}",
		"<\n```json\n{\"name\":\"search_memory\"}\n```": "search_memory{}",
		"*\n{\"name\":\"search_memory\"}":               "search_memory{}",
	} {
		calls, said := jsontext.Printed(printed, printable)
		got := ""
		for _, c := range calls {
			got += c.Name + c.Arguments
		}
		if said != "" {
			got += " " + said
		}
		require.Equal(t, want, got, printed)
		shown := 0
		for at, r := range printed {
			shown = jsontext.MayPrint(printed[:at+len(string(r))], shown, printable)
		}
		if !strings.Contains(printed, "<think>") && !strings.HasPrefix(printed, "functools") { // words, until a bracket comes
			require.Equal(t, said, strings.TrimSpace(printed[:shown]), "a person sees no call while it streams: %s", printed)
		}
	}
}

func TestWhatIsNoPrintedCall(t *testing.T) {
	for _, said := range []string{
		"", "It is 4.", "I have a search_memory tool, and call it when I need to.",
		"```json\n{\"name\": \"Ann\", \"arguments\": []}\n```",
		"{\"name\":\"read_file\",\"arguments\":{\"path\":\"search_memory.go\"}}",
		"<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>",
		"<function=read_file><parameter=path>a</parameter></function>",
		"{\"tools\": [\"search_memory\", \"add_memory\"]}",
		"func main() { search_memory() }",
		"```go\nsearch_memory := map[string]any{\"a\": 1}\n```", "Call search_memory with {\"keywords\": [\"tea\"]}.", "```json\nsearch {\"search_memory\": 1}\n```",
		"<think>I might call {\"name\":\"search_memory\",\"arguments\":{}}</think>It is 4.",
	} {
		calls, rest := jsontext.Printed(said, printable)
		require.Empty(t, calls, said)
		require.Equal(t, said, rest)
	}
}

// A text is held back only while it may become a call.
func TestMayPrintHoldsNoOrdinaryAnswerBack(t *testing.T) {
	for _, said := range []string{
		"It is 4, and a < b.", "Use <b>bold</b> or `code` here.\n\n```go\nfunc main() {\n\tprint(1)\n}\n```\nThat is all.",
		"```json\n{\"city\": \"Oslo\", \"name\": \"Ann\"}\n```", "[1] see {2}", "1. **List** [link](https://example.org)",
		"```json\n{\"name\": \"Ann\", " + strings.Repeat("\"likes\": \"tea\", ", 12) + "\n", "你住在杭州。",
	} {
		worst, shown := 0, 0
		for at, r := range said {
			end := at + len(string(r))
			shown = jsontext.MayPrint(said[:end], shown, printable)
			worst = max(worst, end-shown)
		}
		require.LessOrEqual(t, worst, 200, said)
		require.Equal(t, len(said)+2, jsontext.MayPrint(said+" .", shown, printable), said)
	}
}
