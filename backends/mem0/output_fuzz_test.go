// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// FuzzReadOperations: whatever a model writes, reading it does not panic, and
// every operation that is accepted may be carried out.
func FuzzReadOperations(f *testing.F) {
	for _, s := range []string{
		"", "{}", "[]", "null", `{"operations":[]}`, `{"operations":[{"op":"add","text":"a","since":"2026-01-02","messages":[0,"1",9]}]}`,
		`{"operations":[{"op":"supersede","index":"1","text":"b"},{"op":"retract","index":2.0},{"op":"none","index":1}]}`,
		`[{"op":"retract","index":1e99},{"fact":1,"event":"DELETE"},{"fact":"x"}]`, "```json\n[\"a\",]\n```", "<think>{</think>['a']",
		`{"operations":[{"op":"add","text":"\ud800\u4e2d"},]}`, strings.Repeat(`{"operations":[`, 40), `{'operations':[{op:add,text:'it\'s "so"'}`, `"\`, `{"a":"\`, `}{`, `[{"text":"a" 'b'}`,
	} {
		f.Add(s, s, true)
		f.Add(s, "", false)
	}
	l := limits{existing: 3, facts: 2, messages: 2}
	f.Fuzz(func(t *testing.T, content, arguments string, call bool) {
		m := schema.AssistantMessage(content, nil)
		if call {
			m.ToolCalls = []schema.ToolCall{{Function: schema.FunctionCall{Arguments: arguments}}}
		}
		ops, bad, err := readOperations(m, l)
		if err != nil {
			require.Empty(t, ops)
			return
		}
		for _, op := range ops {
			require.Contains(t, []verb{verbAdd, verbSupersede, verbRetract, verbNone}, op.verb)
			require.True(t, op.index >= -1 && op.index < l.existing && op.fact >= -1 && op.fact < l.facts)
			require.True(t, utf8.ValidString(op.text) && len(op.text) <= maxFact)
			switch op.verb {
			case verbAdd:
				require.True(t, strings.TrimSpace(op.text) != "" || op.fact >= 0)
			case verbSupersede:
				require.True(t, op.index >= 0 && (op.text != "" || op.fact >= 0))
			case verbRetract:
				require.GreaterOrEqual(t, op.index, 0)
			}
			for _, n := range op.messages {
				require.True(t, n >= 0 && n < l.messages)
			}
			require.Contains(t, []string{"", "user", "assistant"}, op.saidBy)
		}
		for _, r := range bad {
			require.Error(t, r.err)
			require.True(t, utf8.ValidString(r.text))
		}
	})
}

func TestNormalizeIsStable(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", " a ": "a", "a  b": "a b", "a\tb\n": "a b", "a.": "a", "a。": "a", "...": "...", "e\u0301": "é", "A": "A", "a .": "a", "5²": "5²",
	} {
		require.Equal(t, want, normalize(in), "%q", in)
		require.Equal(t, want, normalize(normalize(in)), "%q", in)
	}
}

func TestBoundKeepsBothEnds(t *testing.T) {
	require.Equal(t, "short", bound("short", 10, "left out"))
	got := bound(strings.Repeat("头", 50)+strings.Repeat("尾", 50), 20, "left out")
	require.Equal(t, strings.Repeat("头", 15)+" […80 left out…] "+strings.Repeat("尾", 5), got)
	require.Equal(t, "头…", shorten("头尾", 4))
}
