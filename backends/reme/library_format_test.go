// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

// writeLine writes a memory as a dump does.
func writeLine(w io.Writer, m *backends.Memory, workspace string, in *time.Location) error {
	line, err := (&Library{zone: in}).Encode(m, workspace)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

func quality(q float64) *float64 { return &q }

// survives checks that a memory that is written as a line and read again is the same.
func survives(t require.TestingT, m *backends.Memory, in *time.Location) {
	before, err := json.Marshal(m)
	require.NoError(t, err)
	var line bytes.Buffer
	require.NoError(t, writeLine(&line, m, "w", in))
	got, err := parseLine(line.Bytes(), in)
	require.NoError(t, err, "%s", line.String())
	after, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after), "%s", line.String())
	unchanged, err := json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(unchanged))
}

var berlin = time.FixedZone("CEST", 2*60*60)

// What each format of a line says: that of ReMe 0.2 and that of before.
func TestLinesOfALibrary(t *testing.T) {
	at := time.Date(2025, 7, 24, 21, 15, 17, 0, time.UTC)
	for _, test := range []struct {
		name, line string
		want       backends.Memory
	}{
		{"task",
			`{"workspace_id":"w","memory_id":"a","memory_type":"task","when_to_use":"when","content":"what","score":0.5,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{"tags":["x"],"freq":3,"utility":1}}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, WhenToUse: "when", Text: "what", Quality: quality(0.5), Created: at, Observed: at, Updated: at.Add(time.Second),
				Origin: backends.Origin{Author: "m"}, Metadata: map[string]any{"tags": []any{"x"}, "freq": 3.0, "utility": 1.0}}},
		{"personal",
			`{"memory_id":"a","memory_type":"personal","when_to_use":"城市","content":"他住在上海","target":"王芳","reflection_subject":"","metadata":{"keywords":"城市"}}`,
			backends.Memory{ID: "a", Kind: backends.KindPersonal, WhenToUse: "城市", Text: "他住在上海", Metadata: map[string]any{"keywords": "城市", "target": "王芳"}}},
		{"tool",
			`{"memory_id":"a","memory_type":"tool","when_to_use":"search","content":"","tool_call_results":[{"tool_name":"search","success":false}]}`,
			backends.Memory{ID: "a", Kind: backends.KindTool, WhenToUse: "search", Metadata: map[string]any{"tool_call_results": []any{map[string]any{"tool_name": "search", "success": false}}}}},
		{"experience of before 0.2",
			`{"workspace_id":"w","experience_id":"a","experience_type":"text","when_to_use":"何时","content":"什么","score":null,"metadata":{"author":"m","created_time":"2025-07-24 21:15:17","modified_time":"2025-07-24 21:15:17","extra_info":null}}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, WhenToUse: "何时", Text: "什么", Created: at, Observed: at, Updated: at, Origin: backends.Origin{Author: "m"},
				Metadata: map[string]any{"author": "m", "created_time": "2025-07-24 21:15:17", "modified_time": "2025-07-24 21:15:17", "extra_info": nil}}},
		{"unknown members are kept",
			`{"memory_id":"a","content":"what","author":null,"metadata":null,"score":5,"colour":"red","target":"ann"}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, Text: "what", Metadata: map[string]any{"extra_fields": map[string]any{"score": 5.0, "colour": "red", "target": "ann"}}}},
		{"members of metadata stay where they are",
			`{"memory_id":"a","content":"what","metadata":{"category":"failure","extra_info":{"tags":["x"]}}}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, Text: "what", Metadata: map[string]any{"category": "failure", "extra_info": map[string]any{"tags": []any{"x"}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseLine([]byte(test.line), time.UTC)
			require.NoError(t, err)
			require.Equal(t, &test.want, got)
			survives(t, got, time.UTC)
			survives(t, got, berlin)
		})
	}
	// A memory with nothing but what ReMe has is written with nothing but ReMe's members.
	line := `{"workspace_id":"工作区","memory_id":"a","memory_type":"task","when_to_use":"when <b> & 何时","content":"什么","score":0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}` + "\n"
	m, err := parseLine([]byte(line), time.UTC)
	require.NoError(t, err)
	var again strings.Builder
	require.NoError(t, writeLine(&again, m, "工作区", time.UTC))
	require.Equal(t, line, again.String())
}

// A score of 0 means that the memory was not judged.
func TestScoresAndTypesOfLines(t *testing.T) {
	for _, score := range []string{"0", "0.0", "null", "-0.0"} {
		m, err := parseLine([]byte(`{"memory_id":"a","content":"c","memory_type":null,"score":`+score+`}`), time.UTC)
		require.NoError(t, err)
		require.Nil(t, m.Quality)
		require.Equal(t, backends.KindTask, m.Kind)
	}
	for _, q := range []*float64{nil, quality(0.3), quality(1)} {
		survives(t, &backends.Memory{ID: "a", Kind: backends.KindTask, Text: "c", Quality: q}, time.UTC)
	}
	for _, metadata := range []string{`null`, `{}`} {
		m, err := parseLine([]byte(`{"memory_id":"a","content":"c","metadata":`+metadata+`}`), time.UTC)
		require.NoError(t, err)
		require.Empty(t, m.Metadata, metadata)
	}
}

