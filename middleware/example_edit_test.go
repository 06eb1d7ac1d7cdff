// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/middleware"
)

// A program lists what is known of a person, corrects it, and deletes it.
func Example_edit() {
	ctx := context.Background()
	mem := lunch(middleware.Config{})
	defer mem.Close(ctx)
	ann := middleware.Scope{UserID: "ann"}

	fact, err := mem.Facts.Remember(ctx, ann, "Ann's sister lives in Bergen.")
	check(err)
	text := "Ann's sister lives in Oslo."
	_, err = mem.Facts.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: fact.Memory.ID, Text: &text})
	check(err)

	known, err := mem.Facts.List(ctx, &backends.ListRequest{Scope: ann})
	check(err)
	for _, m := range known.Memories {
		fmt.Println("known:", m.Text)
	}
	events, err := mem.Facts.History(ctx, &backends.HistoryRequest{Scope: ann, ID: fact.Memory.ID})
	check(err)
	for _, e := range events {
		fmt.Println(e.Type, e.New)
	}
	check(mem.Facts.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: fact.Memory.ID}))
	known, err = mem.Facts.List(ctx, &backends.ListRequest{Scope: ann})
	check(err)
	fmt.Println(len(known.Memories), "left")
	// Output:
	// known: Ann's sister lives in Oslo.
	// added Ann's sister lives in Bergen.
	// updated Ann's sister lives in Oslo.
	// 0 left
}
