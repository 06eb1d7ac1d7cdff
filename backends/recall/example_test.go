// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func Example() {
	ctx := context.Background()
	records, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = records.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: records})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = ranker.Close() }()

	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	_, err = records.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "1", Kind: backends.KindFact, Text: "Ann moved to Lisbon"}}),
		store.Put(&store.Record{Memory: backends.Memory{ID: "2", Kind: backends.KindFact, Text: "Ann likes green tea"}}),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := ranker.Search(ctx, ann, &backends.SearchRequest{Query: "Which teas does she like?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range found.Hits {
		fmt.Printf("%s (%.2f)\n", hit.Text, hit.Score)
	}
	// Output: Ann likes green tea (0.43)
}