// ReMe's times have no zone: they are in that of the configuration.
func TestTimesOfLines(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2025-07-24 21:15:17":           time.Date(2025, 7, 24, 19, 15, 17, 0, time.UTC),
		"2025-07-24 21:15:17.123456789": time.Date(2025, 7, 24, 19, 15, 17, 123456000, time.UTC),
		"2025-07-24T21:15:17":           time.Date(2025, 7, 24, 19, 15, 17, 0, time.UTC),
		"2025-07-24T21:15:17Z":          time.Date(2025, 7, 24, 21, 15, 17, 0, time.UTC),
		"2025-07-24 21:15:17+08:00":     time.Date(2025, 7, 24, 13, 15, 17, 0, time.UTC),
		"2025-07-24":                    time.Date(2025, 7, 23, 22, 0, 0, 0, time.UTC),
	} {
		m, err := parseLine([]byte(`{"memory_id":"a","content":"c","time_created":"`+text+`"}`), berlin)
		require.NoError(t, err)
		require.Equal(t, want, m.Created, text)
	}
}

func TestLinesThatCannotBeRead(t *testing.T) {
	for line, want := range map[string]string{
		`{"memory_id":"a","content":"c"`:                             "not JSON",
		`["memory_id"]`:                                              "a library has one in each line",
		`{"memory_id":"a","content":7}`:                              "content",
		`{"memory_id":"a","content":"c","score":"high"}`:             "score",
		`{"memory_id":"a","content":"c","memory_type":"dream"}`:      "write task, personal or tool",
		`{"memory_id":"a","content":"c","metadata":[1]}`:             "metadata",
		`{"memory_id":"a","content":"c","metadata":"{}"}`:            "metadata",
		`{"memory_id":"a","content":"c","time_created":"yesterday"}`: `time_created "yesterday" is not a time`,
		`{"a":1,"b":2}`: `among its members ["a" "b"]`,
		"{\"memory_id\":\"a\",\"content\":\"\xff\"}":                                          "not UTF-8",
		`{"unique_id":"a","content":"when","metadata":{}}`:                                    "local vector store",
		`{"export_version":1,"partition":{}}`:                                                 "Backend.Import reads it",
		`{"memory_id":"a","content":"c","colour":1,"metadata":{"extra_fields":{"colour":2}}}`: `"extra_fields"`,
	} {
		_, err := parseLine([]byte(line), time.UTC)
		require.ErrorContains(t, err, want, line)
	}
}

// words are texts with what breaks formats, names are keys, among them the format's own.
var (
	words = rapid.SampledFrom([]string{"", "x", "何时使用", "a\nb", `"quoted" \ <&> `, " ", "\u2028", "2025-07-24 21:15:17", "null", "{}", "👩‍👧", "%2F../"})
	names = rapid.SampledFrom([]string{"tags", "extra_info", "category", "source", "extra_fields", "target", "reflection_subject", "tool_call_results",
		"author", "created_time", "memory_id", "score", "metadata", "v", "k", "content", "confidence", "time_created"})
)

// jsonValues are any values of JSON.
func jsonValues(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), words.AsAny(), rapid.Bool().AsAny(), rapid.SampledFrom([]float64{0, 1, -1.5, 0.1, 1e300}).AsAny())
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.SliceOfN(jsonValues(depth-1), 0, 2).AsAny(), rapid.MapOfN(names, jsonValues(depth-1), 0, 3).AsAny())
}

// A line of ReMe, with members that are not known here, comes back with all of them.
func TestLinesOfReMeComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := map[string]any{"workspace_id": "w", "memory_id": "a", "memory_type": rapid.SampledFrom([]string{"task", "personal", "tool"}).Draw(t, "type"),
			"when_to_use": words.Draw(t, "when"), "content": words.Draw(t, "content") + "!", "author": rapid.SampledFrom([]string{"m", "模型"}).Draw(t, "author"),
			"score": rapid.SampledFrom([]float64{0, 0.5, 1, 7, -2}).Draw(t, "score"), "time_created": "2025-07-24 21:15:17", "time_modified": "2025-07-25 00:00:00"}
		metadata := rapid.MapOfN(names, jsonValues(2), 0, 3).Draw(t, "metadata")
		for _, own := range []string{"extra_fields", "target", "reflection_subject", "tool_call_results", "tags", "confidence", "source", "author", "created_time"} {
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
			line[fmt.Sprint("unknown_", i)] = jsonValues(1).Draw(t, "unknown")
		}
		text, err := json.Marshal(line)
		require.NoError(t, err)
		m, err := parseLine(text, time.UTC)
		require.NoError(t, err)
		var again strings.Builder
		require.NoError(t, writeLine(&again, m, "w", time.UTC))
		require.JSONEq(t, string(text), again.String())
	})
}

// No line breaks the reader, and what can be read survives.
func FuzzLineOfALibrary(f *testing.F) {
	for _, line := range []string{
		`{"memory_id":"a","when_to_use":"when","content":"what"}`,
		`{"unique_id":"a","content":"w","metadata":{"content":"c","metadata":"{}"}}`, `{"experience_id":"a","experience_type":"text","content":"c","score":null}`,
		`{"id":"a","kind":"task","text":"x"}`, "[]", "{", "\xff", `{"memory_id":"a","content":"c","score":1e999}`, `{"memory_id":"a","memory_type":"tool","when_to_use":"t","tool_call_results":[[]]}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if m, err := parseLine([]byte(line), time.UTC); err == nil {
			survives(t, m, time.UTC)
		}
	})
}
