// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A fact changes, once, however often the batch is sent; a reader that knows the
// partition up to a cursor learns what changed since.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var s store.Store = db
	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	fact := func(id, text string) *store.Record {
		return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
	}
	if _, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "lives in Beijing"))}}); err != nil {
		log.Fatal(err)
	}
	seen, err := s.Changes(ctx, ann, "")
	if err != nil {
		log.Fatal(err)
	}

	move := &store.Batch{Key: "turn-7", Mutations: []store.Mutation{store.Supersede("1", fact("2", "lives in Shanghai"))}}
	for range 2 {
		applied, err := s.Apply(ctx, ann, move)
		fmt.Println("version", applied.Version, "replayed", applied.Replayed, err)
	}
	changed, err := s.Changes(ctx, ann, seen.Cursor)
	for _, r := range changed.Records {
		fmt.Printf("%s: %s, active %t\n", r.ID, r.Text, r.Active())
	}
	fmt.Println(err)
	// Output:
	// version 2 replayed false <nil>
	// version 2 replayed true <nil>
	// 1: lives in Beijing, active false
	// 2: lives in Shanghai, active true
	// <nil>
}
