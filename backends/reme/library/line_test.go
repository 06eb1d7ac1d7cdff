// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

var zurich = time.FixedZone("UTC+2", 2*60*60)

func quality(q float64) *float64 { return &q }

func read(t testing.TB, line string) *backends.Memory {
	t.Helper()
	m, _, err := library.ReadLine(line, time.UTC)
	require.NoError(t, err)
	return m
}

// What each form of a line says.
func TestR2Lines(t *testing.T) {
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
		{"node of the local store, metadata as a text",
			`{"unique_id":"a","workspace_id":"w","content":"when","vector":[1,2],"metadata":{"memory_type":"task","content":"what","score":0.9,"time_created":"2025-07-24 21:15:17","author":"m","metadata":"{\"tags\":[\"x\"]}","other":1}}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, WhenToUse: "when", Text: "what", Quality: quality(0.9), Created: at, Observed: at, Origin: backends.Origin{Author: "m"},
				Metadata: map[string]any{"tags": []any{"x"}, "extra_fields": map[string]any{"other": 1.0}}}},
		{"node of the local store, metadata as an object",
			`{"unique_id":"a","content":"when","metadata":{"memory_type":"tool","content":"what","tool_call_results":[1],"metadata":{"k":"v"}}}`,
			backends.Memory{ID: "a", Kind: backends.KindTool, WhenToUse: "when", Text: "what", Metadata: map[string]any{"k": "v", "tool_call_results": []any{1.0}}}},
		{"what nobody knows is kept",
			`{"memory_id":"a","content":"what","author":null,"metadata":null,"time_created":"yesterday","time_modified":7,"score":5,"colour":"red","target":"ann"}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, Text: "what", Metadata: map[string]any{"target": "ann",
				"extra_fields": map[string]any{"time_created": "yesterday", "time_modified": 7.0, "score": 5.0, "colour": "red"}}}},
		{"what stands in extra_info is lifted, and category",
			`{"memory_id":"a","content":"what","metadata":{"category":"failure","extra_info":{"tags":["x"],"confidence":0.9,"step_type":"action","tools_used":["t"],"generalized_query":"q"}}}`,
			backends.Memory{ID: "a", Kind: backends.KindTask, Text: "what", Metadata: map[string]any{"category": "failure", "source": "failure", "tags": []any{"x"}, "confidence": 0.9, "step_type": "action", "tools_used": []any{"t"},
				"extra_info": map[string]any{"tags": []any{"x"}, "confidence": 0.9, "step_type": "action", "tools_used": []any{"t"}, "generalized_query": "q"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := read(t, test.line)
			require.Equal(t, &test.want, got)
			for _, in := range []*time.Location{time.UTC, zurich} {
				line, err := library.WriteReMe(got, "w", in)
				require.NoError(t, err)
				again, _, err := library.ReadLine(line, in)
				require.NoError(t, err)
				require.Equal(t, got, again, line)
			}
		})
	}
}

func TestF7LinesWithoutATypeAndMetadataAsText(t *testing.T) {
	object := read(t, `{"memory_id":"a","when_to_use":"w","content":"c","metadata":{"k":[1,"二"]}}`)
	require.Equal(t, backends.KindTask, object.Kind)
	require.Equal(t, map[string]any{"k": []any{1.0, "二"}}, object.Metadata)
	require.Equal(t, object, read(t, `{"memory_id":"a","when_to_use":"w","content":"c","metadata":"{\"k\":[1,\"二\"]}"}`))
	for _, none := range []string{`null`, `""`, `"null"`, `{}`, `"{}"`} {
		require.Empty(t, read(t, `{"memory_id":"a","content":"c","memory_type":null,"metadata":`+none+`}`).Metadata, none)
	}
}

// A score of 0 is nobody's judgement, unless the line says that it is.
func TestR2ScoreOfZero(t *testing.T) {
	for _, score := range []string{"0", "0.0", "null", "-0.0"} {
		require.Nil(t, read(t, `{"memory_id":"a","content":"c","score":`+score+`}`).Quality)
	}
	for _, q := range []*float64{nil, quality(0), quality(0.3), quality(1)} {
		line, err := library.WriteReMe(&backends.Memory{ID: "a", Kind: backends.KindTask, Text: "c", Quality: q}, "w", time.UTC)
		require.NoError(t, err)
		require.Equal(t, q, read(t, line).Quality, line)
	}
}

