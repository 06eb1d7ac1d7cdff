// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// One agent has facts of its user and lessons of its team. The model here answers by marks.
func Example_work() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	check(err)
	defer db.Close()
	experience, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
	check(err)
	defer experience.Close(ctx)
	facts, err := mem0.New(ctx, &mem0.Config{Store: db})
	check(err)
	defer facts.Close(ctx)
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backends.Join(facts, experience)})
	check(err)
	defer mem.Close(ctx)

	_, err = experience.Task().Summarize(ctx, &task.SummaryRequest{
		Scope: backends.Scope{Workspace: "support", UserID: "bob"},
		Trajectories: []task.Trajectory{{TaskID: "refund-7", Score: 1, Messages: []*schema.Message{
			schema.UserMessage("Refund order 7."),
			schema.AssistantMessage("LESSON refunding an order | check the payment first", nil),
		}}},
	})
	check(err)
	ann := middleware.Scope{UserID: "ann", Workspace: "support"}
	_, err = facts.Remember(ctx, ann, "Ann refunds orders on Mondays.")
	check(err)
	found, err := mem.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refund an order"})
	check(err)
	for _, hit := range found.Hits {
		fmt.Println(hit.Kind, hit.Text)
	}
	// Output:
	// task check the payment first
	// fact Ann refunds orders on Mondays.
}
