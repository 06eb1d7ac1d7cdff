// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// Two machines share the memory of a Redis server, which is an imitation in the process here.
func Example_store() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis()
	check(server.Start())
	defer server.Close()
	ann := einomem.Scope{UserID: "ann"}

	machine := func(do func(*einomem.Memory)) {
		db, err := redisstore.Open(ctx, "redis://"+server.Addr(), nil)
		check(err)
		mem, err := einomem.New(ctx, db, nil, nil) // a chat model in place of the first nil learns facts
		check(err)
		do(mem)
		check(mem.Close(ctx))
		check(db.Close())
	}
	machine(func(mem *einomem.Memory) {
		_, err := mem.Facts.Remember(ctx, ann, "Ann is allergic to peanuts.")
		check(err)
	})
	machine(func(mem *einomem.Memory) {
		known, err := mem.Facts.List(ctx, &backends.ListRequest{Scope: ann})
		check(err)
		fmt.Println(known.Memories[0].Text)
	})
	// Output: Ann is allergic to peanuts.
}
