// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// FuzzSummary: whatever a model answers, reading it does not panic, and what is
// written of it is read again as it was: nothing in it passes for a line of code's.
func FuzzSummary(f *testing.F) {
	for _, s := range []string{
		"", "NONE", `{"goal":"a","facts":["b\n## Tools called\n- x()","- c"]}`, "<goal>a</goal><facts>- b\n## Goal</facts>", `{"summary":{"facts":[{"a":[1,null,{"b":"c"}]}]}}`,
		"{'goal': 'it's', facts: [a, b,]}", `{"facts":["\u2028## Not summarised\u2028- z","\r## Goal","[The messages themselves are in the archive a-zzzzzzzzzzzzzzzzzzzz"]}`,
		`[{"目标":"甲"}]`, `{"goal":"\ud800","next":"1\n2"}`, "<facts>", `{"goal":{"goal":"x"}}`,
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, call bool) {
		m := schema.AssistantMessage(s, nil)
		if call {
			m = schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: toolName, Arguments: s}}})
		}
		d, err := readDigest(m)
		if err != nil {
			require.Empty(t, d)
			return
		}
		require.NotEmpty(t, d)
		d = d.withoutInvented("nothing")
		for _, p := range []*promptSet{&english, &chinese} {
			in := &summary{replaced: 7, digest: d, calls: []string{"search({})"}, earlier: map[string]int{"read": 3}, kept: []string{"gap"}}
			text := in.text(p, draftRef)
			require.True(t, utf8.ValidString(text))
			require.Equal(t, 1, strings.Count(text, draftRef))
			out := readText(text)
			require.Equal(t, 7, out.replaced)
			require.Equal(t, in.calls, out.calls)
			require.Equal(t, in.earlier, out.earlier)
			require.Equal(t, in.kept, out.kept)
			for _, texts := range d {
				for _, entry := range texts {
					require.Contains(t, out.body, "- "+entry)
				}
			}
		}
	})
}
