// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	remetask "github.com/einomem/einomem/backends/reme/task"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

var atWork = middleware.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1", Workspace: "lab"}

func newReme(t testing.TB, change func(*reme.Config)) (*reme.Backend, *testkit.Learner) {
	t.Helper()
	learner := &testkit.Learner{}
	cfg := &reme.Config{Store: openStore(t), Model: learner}
	if change != nil {
		change(cfg)
	}
	b, err := reme.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b, learner
}

type orderInput struct {
	Order int `json:"order"`
}

// refundTool refuses orders below 5.
func refundTool(t testing.TB) tool.BaseTool {
	t.Helper()
	refund, err := utils.InferTool("refund", "refunds an order", func(_ context.Context, in *orderInput) (string, error) {
		if in.Order < 5 {
			return "", errors.New("invalid argument: orders begin at 5")
		}
		return `{"passed": true}`, nil
	})
	require.NoError(t, err)
	return utils.WrapToolWithErrorHandler(refund, func(_ context.Context, err error) string { return "error: " + err.Error() })
}

// clerk is an agent with the tool, whose model asks for it once and then answers.
func clerk(t testing.TB, mem *middleware.MemoryMiddleware, cm model.ToolCallingChatModel, tools ...tool.BaseTool) *adk.Runner {
	t.Helper()
	made, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "clerk", Description: "refunds", Model: cm, Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware()},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: made})
}

func refunds() *testkit.Chat {
	return testkit.New(
		testkit.Call("c1", "refund", `{"order":7}`),
		testkit.Text("LESSON refunding an order | check the payment first"),
	)
}

func kinds(t testing.TB, b *reme.Backend) map[backends.Kind]int {
	t.Helper()
	out := map[backends.Kind]int{}
	for cursor := ""; ; {
		page, err := b.List(t.Context(), &backends.ListRequest{Scope: atWork, Cursor: cursor})
		require.NoError(t, err)
		for i := range page.Memories {
			out[page.Memories[i].Kind]++
		}
		if cursor = page.Next; cursor == "" {
			return out
		}
	}
}

func TestReMeLearnsInEveryModeAndIsFoundAsTheModeSays(t *testing.T) {
	for _, mode := range []modes.Mode{modes.StaticControl, modes.AgentControl, modes.Both} {
		t.Run(string(mode), func(t *testing.T) {
			b, _ := newReme(t, func(c *reme.Config) { c.Verdict = reme.VerdictOf("refund", "passed") })
			mem := open(t, &middleware.Config{Backend: b, Mode: mode})
			ctx := middleware.WithScope(t.Context(), atWork)
			drain(t, clerk(t, mem, refunds(), refundTool(t)).Query(ctx, "Refund order 7. FACT ann sells tea"))
			require.NoError(t, mem.Flush(ctx))
			assert.Equal(t, map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}, kinds(t, b), "write-back in every mode")
			calls, err := b.Tools().Retrieve(ctx, &toolmem.RetrieveRequest{Tools: []string{"refund"}, WithCalls: true})
			require.NoError(t, err)
			assert.EqualValues(t, 1, calls.Tools[0].Statistics.Total)

			next := testkit.New(testkit.Text("ok"))
			drain(t, clerk(t, mem, next, refundTool(t)).Query(ctx, "Refunding an order of tea"))
			shown := ""
			for _, m := range next.Calls()[0] {
				shown += m.Content + "\n"
			}
			assert.Equal(t, mode != modes.AgentControl, strings.Contains(shown, "check the payment first"), shown)
			assert.Equal(t, mode != modes.AgentControl, strings.Contains(shown, "ann sells tea"))
			assert.Equal(t, mode != modes.StaticControl, strings.Contains(shown, "search_memory"))
		})
	}
}

func TestTheAgentFindsExperienceByItself(t *testing.T) {
	b, _ := newReme(t, func(c *reme.Config) { c.Verdict = reme.VerdictOf("refund", "passed") })
	mem := open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, AwaitWrite: true})
	ctx := middleware.WithScope(t.Context(), atWork)
	drain(t, clerk(t, mem, refunds(), refundTool(t)).Query(ctx, "Refund order 7."))
	asks := testkit.New(testkit.Call("c1", "search_memory", `{"keywords":["refunding an order"]}`), testkit.Text("ok"))
	drain(t, clerk(t, mem, asks, refundTool(t)).Query(ctx, "Refund order 8."))
	last := asks.Calls()[1]
	assert.Contains(t, last[len(last)-1].Content, "check the payment first")
	known, err := b.Tools().Retrieve(ctx, &toolmem.RetrieveRequest{})
	require.NoError(t, err)
	require.Len(t, known.Tools, 1, "memory's own tools are not learnt from")
	assert.Equal(t, "refund", known.Tools[0].Name)
}

func TestAnOutcomeMayComeLater(t *testing.T) {
	b, _ := newReme(t, nil)
	mem := open(t, &middleware.Config{Backend: b})
	ctx := middleware.WithScope(t.Context(), atWork)
	drain(t, clerk(t, mem, refunds(), refundTool(t)).Query(ctx, "Refund order 7. FACT ann sells tea"))
	resp, err := mem.RecordOutcome(ctx, &backends.OutcomeRequest{Score: 1, Note: "the customer was happy"})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	assert.Equal(t, "check the payment first", resp.Items[0].Memory.Text)
	assert.EqualValues(t, 1, resp.Items[0].Memory.Metadata[remetask.MetaOutcome])
	again, err := mem.RecordOutcome(ctx, &backends.OutcomeRequest{Score: 1, Note: "the customer was happy"})
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.Equal(t, map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}, kinds(t, b))

	_, err = mem.RecordOutcome(middleware.WithScope(t.Context(), ann), &backends.OutcomeRequest{Score: 1})
	require.ErrorIs(t, err, backends.ErrNoScope, "no workspace")
	other := open(t, &middleware.Config{Backend: &fake{}})
	_, err = other.RecordOutcome(ctx, &backends.OutcomeRequest{Score: 1})
	require.ErrorIs(t, err, backends.ErrInvalid, "a backend that does not judge")
	_, err = mem.RecordOutcome(ctx, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestToolsAreListedWithWhatIsKnownOfThem(t *testing.T) {
	b, _ := newReme(t, nil)
	mem := open(t, &middleware.Config{Backend: b})
	ctx := middleware.WithScope(t.Context(), atWork)
	_, err := b.Tools().Record(ctx, &toolmem.RecordRequest{Calls: []toolmem.Call{{Tool: "refund", Input: `{"order":1}`, Failed: true, Error: "invalid argument: orders begin at 5"}}})
	require.NoError(t, err)
	_, err = b.Tools().Summarize(ctx, &toolmem.SummaryRequest{Force: true})
	require.NoError(t, err)

	listed := func(s middleware.Scope) string {
		desc := ""
		watched := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
			for _, info := range o.Tools {
				if info.Name == "refund" {
					desc = info.Desc
				}
			}
			return schema.AssistantMessage("ok", nil), nil
		})
		drain(t, clerk(t, mem, mem.WrapModel(watched), refundTool(t)).Query(middleware.WithScope(t.Context(), s), "Refund order 7."))
		return desc
	}
	assert.Contains(t, listed(atWork), "Use it with care.")
	elsewhere := atWork
	elsewhere.Workspace = "other"
	assert.Equal(t, "refunds an order", listed(elsewhere), "another workspace's experience is never shown")
	assert.Equal(t, "refunds an order", listed(ann))
}
