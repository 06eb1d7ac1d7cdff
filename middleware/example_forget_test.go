// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/middleware"
)

// A session is forgotten, then a person. What was exported before is all of it.
func Example_forget() {
	ctx := context.Background()
	mem := lunch(middleware.Config{})
	defer mem.Close(ctx)
	ann := middleware.Scope{UserID: "ann"}
	monday, friday := "monday", "friday"
	talk(middleware.WithScope(ctx, middleware.Scope{UserID: "ann", SessionID: monday}), mem, "I am allergic to peanuts.")
	talk(middleware.WithScope(ctx, middleware.Scope{UserID: "ann", SessionID: friday}), mem, "My job bores me.")

	var file strings.Builder
	_, err := mem.Export(ctx, ann, &file)
	check(err)
	fmt.Println("exported:", strings.Contains(file.String(), "peanuts"), strings.Contains(file.String(), "job"))

	_, err = mem.ForgetPart(ctx, ann, &backends.Part{Session: &friday})
	check(err)
	report := func(when string) {
		known, err := mem.Facts.List(ctx, &backends.ListRequest{Scope: ann})
		check(err)
		var said []string
		for _, m := range known.Memories {
			if m.Origin.Role == "user" {
				said = append(said, m.Text)
			}
		}
		fmt.Println(when, said)
	}
	report("after Friday is forgotten:")
	receipt, err := mem.Forget(ctx, ann)
	check(err)
	report("after all is forgotten:")
	fmt.Println(receipt.Partition.ID, "had", receipt.Sessions, "session")
	// Output:
	// exported: true true
	// after Friday is forgotten: [I am allergic to peanuts.]
	// after all is forgotten: []
	// ann had 1 session
}
