// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// The whole of ReMe in a process, without a server.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	backend, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(testkit.Learn)}) // any Eino chat model
	if err != nil {
		panic(err)
	}
	scope := backends.Scope{Workspace: "support", UserID: "ann"}

	learnt, err := backend.Task().Summarize(ctx, &task.SummaryRequest{Scope: scope, Trajectories: []task.Trajectory{{
		TaskID: "refund-7", Score: 1,
		Messages: []*schema.Message{
			schema.UserMessage("Refund order 7."),
			schema.AssistantMessage("LESSON refunding an order | check the payment first", nil),
		},
	}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(learnt.Memories), "stored,", learnt.Report.Usage.ModelCalls, "model calls")

	found, err := backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: "a customer wants to refund an order"})
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Answer)
	_, err = backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: found.IDs(), AllUseful: true})
	fmt.Println(err, backend.Close(ctx), db.Close())
	// Output:
	// 1 stored, 2 model calls
	// Memory 1
	//   When to use: refunding an order
	//   Experience: check the payment first
	// <nil> <nil> <nil>
}
