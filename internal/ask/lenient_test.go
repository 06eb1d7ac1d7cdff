// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLenient(t *testing.T) {
	for in, want := range map[string]any{
		`{"a":"x",}`:                                map[string]any{"a": "x"},
		`{'a':'it\'s', b: None}`:                    map[string]any{"a": "it's", "b": nil},
		`[{"a":"x"} {"a":"y"}]`:                     []any{map[string]any{"a": "x"}, map[string]any{"a": "y"}},
		`{"a":"x" "b":"y"}`:                         map[string]any{"a": "x", "b": "y"},
		"{\"a\":\"x\ny\"}":                          map[string]any{"a": "x\ny"},
		`{"a":"he said "hi" to me"}`:                map[string]any{"a": `he said "hi" to me`},
		`{"a":"he said "hi", then left","b":1}`:     map[string]any{"a": `he said "hi", then left`, "b": json.Number("1")},
		`{"a":"it's","b":True}`:                     map[string]any{"a": "it's", "b": true},
		`{"a":"\u4f4f\u5728 \ud83d\ude00 \ud800",}`: map[string]any{"a": "住在 😀 �"},
		`{“a”：“住在上海”，“b”：2}`:                        map[string]any{"a": "住在上海", "b": json.Number("2")},
		`{"a":"他说"你好"就走了",}`:                        map[string]any{"a": `他说"你好"就走了`},
		"[ // none\n \"http://x.y/z\", /* b */ ]":   []any{"http://x.y/z"},
		`{"a":"C:\Users\x\new",}`:                   map[string]any{"a": "C:\\Users\\x\new"},
		`[true, -1.5e3, some words, ]`:              []any{true, json.Number("-1.5e3"), "some words"},
		`{"a":"",,"b":[],}`:                         map[string]any{"a": "", "b": []any{}},
	} {
		got, err := readLenient(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]error{
		``: ErrTruncated, `{"a":"I love trav`: ErrTruncated, `[{"a":1},{"b"`: ErrTruncated, `[{"a":1}`: ErrTruncated, `{"a":tru`: ErrTruncated,
		`{'a':`: ErrTruncated, `{a 1}`: ErrMalformed, `[1}`: ErrMalformed, `{[`: ErrMalformed, strings.Repeat("[", 100): ErrMalformed, `{=1}`: ErrMalformed, `[:]`: ErrMalformed,
	} {
		_, err := readLenient(in)
		require.ErrorIs(t, err, want, in)
	}
}

// What is JSON already is read as JSON.
func FuzzLenientAgreesWithJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b",null,true,{"c":"d\n\u4e2d"}]}`, `["x\"y","",-0.5e-3]`, `{"a":"b","c":{"d":[]}}`, `"\ud800"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := readLenient(s)
		want, jsonErr := decode(s)
		if jsonErr != nil || !json.Valid([]byte(s)) || strings.ContainsAny(s, `'"`) {
			return // texts with quotes inside are a matter of judgement
		}
		if _, isContainer := want.([]any); isContainer && strings.Count(s, "[") < maxDepth {
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}
