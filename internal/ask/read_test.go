// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

func TestUnwrap(t *testing.T) {
	for in, want := range map[string]string{
		"x": "x", " x ": "x", "```\nx\n```": "x", "```json\n{}\n```": "{}", "before ```json\n{}\n``` after": "{}",
		"<think>a</think>x": "x", "<THINK>a\nb</THINK>\n\nx": "x", "a</think>x": "x", "<thinking>a</thinking>```\nx\n```": "x", "<think>never closed": "<think>never closed",
	} {
		require.Equal(t, want, unwrap(in), in)
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]any{
		`{"a":"b"}`: map[string]any{"a": "b"}, "Sure:\n```json\n[\"a\"]\n```\nDone.": []any{"a"}, "<think>{</think>['a',]": []any{"a"},
	} {
		got, err := JSON(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]error{
		"": ErrEmpty, "<think>hm</think>": ErrEmpty, "I cannot do that.": ErrNoJSON, `{"a":"b`: ErrTruncated, `{=1}`: ErrMalformed,
		strings.Repeat(" ", maxOutput+1): ErrTooLarge, "{'a':'" + strings.Repeat("x", maxRepair) + "'}": ErrTooLarge,
	} {
		_, err := JSON(in)
		require.ErrorIs(t, err, want)
	}
}

func TestCutOff(t *testing.T) {
	require.False(t, cutOff(schema.AssistantMessage("", nil)))
	for reason, want := range map[string]bool{"length": true, "max_tokens": true, "MAX_TOKENS": true, "stop": false, "": false} {
		require.Equal(t, want, cutOff(&schema.Message{ResponseMeta: &schema.ResponseMeta{FinishReason: reason}}), reason)
	}
}
