// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
)

// A store in Postgres, for einomem.New, or for mem0.Config.Store and reme.Config.Store. It needs a
// server, so the tests compile it alone.
func ExampleOpen() {
	ctx := context.Background()
	db, err := pgstore.Open(ctx, "postgres://localhost/app", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ann := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	tea := &store.Record{Memory: backends.Memory{ID: "m1", Kind: backends.KindFact, Text: "Ann likes tea."}}
	_, err = db.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(tea)}})
	fmt.Println(err)
}
