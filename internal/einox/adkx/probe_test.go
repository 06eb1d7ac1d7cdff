// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package adkx_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox/adkx"
)

type ownOption struct{}

func TestSessionValuesAreWhatARunWouldSee(t *testing.T) {
	calls := 0
	given := map[string]any{"user_id": "ann", "since": time.Unix(0, 0)}
	opts := []adk.AgentRunOption{
		adk.WithCheckPointID("cp"), adk.WithSessionValues(given),
		adk.WrapImplSpecificOptFn(func(*ownOption) { calls++ }),
		adk.WithSessionValues(given).DesignateAgent("other"),
	}
	got := adkx.SessionValues(context.Background(), opts)
	require.Equal(t, given, got)
	got["user_id"] = "eve"
	require.Equal(t, "ann", given["user_id"], "the caller's map is not handed out")
	require.Zero(t, calls, "options of others are not applied")
	require.Empty(t, adkx.SessionValues(context.Background(), nil))
	require.Empty(t, adkx.SessionValues(context.Background(), opts[:1]))
}

func TestCheckpointID(t *testing.T) {
	unknownToGob := map[string]any{"f": struct{ A int }{1}}
	opts := make([]adk.AgentRunOption, 2, 8)
	opts[0], opts[1] = adk.WithSessionValues(unknownToGob), adk.WithCheckPointID("cp-1")
	require.Equal(t, "cp-1", adkx.CheckpointID(context.Background(), opts))
	require.Equal(t, unknownToGob, adkx.SessionValues(context.Background(), opts), "the options are left as they are")
	require.Empty(t, adkx.CheckpointID(context.Background(), opts[:1]))
	require.Empty(t, adkx.CheckpointID(context.Background(), nil))
}

func TestAProbeLeavesTheRunAroundItAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, "v", adkx.SessionValues(ctx, []adk.AgentRunOption{adk.WithSessionValues(map[string]any{"k": "v"})})["k"],
		"a probe answers even when the run is over")
}
