// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func TestC1_04_VerbatimKeepsEachMessage(t *testing.T) {
	b := open(t)
	named := schema.UserMessage("I live in Beijing.")
	named.Name = "Ann"
	resp := add(t, b, ann,
		backends.Message{Message: schema.SystemMessage("You are helpful.")},
		backends.Message{ID: "a", Turn: "t1", Time: start, Message: named},
		backends.Message{ID: "b", Turn: "t1", Time: start, Message: schema.AssistantMessage("Noted: Beijing.", nil)},
		backends.Message{Message: schema.ToolMessage("dump", "call")},
		backends.Message{Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "call"}})},
	)
	require.Len(t, resp.Items, 2)
	require.Equal(t, []string{"I live in Beijing.", "Noted: Beijing."}, list(t, b, ann))
	m := resp.Items[0].Memory
	require.Equal(t, backends.KindEpisode, m.Kind)
	require.Equal(t, backends.Origin{Session: "s1", Turn: "t1", MessageIDs: []string{"a"}, Role: "user", Speaker: "Ann", Author: "verbatim"}, m.Origin)
	require.Equal(t, "assistant", resp.Items[1].Memory.Origin.Role)
	require.Zero(t, resp.Usage)
}
