// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	einomem "github.com/einomem/einomem/examples/eino-ext/indexer"
	"github.com/einomem/einomem/middleware"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A document that a person stores is found among their memories, until another of the same source
// takes its place.
func ExampleNewIndexer() {
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

	x, err := einomem.NewIndexer(ctx, &einomem.IndexerConfig{Memory: mem})
	check(err)
	ctx = middleware.WithScope(ctx, middleware.Scope{UserID: "ann"})
	for _, text := range []string{"The office in Hangzhou closes at six.", "The office in Hangzhou closes at eight."} {
		ids, err := x.Store(ctx, []*schema.Document{{ID: "opening-hours", Content: text}})
		check(err)
		fmt.Println("passages:", len(ids))
	}
	docs, err := mem.AsRetriever().Retrieve(ctx, "When does the Hangzhou office close?")
	check(err)
	for _, d := range docs {
		fmt.Println(d.Content)
	}
	// Output:
	// passages: 1
	// passages: 1
	// The office in Hangzhou closes at eight.
}
