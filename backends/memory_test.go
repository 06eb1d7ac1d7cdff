// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func TestExpiryIsAnInstant(t *testing.T) {
	m := backends.Memory{Expires: day}
	assert.False(t, m.Expired(day.Add(-time.Nanosecond)))
	assert.True(t, m.Expired(day))
	assert.False(t, (&backends.Memory{}).Expired(day))
}

func TestActiveUntilSupersededOrRetracted(t *testing.T) {
	assert.True(t, (&backends.Memory{}).Active())
	assert.False(t, (&backends.Memory{SupersededBy: "m2"}).Active())
	assert.False(t, (&backends.Memory{Invalidated: day}).Active())
}

func TestMemoryRoundTripsThroughJSON(t *testing.T) {
	want := *sample()
	want.Metadata = map[string]any{"k": "v", "n": 1.5}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "expires", "unset times are left out")
	var got backends.Memory
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want, got)
}

func TestMessageRoundTripsThroughJSON(t *testing.T) {
	want := backends.Message{ID: "t1-0", Turn: "t1", Time: day, Message: &schema.Message{
		Role: schema.Assistant, Content: "好的", ToolCalls: []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}},
	}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got backends.Message
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want, got)
}

func TestIDsAreUniqueAndOrdered(t *testing.T) {
	last, seen := "", map[string]bool{}
	for range 1000 {
		id := backends.NewID()
		require.False(t, seen[id])
		require.Greater(t, id, last)
		seen[id], last = true, id
	}
}

func TestSystemClockSurvivesStorage(t *testing.T) {
	now := backends.SystemClock()
	parsed, err := time.Parse(time.RFC3339Nano, now.Format(time.RFC3339Nano))
	require.NoError(t, err)
	assert.True(t, now.Equal(parsed))
	assert.Equal(t, time.UTC, now.Location())
}

func TestCloneSharesNothing(t *testing.T) {
	fresh := func() *backends.Memory {
		q := 0.5
		return &backends.Memory{
			ID: "1", Quality: &q, Origin: backends.Origin{MessageIDs: []string{"a"}},
			Metadata: map[string]any{"list": []any{map[string]any{"x": 1.0}}, "none": nil},
		}
	}
	m := fresh()
	c := m.Clone()
	require.Equal(t, *m, c)
	*c.Quality = 1
	c.Origin.MessageIDs[0] = "b"
	c.Metadata["list"].([]any)[0].(map[string]any)["x"] = 2.0
	c.Metadata["new"] = true
	require.Equal(t, fresh(), m)

	bare := backends.Memory{ID: "2"}
	require.Equal(t, bare, bare.Clone(), "what is absent stays absent")
}

func TestAutoLanguageIsChineseFromThreeLettersInTen(t *testing.T) {
	assert.Equal(t, backends.English, backends.LanguageAuto.For())
	assert.Equal(t, backends.English, backends.LanguageAuto.For("Ann bought tea in 北京 yesterday"))
	assert.Equal(t, backends.Chinese, backends.LanguageAuto.For("安娜昨天", "在北京用 API 买茶"))
	assert.Equal(t, backends.English, backends.LanguageAuto.For("123 !?"))
	assert.Equal(t, backends.Chinese, backends.Chinese.For("tea"))
}
