// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends/store/pgstore"
)

// A memory in Postgres. It needs a server, so the tests compile it alone.
func ExampleOpen() {
	ctx := context.Background()
	db, err := pgstore.Open(ctx, "postgres://localhost/app", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	mem, err := einomem.New(ctx, db, nil, nil) // a chat model in place of the first nil learns facts
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close(ctx)
	_, err = mem.Facts.Remember(ctx, einomem.Scope{UserID: "ann"}, "Ann is allergic to peanuts.")
	fmt.Println(err)
}
