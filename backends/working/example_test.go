// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
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
		panic(err)
	}
	defer db.Close()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db}) // no model: what is said is kept as it is
	if err != nil {
		panic(err)
	}
	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: backend, Idle: time.Minute})
	if err != nil {
		panic(err)
	}
	defer mem.Close(ctx)

	scope := backends.Scope{UserID: "ann", SessionID: "monday"}
	err = mem.Append(ctx, &working.Turn{Scope: scope, ID: "t1", Done: true, Messages: []*schema.Message{
		schema.UserMessage("My cat is called Momo."),
		schema.AssistantMessage("Hello, Momo!", nil),
	}})
	if err != nil {
		panic(err) // else it is durable
	}

	// It would be learnt from in the background, a minute after the last turn.
	learnt, err := mem.Consolidate(ctx, scope)
	if err != nil {
		panic(err)
	}
	for _, item := range learnt.Items {
		fmt.Println(item.Outcome, item.Memory.Text)
	}
	fmt.Printf("%+v\n", mem.Stats().Consolidated)
	// Output:
	// added My cat is called Momo.
	// added Hello, Momo!
	// 1
}

func ExampleMemory_RetryFailures() {
	ctx := context.Background()
	db, _ := sqlitestore.Open(ctx, ":memory:", nil)
	defer db.Close()
	model := &moody{Backend: backendOf(db), sulks: true}
	mem, _ := working.New(ctx, &working.Config{Sessions: db, Backend: model, MaxAttempts: 1})
	defer mem.Close(ctx)

	scope := backends.Scope{UserID: "ann"}
	_ = mem.Append(ctx, &working.Turn{Scope: scope, Messages: []*schema.Message{schema.UserMessage("I moved to Lisbon.")}, Done: true})
	_, err := mem.Consolidate(ctx, scope)
	fmt.Println(err != nil)

	failures, _ := mem.Failures(ctx, scope)
	fmt.Println(len(failures), failures[0].Reason)

	model.sulks = false
	fmt.Println(mem.RetryFailures(ctx, scope))
	// Output:
	// true
	// 1 model output not understood
	// <nil>
}

func backendOf(db *sqlitestore.Store) backends.Backend {
	b, _ := mem0.New(context.Background(), &mem0.Config{Store: db})
	return b
}

// moody is a backend whose model is not always understood.
type moody struct {
	backends.Backend
	sulks bool
}

func (m *moody) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if m.sulks {
		return nil, backends.ErrModel
	}
	return m.Backend.Add(ctx, r)
}
