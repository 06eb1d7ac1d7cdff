// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// A model called in a hook with the hook's context speaks as the agent.
func TestT03_AModelCallInAHookLeaksUnlessDetached(t *testing.T) {
	for _, detach := range []bool{false, true} {
		for _, tools := range [][]tool.BaseTool{nil, {asking(t)}} {
			inner := testkit.New(testkit.Text("EXTRACTED"))
			hook := func(ctx context.Context, s *adk.ChatModelAgentState) error {
				if detach {
					ctx = einox.Detach(ctx, "Scripted", components.ComponentOfChatModel)
				}
				_, err := inner.Generate(ctx, s.Messages)
				return err
			}
			r := newRunner(t, testkit.New(testkit.Text("answer")), adk.AgentMiddleware{AfterChatModel: hook}, tools...)
			said, errs := drain(r.Query(context.Background(), "hi"))
			require.Empty(t, errs)
			require.Len(t, inner.Calls(), 1)
			if detach {
				require.Equal(t, []string{"answer"}, said)
			} else {
				require.Contains(t, said, "EXTRACTED", "the trap is gone from this Eino: Detach may go as well")
			}
		}
	}
}

// The same call after the end of the run panics.
func TestT03_AModelCallAfterTheRunPanicsUnlessDetached(t *testing.T) {
	for _, detach := range []bool{false, true} {
		inner := testkit.New(testkit.Text("EXTRACTED"))
		over, result := make(chan struct{}), make(chan any, 1)
		hook := func(ctx context.Context, _ *adk.ChatModelAgentState) error {
			if detach {
				ctx = einox.Detach(ctx, "Scripted", components.ComponentOfChatModel)
			}
			go func() {
				defer func() { result <- recover() }()
				<-over
				_, _ = inner.Generate(context.WithoutCancel(ctx), []*schema.Message{schema.UserMessage("x")})
			}()
			return nil
		}
		r := newRunner(t, testkit.New(testkit.Text("answer")), adk.AgentMiddleware{AfterChatModel: hook})
		drain(r.Query(context.Background(), "hi"))
		close(over)
		p := <-result
		if detach {
			require.Nil(t, p)
		} else {
			require.NotNil(t, p, "the trap is gone from this Eino: Detach may go as well")
		}
	}
}
