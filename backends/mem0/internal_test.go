// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/modelanswer"
)

func TestIntIn(t *testing.T) {
	for in, want := range map[string]int{`3`: 3, `"3"`: 3, `3.0`: 3, `"[3]"`: 3, `"#3"`: 3, `[3]`: 3, `0`: 0, `" 7 "`: 7} {
		v, err := modelanswer.JSON("[" + in + "]")
		require.NoError(t, err)
		n, ok := intIn(v.([]any)[0])
		require.True(t, ok, in)
		require.Equal(t, want, n, in)
	}
	for _, in := range []string{`-1`, `1.5`, `"three"`, `1e300`, `null`, `true`, `[]`, `[1,2]`, `{}`, `""`, `"NaN"`, `"Inf"`, `"0x10"`} {
		v, err := modelanswer.JSON("[" + in + "]")
		require.NoError(t, err)
		_, ok := intIn(v.([]any)[0])
		require.False(t, ok, in)
	}
	require.Equal(t, []int{1, 2}, intsIn([]any{json.Number("1"), "2", "x", nil}))
	require.Equal(t, []int{4}, intsIn("4"))
	require.Empty(t, intsIn(nil))
}

func TestTimeIn(t *testing.T) {
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"2026-03-02": day, "2026/03/02": day, "2026-03-02T15:04:05Z": day.Add(15*time.Hour + 4*time.Minute + 5*time.Second),
		"2026-03-02T09:00:00+09:00": day, "2026-03-02 15:04": day.Add(15*time.Hour + 4*time.Minute), "2026-03": day.AddDate(0, 0, -1), "2026": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"": {}, "soon": {}, "2026-13-40": {}, "YYYY-MM-DD": {}, "0000-01-01": {},
	} {
		require.Equal(t, want, timeIn(in), in)
	}
}

func TestUnwrapText(t *testing.T) {
	require.Equal(t, "a ```code``` b", unwrapText("a ```code``` b"), "a procedure may hold code")
	require.Equal(t, "1. run\n```sh\nls\n```\n2. stop", unwrapText("1. run\n```sh\nls\n```\n2. stop"))
	require.Equal(t, "all of it", unwrapText("```text\nall of it\n```"))
}

func TestHandover(t *testing.T) {
	for text, want := range map[string]bool{
		"For context: [planner] said: hello.": false, "For context: [a b] called tool: `x` with arguments: {}.": false, "For context: [a] `x` tool returned result: y.": false,
		"For context: I moved": true, "For context: [1] is a footnote": true, "He said: For context: [a] said: x": true, "": true,
	} {
		require.Equal(t, want, learnable(schema.UserMessage(text)), text)
	}
}

func TestIdentity(t *testing.T) {
	p := backends.Partition{Namespace: "n", Kind: "user", ID: "ann"}
	m := func(kind backends.Kind, role, text string) identity {
		return identityOf(&backends.Memory{Kind: kind, Text: text, Origin: backends.Origin{Role: role}})
	}
	base := m(backends.KindEpisode, "user", "I like tea")
	require.Equal(t, base.id(p, 0), m(backends.KindEpisode, "user", " I  like tea. ").id(p, 0))
	seen := map[string]bool{}
	for _, id := range []string{
		base.id(p, 0), base.id(p, 1), m(backends.KindEpisode, "assistant", "I like tea").id(p, 0), m(backends.KindFact, "user", "I like tea").id(p, 0),
		m(backends.KindEpisode, "user", "I like Tea").id(p, 0), base.id(backends.Partition{Namespace: "n", Kind: "agent", ID: "ann"}, 0), messageID(&utterance{role: "user", text: "I like tea"}),
	} {
		require.False(t, seen[id])
		require.Len(t, id, 36)
		require.Equal(t, byte('8'), id[14], "version 8")
		seen[id] = true
	}
	require.Equal(t, m(backends.KindFact, "user", "x"), m(backends.KindFact, "assistant", "x"))
}
