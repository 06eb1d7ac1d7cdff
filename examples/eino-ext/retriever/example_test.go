// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	einomem "github.com/einomem/einomem/examples/eino-ext/retriever"
	"github.com/einomem/einomem/middleware"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// What a person said yesterday is a document today.
func ExampleNewRetriever() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	check(err)
	defer db.Close()
	facts, err := mem0.New(ctx, &mem0.Config{Store: db})
	check(err)
	defer facts.Close(ctx)
	mem, err := middleware.New(ctx, &middleware.Config{Backend: facts})
	check(err)
	defer mem.Close(ctx)

	ctx = middleware.WithScope(ctx, middleware.Scope{UserID: "ann", SessionID: "yesterday"})
	check(mem.Finish(ctx, []*schema.Message{schema.UserMessage("I am allergic to peanuts."), schema.AssistantMessage("Noted.", nil)}))
	check(mem.Flush(ctx))

	r, err := einomem.NewRetriever(ctx, &einomem.RetrieverConfig{Memory: mem, TopK: 1})
	check(err)
	docs, err := r.Retrieve(ctx, "Am I allergic to peanuts?")
	check(err)
	fmt.Println(docs[0].Content)
	// Output: I am allergic to peanuts.
}
