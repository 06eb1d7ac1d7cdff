// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
)

// Eino's loaders and splitters fill memory through an indexer, and a retriever or the note finds what
// they put there. A new version of a document replaces the former one.
func ExampleMemoryMiddleware_AsIndexer() {
	ctx := middleware.WithScope(context.Background(), middleware.Scope{UserID: "ann"})
	file, err := sqlitestore.Open(ctx, ":memory:", nil) // or the path of a file
	check(err)
	defer file.Close()
	backend, err := mem0.New(ctx, &mem0.Config{Store: file})
	check(err)
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
	check(err)
	defer mem.Close(ctx)

	for _, says := range []string{"Descale the kettle every month.", "Descale the kettle every week."} {
		ids, err := mem.AsIndexer().Store(ctx, []*schema.Document{{ID: "kettle.pdf", Content: says}})
		check(err)
		fmt.Println(len(ids), "passage")
	}
	found, err := mem.AsRetriever().Retrieve(ctx, "kettle")
	check(err)
	for _, d := range found {
		fmt.Println(d.Content, "–", d.MetaData["source"])
	}
	// Output:
	// 1 passage
	// 1 passage
	// Descale the kettle every week. – kettle.pdf
}
