// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

// A library of ReMe is loaded, looked through by tags, and written again.
func Example() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ranker.Close() }()
	k, err := keeper.New(&keeper.Config{Name: "example", Store: st, Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}
	l, err := library.New(&library.Config{Keeper: k, Location: time.UTC})
	if err != nil {
		log.Fatal(err)
	}

	shop := backends.Scope{Workspace: "shop"}
	loaded, err := l.Load(ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(
		`{"memory_id":"1","memory_type":"task","when_to_use":"before paying","content":"check the balance","metadata":{"extra_info":{"tags":["money"]}}}
{"memory_id":"2","when_to_use":"after paying","content":"send the receipt","score":0.8}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(loaded.Loaded, "loaded")

	_, err = l.Load(ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(""))
	fmt.Println(err)

	page, err := l.List(ctx, &library.ListRequest{Scope: shop, Tags: []string{"money"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range page.Memories {
		fmt.Println(m.WhenToUse, "→", m.Text)
	}
	if _, err := l.DeleteIDs(ctx, &library.DeleteIDsRequest{Scope: shop, IDs: []string{"1"}}); err != nil {
		log.Fatal(err)
	}
	written, err := l.Dump(ctx, &library.DumpRequest{Scope: shop, Format: library.ReMe}, io.Discard)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(written.Memories, "written")
	// Output:
	// 2 loaded
	// library: loading workspace shop (it is as it was): invalid: the input holds no memory: to empty the workspace call Delete
	// before paying → check the balance
	// 1 written
}
