// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

// words are texts with what breaks formats.
var words = rapid.SampledFrom([]string{"", "x", "何时使用", "a\nb", `"quoted" \ <&> `, " ", "\u2028", "2025-07-24 21:15:17", "null", "{}", "👩‍👧", "%2F../"})

// names are keys of metadata, among them those that the formats use themselves.
var names = rapid.SampledFrom([]string{"tags", "extra_info", "category", "source", "einomem", "extra_fields", "target", "reflection_subject", "tool_call_results",
	"author", "created_time", "memory_id", "score", "metadata", "v", "k", "content", "confidence", "time_created"})

func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch n := rapid.IntRange(0, 7).Draw(t, "value"); {
		case n == 0:
			return nil
		case n == 1:
			return rapid.Bool().Draw(t, "bool")
		case n == 2:
			return rapid.SampledFrom([]float64{0, 1, -1.5, 0.1, 1e300, 3}).Draw(t, "number")
		case n <= 4 || depth == 0:
			return words.Draw(t, "text")
		case n == 5:
			list := make([]any, rapid.IntRange(0, 2).Draw(t, "length"))
			for i := range list {
				list[i] = values(depth-1).Draw(t, "element")
			}
			return list
		}
		return objects(depth-1).Draw(t, "object")
	})
}

func objects(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			out[names.Draw(t, "name")] = values(depth).Draw(t, "member")
		}
		return out
	})
}

func times(t *rapid.T, name string) time.Time {
	if rapid.IntRange(0, 2).Draw(t, name+" unset") == 0 {
		return time.Time{}
	}
	step := rapid.SampledFrom([]time.Duration{time.Second, time.Microsecond, time.Hour}).Draw(t, name+" step")
	return start.Add(time.Duration(rapid.IntRange(-5000, 5000).Draw(t, name)) * step)
}

// memories are memories with every field, as a backend may write them.
var memories = rapid.Custom(func(t *rapid.T) *backends.Memory {
	m := &backends.Memory{
		ID:        rapid.SampledFrom([]string{"a", "b", "c-1", "内存", "x/../y"}).Draw(t, "id"),
		Kind:      rapid.SampledFrom([]backends.Kind{backends.KindTask, backends.KindTask, backends.KindPersonal, backends.KindTool, backends.KindFact, backends.KindProcedure}).Draw(t, "kind"),
		WhenToUse: words.Draw(t, "when"), Text: words.Draw(t, "text") + "!", Metadata: objects(2).Draw(t, "metadata"),
		Observed: times(t, "observed"), Valid: times(t, "valid"), Invalidated: times(t, "invalidated"), Created: times(t, "created"), Updated: times(t, "updated"), Expires: times(t, "expires"),
		Supersedes: words.Draw(t, "supersedes"), SupersededBy: words.Draw(t, "superseded by"),
		Origin: backends.Origin{Author: words.Draw(t, "author"), Session: words.Draw(t, "session"), Role: words.Draw(t, "role")},
		Scope:  backends.Scope{AgentID: rapid.SampledFrom([]string{"", "g"}).Draw(t, "agent")},
	}
	if rapid.Bool().Draw(t, "judged") {
		m.Quality = quality(rapid.SampledFrom([]float64{0, 1, 0.1, 0.7300000001}).Draw(t, "quality"))
	}
	if rapid.Bool().Draw(t, "messages") {
		m.Origin.MessageIDs = []string{"m1"}
	}
	return m
})

func same(t require.TestingT, want, got *backends.Memory, line string) {
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(a), string(b), line)
}

// Reading what was written gives the same memory, in both formats, whatever it has.
func TestR2WrittenLinesReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := memories.Draw(t, "memory")
		in := rapid.SampledFrom([]*time.Location{time.UTC, zurich}).Draw(t, "zone")
		before, err := json.Marshal(m)
		require.NoError(t, err)
		line, err := library.WriteReMe(m, "w", in)
		require.NoError(t, err)
		after, err := json.Marshal(m)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), "it is left as it was")
		got, _, err := library.ReadLine(line, in)
		require.NoError(t, err, line)
		same(t, m, got, line)
		again, err := library.WriteReMe(got, "w", in)
		require.NoError(t, err)
		require.JSONEq(t, line, again)

		line, err = library.WriteOwn(m, []byte{1, 2})
		require.NoError(t, err)
		got, vector, err := library.ReadLine(line, in)
		require.NoError(t, err)
		same(t, m, got, line)
		require.Equal(t, []byte{1, 2}, vector)
	})
}

// A line of ReMe, with members that nobody knows, comes back with all of them.
func TestR21ReMeLinesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := map[string]any{"workspace_id": "w", "memory_id": "a", "memory_type": rapid.SampledFrom([]string{"task", "personal", "tool"}).Draw(t, "type"),
			"when_to_use": words.Draw(t, "when"), "content": words.Draw(t, "content") + "!", "author": rapid.SampledFrom([]string{"m", "模型"}).Draw(t, "author"),
			"score": rapid.SampledFrom([]float64{0, 0.5, 1, 7, -2}).Draw(t, "score"), "time_created": "2025-07-24 21:15:17",
			"time_modified": rapid.SampledFrom([]string{"2025-07-25 00:00:00", "later"}).Draw(t, "modified")}
		metadata := objects(2).Draw(t, "metadata")
		for _, own := range []string{"einomem", "extra_fields", "target", "reflection_subject", "tool_call_results", "tags", "confidence", "source", "author", "created_time"} {
			delete(metadata, own)
		}
		line["metadata"] = metadata
		switch line["memory_type"] {
		case "personal":
			line["target"], line["reflection_subject"] = words.Draw(t, "target"), "she"
		case "tool":
			line["tool_call_results"] = []any{map[string]any{"tool_name": "f", "output": words.Draw(t, "output")}}
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "more") {
			line[fmt.Sprint("unknown_", i)] = values(1).Draw(t, "unknown")
		}
		text, err := json.Marshal(line)
		require.NoError(t, err)
		m, _, err := library.ReadLine(string(text), time.UTC)
		require.NoError(t, err)
		again, err := library.WriteReMe(m, "w", time.UTC)
		require.NoError(t, err)
		require.JSONEq(t, string(text), again)
	})
}

// Workspaces of any memories are the same after a dump and a load, in either format.
func TestR21DumpAndLoadGiveTheSameWorkspace(t *testing.T) {
	a, b := open(t, options{}), open(t, options{config: library.Config{OneBatch: 2}})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		at := backends.Scope{Workspace: fmt.Sprint("w", n)}
		var list []backends.Memory
		seen := map[string]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "memories") {
			if m := memories.Draw(t, "memory"); !seen[m.ID] && m.Kind != backends.KindTool {
				seen[m.ID] = true
				list = append(list, *m)
			}
		}
		if len(list) == 0 {
			return
		}
		a.put(at, list...)
		for _, format := range []library.Format{library.Einomem, library.ReMe} {
			b.load(at, a.dump(&library.DumpRequest{Scope: at, Format: format, Past: true}))
			want, got := a.all(at), b.all(at)
			require.Len(t, got, len(want))
			for id, m := range want {
				other := got[id]
				same(t, &m, &other, string(format))
			}
		}
	})
}
