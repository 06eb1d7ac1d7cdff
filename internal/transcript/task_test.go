// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/transcript"
)

func tokens(messages ...*schema.Message) int {
	n := 0
	for _, m := range messages {
		n += compaction.Estimate.Message(m)
	}
	return n
}

func TestTask(t *testing.T) {
	var all list
	largest := 0
	turns := transcript.Task(transcript.Seed(1), 200)
	require.Len(t, turns, 200)
	for _, turn := range turns {
		require.Equal(t, schema.User, turn[0].Role)
		require.Equal(t, schema.Assistant, turn[len(turn)-1].Role)
		require.NoError(t, transcript.Check(turn))
		for _, m := range turn {
			if m.Role == schema.Tool {
				largest = max(largest, tokens(m))
			}
		}
		all = append(all, turn...)
	}
	require.NoError(t, transcript.Check(all))
	require.InDelta(t, 11_000, largest, 3000)
	require.InDelta(t, 600_000, tokens(all...), 200_000)
	require.Equal(t, turns, transcript.Task(transcript.Seed(1), 200))
	require.NotEqual(t, turns, transcript.Task(transcript.Seed(2), 200))
}

func TestChat(t *testing.T) {
	chat := transcript.Chat(588, 28)
	require.Len(t, chat, 588)
	require.NoError(t, transcript.Check(chat))
	require.InDelta(t, 16_500, tokens(chat...), 3000)
}

func TestReading(t *testing.T) {
	for n := 1; n < 4; n++ {
		reading := transcript.Reading(n, 50_000)
		require.NoError(t, transcript.Check(append(list{user("read")}, reading...)))
		require.InDelta(t, 50_000, tokens(reading...), 15_000)
	}
	require.NotEqual(t, transcript.Reading(1, 100), transcript.Reading(2, 100))
}
