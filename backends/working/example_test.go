// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil) // a path keeps it
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db}) // no model: what is said is kept as it is
	if err != nil {
		log.Fatal(err)
	}
	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: backend, Idle: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close(ctx)

	scope := backends.Scope{UserID: "ann", SessionID: "monday"}
	err = mem.Append(ctx, &working.Turn{Scope: scope, ID: "t1", Done: true, Messages: []*schema.Message{
		schema.UserMessage("My cat is called Momo."),
		schema.AssistantMessage("Hello, Momo!", nil),
	}})
	if err != nil {
		log.Fatal(err) // else it is durable
	}

	// It would be learnt from in the background, a minute after the last turn.
	learnt, err := mem.Consolidate(ctx, scope)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range learnt.Items {
		fmt.Println(item.Outcome, item.Memory.Text)
	}
	fmt.Println(mem.Stats().Sessions, "sessions to learn from")

	// What a backend refuses is among the failures.
	fmt.Println("failures:", mem.RetryFailures(ctx, scope))
	// Output:
	// added My cat is called Momo.
	// added Hello, Momo!
	// 0 sessions to learn from
	// failures: <nil>
}
