// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
)

// A budget bounds what learning costs for each person a day. Turns beyond it wait for the next day;
// until then searches find their words.
func Example_budget() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	learner := &demomodel.Model{Answer: func([]*schema.Message, []*schema.ToolInfo) (*schema.Message, error) {
		return schema.AssistantMessage(`{"operations":[{"op":"add","text":"Ann likes tea.","messages":[0]}]}`, nil), nil
	}}
	mem, err := einomem.Open(ctx, ":memory:", learner, &einomem.Options{Facts: mem0.Config{Clock: clock}, Agent: middleware.Config{
		Clock: clock, AwaitWrite: true,
		Working: &working.Config{Budget: working.Budget{Calls: 1, Tokens: 100_000}},
		OnLearned: func(_ context.Context, learnt *backends.AddResponse) {
			fmt.Println("learnt:", learnt.Items[0].Outcome, learnt.Items[0].Memory.Text)
		},
		OnError: func(_ context.Context, stage string, _ error) { fmt.Println("reported:", stage) },
	}})
	check(err)
	defer mem.Close(ctx)
	talk(asAnn, mem, "I like tea.")
	talk(asAnn, mem, "Green tea is what I like most.")
	health, err := mem.Working().Health(ctx)
	check(err)
	fmt.Println(health.OverBudget, "messages wait for the next day")

	now = now.Add(12 * time.Hour)
	check(mem.Flush(ctx)) // by itself learning goes on at midnight
	// Output:
	// reported: budget
	// learnt: added Ann likes tea.
	// 2 messages wait for the next day
	// reported: budget
	// learnt: unchanged Ann likes tea.
}
