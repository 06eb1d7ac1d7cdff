// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/embedding"

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
	// Output: Ann likes green tea (0.44)
}

// Vectors join in once an embedder is configured: a program that writes memories
// embeds them and stores the vectors, with the space they live in, in the same batch.
func ExampleRanker_Embed() {
	ctx := context.Background()
	records, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = records.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{
		Records:        records,
		Embedder:       drinks{}, // in a program: one of Eino's embedders
		EmbeddingModel: "drinks-1",
		Int8:           true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = ranker.Close() }()

	memory := backends.Memory{ID: "1", Kind: backends.KindFact, Text: "Ann starts her day with an espresso"}
	vectors, space, err := ranker.Embed(ctx, []string{recall.EmbedText(&memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	_, err = records.Apply(ctx, ann, &store.Batch{
		Embedding: space,
		Mutations: []store.Mutation{store.Put(&store.Record{Memory: memory, Vector: vectors[0]})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := ranker.Search(ctx, ann, &backends.SearchRequest{Query: "favourite coffee?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range found.Hits {
		fmt.Printf("%s (lexical %.2f, vector %.2f)\n", hit.Text, hit.Parts.Lexical, hit.Parts.Vector)
	}
	// Output: Ann starts her day with an espresso (lexical 0.00, vector 1.00)
}

// Memories that must be found exactly, and not by likeness, are looked up by keys.
func ExampleRanker_Lookup() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{
		Records: db,
		Keys:    func(m *backends.Memory) []string { return []string{m.Origin.Session} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = ranker.Close() }()
	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	tea := backends.Memory{ID: "1", Kind: backends.KindFact, Text: "Ann likes tea", Origin: backends.Origin{Session: "monday"}}
	dog := backends.Memory{ID: "2", Kind: backends.KindFact, Text: "Ann has a dog", Origin: backends.Origin{Session: "friday"}}
	batch := &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: tea}), store.Put(&store.Record{Memory: dog})}}
	if _, err := db.Apply(ctx, ann, batch); err != nil {
		fmt.Println(err)
		return
	}
	found, err := ranker.Lookup(ctx, ann, "friday")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range found {
		fmt.Println(m.Text)
	}
	// Output: Ann has a dog
}

// drinks is an embedder that knows only whether a text is about coffee.
type drinks struct{}

func (drinks) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, text := range texts {
		out[i] = []float64{0, 1}
		if strings.Contains(text, "coffee") || strings.Contains(text, "espresso") {
			out[i] = []float64{1, 0}
		}
	}
	return out, nil
}
