// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func calls(arguments ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, a := range arguments {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Function: schema.FunctionCall{Name: "x", Arguments: a}})
	}
	return m
}

func TestR13ScoresAreReadHoweverTheyAreWritten(t *testing.T) {
	for text, want := range map[string]map[int]int{
		`{"scores":[{"n":0,"score":3},{"n":1,"score":0}]}`:                      {0: 3, 1: 0},
		`[{"n":"1","score":"2"}]`:                                               {1: 2},
		"<think>hm</think>```json\n{\"scores\":[{\"n\":0,\"score\":1.0}]}\n```": {0: 1},
		`{"scores":"[{\"n\":0,\"score\":1}]"}`:                                  {0: 1},
		`{"scores":[{"n":0,"score":1},{"n":0,"score":3},{"n":0,"score":2}]}`:    {0: 3},
	} {
		got, missing, err := readScores(schema.AssistantMessage(text, nil), []int{0, 1})
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		assert.Len(t, missing, 2-len(got), text)
	}
	got, missing, err := readScores(calls(`{"scores":[{"n":0,"score":1}]}`, `{"scores":[{"n":1,"score":2}]}`), []int{0, 1})
	require.NoError(t, err)
	assert.Equal(t, map[int]int{0: 1, 1: 2}, got)
	assert.Empty(t, missing)
	for _, text := range []string{"", "{}", "[]", `{"scores":[]}`, `{"scores":[{"n":0}]}`, `{"scores":[{"n":0,"score":4}]}`, `{"scores":[{"n":0,"score":-1}]}`, `{"scores":[{"n":2,"score":1}]}`, `{"scores":[1]}`, `{"scores":"?"}`, `{"scores":[{"n":0,"score":1}`} {
		_, _, err := readScores(schema.AssistantMessage(text, nil), []int{0, 1})
		require.Error(t, err, text)
	}
	cut := schema.AssistantMessage(`{"scores":[{"n":0,"score":1}]}`, nil)
	cut.ResponseMeta = &schema.ResponseMeta{FinishReason: "length"}
	_, _, err = readScores(cut, []int{0})
	require.Error(t, err, "an answer that was cut off is none")
	_, _, err = readScores(nil, []int{0})
	require.Error(t, err)
}

func TestR13ObservationsAreReadHoweverTheyAreWritten(t *testing.T) {
	out, bad, err := readObservations(calls(`{"observations":[{"n":3,"text":" likes tea ","keywords":["tea"," drink",""],"when":2024},{"n":3,"text":"None"},{"n":3,"text":"无"}]}`), []int{3})
	require.NoError(t, err)
	assert.Empty(t, bad)
	assert.Equal(t, []observation{{n: 3, text: "likes tea", keywords: "tea, drink", when: "2024"}}, out)
	out, bad, err = readObservations(calls(`{"observations":[]}`), []int{3})
	require.NoError(t, err)
	assert.Empty(t, bad)
	assert.Empty(t, out)
	long := make([]byte, maxStatement+1)
	for i := range long {
		long[i] = 'x'
	}
	out, bad, err = readObservations(calls(`{"observations":[{"n":4,"text":"a"},{"text":"b"},{"n":3},{"n":3,"text":"`+string(long)+`"},{"n":3,"text":"good"}]}`), []int{3})
	require.NoError(t, err)
	assert.Len(t, out, 1)
	require.Len(t, bad, 4)
	assert.Equal(t, []int{4, -1, 3, 3}, []int{bad[0].n, bad[1].n, bad[2].n, bad[3].n})
}

func TestR13RelationsAreReadHoweverTheyAreWritten(t *testing.T) {
	for text, want := range map[string][]relation{
		`{"relations":[]}`: nil,
		`{"relations":[{"n":2,"relation":"Contradiction","other":0}]}`:                                    {{2, 0, relationContradicts}},
		`{"relations":[{"n":0,"relation":"contained","other":2}]}`:                                        {{2, 0, relationExtends}},
		`{"relations":[{"n":0,"relation":"extends","other":3}]}`:                                          {{3, 0, relationContained}},
		`{"relations":[{"n":1,"relation":"contradicts","other":0}]}`:                                      nil,
		`{"relations":[{"n":2,"relation":"none"},{"n":3,"relation":"被包含","other":2}]}`:                    {{3, 2, relationContained}},
		`{"relations":[{"n":3,"relation":"contained in","other":2},{"n":2,"relation":"矛盾","other":"1"}]}`: {{3, 2, relationContained}, {2, 1, relationContradicts}},
	} {
		got, err := readRelations(calls(text), 2, 4)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", `{}`, `{"relations":[{"n":2,"relation":"loves","other":1}]}`, `{"relations":[{"n":2,"relation":"contradicts"}]}`, `{"relations":[{"n":2,"relation":"contradicts","other":2}]}`, `{"relations":[{"n":2,"relation":"contradicts","other":4}]}`} {
		_, err := readRelations(calls(text), 2, 4)
		require.Error(t, err, text)
	}
}

func TestR14PeriodsAreReadFromAnswers(t *testing.T) {
	got, err := readPeriod(calls(`{"period":" 2024-03 "}`))
	require.NoError(t, err)
	assert.Equal(t, "2024-03", got)
	for _, text := range []string{"", "[]", "{}", `{"period":3}`} {
		_, err := readPeriod(calls(text))
		require.Error(t, err, text)
	}
}

func TestAnswerToolsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range AnswerTools() {
		assert.False(t, seen[tool.Name])
		assert.Regexp(t, "^personal_", tool.Name)
		seen[tool.Name] = true
		for _, words := range []*phrases{&englishPhrases, &chinesePhrases} {
			assert.NotEmpty(t, words.byJSON[tool.Name])
		}
	}
	assert.Len(t, seen, 4)
}
