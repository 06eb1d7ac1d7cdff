// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// reply answers the last question.
func reply(_ context.Context, in []*schema.Message, _ *einomodel.Options) (*schema.Message, error) {
	return schema.AssistantMessage(strings.Replace(in[len(in)-1].Content, "question", "answer", 1), nil), nil
}

// liveAsAgent talks in everybody's room, and acknowledges each turn that was learnt
// from, until it is killed.
func liveAsAgent(t *testing.T, c *redis.Client, name string) {
	ctx := t.Context()
	m, err := middleware.New(ctx, &middleware.Config{
		Backend: redisBackend(t, c, nil), Mode: modes.StaticControl, AwaitWrite: true,
		Working: &working.Config{Lease: time.Second, Idle: 20 * time.Millisecond, Sweep: 100 * time.Millisecond, Backoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond},
	})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "bot", Description: "answers", Model: testkit.New(reply), Middlewares: []adk.AgentMiddleware{m.AgentMiddleware()},
	})
	require.NoError(t, err)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for i := 0; ; i++ {
		id := fmt.Sprint(name, ".", i)
		events := runner.Query(middleware.WithScope(ctx, inRoom("all")), "question "+id)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			require.NoError(t, event.Err)
		}
		fmt.Println(id)
	}
}

// Two agents in two processes talk in one session, over one Redis. One dies, the
// other goes on, and dies too: each turn is learnt from once.
func TestOnRedisTwoAgentsOfTwoProcesses(t *testing.T) {
	server := testredis.Need(t).Start(t)
	a, linesA := startRedisChild(t, server.URL(), "agent", "a")
	b, linesB := startRedisChild(t, server.URL(), "agent", "b")
	var acked []string
	hear := func(name string, from, to int, scan func() bool, text func() string) {
		for i := from; i < to; i++ {
			require.True(t, scan(), "%s ended by itself", name)
			require.Equal(t, fmt.Sprint(name, ".", i), text())
			acked = append(acked, text())
		}
	}
	hear("a", 0, 5, linesA.Scan, linesA.Text)
	hear("b", 0, 5, linesB.Scan, linesB.Text)
	require.NoError(t, a.Process.Kill())
	require.Error(t, a.Wait())
	hear("b", 5, 10, linesB.Scan, linesB.Text)
	require.NoError(t, b.Process.Kill())
	require.Error(t, b.Wait())
	back := redisBackend(t, server.Client(t), nil)
	m := busyMemory(t, back, back)
	awaitLearnt(t, back.Sessions())
	require.NoError(t, m.Close(t.Context()))
	checkLearntOnce(t, back, inRoom("all"), acked)
}
