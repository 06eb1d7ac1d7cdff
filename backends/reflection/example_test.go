// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection_test

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// Without a model: by rules alone.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db})
	if err != nil {
		panic(err)
	}
	defer backend.Close(ctx)
	scope := backends.Scope{UserID: "ann"}
	for _, said := range []string{"The user works for Initech.", "The user has a cat named Miso.", "The user now works for Globex.", "The user has a cat, named Miso!"} {
		if _, err := backend.Remember(ctx, scope, said); err != nil {
			panic(err)
		}
	}

	r, err := reflection.New(&reflection.Config{Backend: backend})
	if err != nil {
		panic(err)
	}
	plan, err := r.Draft(ctx, &reflection.Request{Scope: scope}) // nothing is written
	if err != nil {
		panic(err)
	}
	for _, o := range plan.Operations {
		fmt.Printf("%s: %s\n  %s\n  -> %s\n", o.Op, o.Rule, o.Changes[0].Text, o.Stays.Text)
	}
	if _, err := r.Apply(ctx, plan, false); err != nil {
		panic(err)
	}
	known := func() int {
		page, err := backend.List(ctx, &backends.ListRequest{Scope: scope})
		if err != nil {
			panic(err)
		}
		return len(page.Memories)
	}
	fmt.Println(known(), "facts hold")
	if _, err := r.Undo(ctx, scope, plan.ID, false); err != nil {
		panic(err)
	}
	fmt.Println(known(), "after Undo")
	// Output:
	// merge: duplicates
	//   The user has a cat named Miso.
	//   -> The user has a cat, named Miso!
	// supersede: contradictions
	//   The user works for Initech.
	//   -> The user now works for Globex.
	// 2 facts hold
	// 4 after Undo
}