func TestR21TimesWithoutAZone(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2025-07-24 21:15:17":           time.Date(2025, 7, 24, 19, 15, 17, 0, time.UTC),
		"2025-07-24 21:15:17.123456789": time.Date(2025, 7, 24, 19, 15, 17, 123456000, time.UTC),
		"2025-07-24T21:15:17":           time.Date(2025, 7, 24, 19, 15, 17, 0, time.UTC),
		"2025-07-24T21:15:17Z":          time.Date(2025, 7, 24, 21, 15, 17, 0, time.UTC),
		"2025-07-24 21:15:17+08:00":     time.Date(2025, 7, 24, 13, 15, 17, 0, time.UTC),
		"2025-07-24":                    time.Date(2025, 7, 23, 22, 0, 0, 0, time.UTC),
	} {
		m, _, err := library.ReadLine(`{"memory_id":"a","content":"c","time_created":"`+text+`"}`, zurich)
		require.NoError(t, err)
		require.Equal(t, want, m.Created, text)
	}
}

// A line of ReMe that einomem wrote has nothing but ReMe's members where that says all.
func TestR21PlainLinesStayPlain(t *testing.T) {
	m := read(t, task("a", "when <b> & 何时", "what"))
	line, err := library.WriteReMe(m, "工作区", time.UTC)
	require.NoError(t, err)
	require.Equal(t, `{"workspace_id":"工作区","memory_id":"a","memory_type":"task","when_to_use":"when <b> & 何时","content":"what","score":0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}`+"\n", line)
}

func TestR21LinesThatCannotBeRead(t *testing.T) {
	for line, want := range map[string]string{
		`{"memory_id":"a","content":"c"`:                                                      "not JSON",
		`["memory_id"]`:                                                                       "one memory a line",
		`{"memory_id":"a","content":7}`:                                                       "content is not a text",
		`{"memory_id":"a","content":"c","score":"high"}`:                                      "score is not a number",
		`{"memory_id":"a","content":"c","score":NaN}`:                                         "not JSON",
		`{"memory_id":"a","content":"c","memory_type":"dream"}`:                               "write task, personal or tool",
		`{"memory_id":"a","content":"c","metadata":[1]}`:                                      "metadata: not a JSON object",
		`{"memory_id":"a","content":"c","metadata":"{"}`:                                      "metadata: not JSON",
		`{"memory_id":"a","content":" "}`:                                                     "it says nothing",
		`{"a":1,"b":2}`:                                                                       `no known format, with the members "a", "b"`,
		"{\"memory_id\":\"a\",\"content\":\"\xff\"}":                                          "not UTF-8",
		`{"id":"a","kind":"task","text":"x","quality":2}`:                                     "quality 2 is not from 0 to 1",
		`{"id":"a","kind":"task","text":"x","created":"now"}`:                                 "created",
		`{"einomem_library":2,"memories":0}`:                                                  "format version 2 is not known",
		`{"einomem_library":1,"memories":-1}`:                                                 "damaged",
		`{"einomem_library":1,"memories":2}`:                                                  "ends after 0 memories",
		`{"memory_id":"a","content":"c","metadata":{"einomem":{"v":2}}}`:                      "a later einomem wrote it",
		`{"memory_id":"a","content":"c","metadata":{"einomem":{"v":1,"expires":"soon"}}}`:     "metadata.einomem: expires",
		`{"memory_id":"a","content":"c","colour":1,"metadata":{"extra_fields":{"colour":2}}}`: `"extra_fields" already`,
	} {
		_, _, err := library.ReadLine(line, time.UTC)
		require.ErrorIs(t, err, backends.ErrInvalid, line)
		require.ErrorContains(t, err, want, line)
	}
	_, _, err := library.ReadLine(`{"memory_id":"a","content":"c","metadata":{"einomem":{"v":"mine"}}}`, time.UTC)
	require.NoError(t, err, "what others keep under that name is theirs")
}
