// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// A handler serves the memory of a program to clients of all kinds, and a page for people. Without
// keys it serves this machine alone.
func Example() {
	ctx := context.Background()
	mem, err := einomem.Open(ctx, ":memory:", nil, nil)
	if err != nil {
		panic(err)
	}
	defer mem.Close(ctx)
	handler, err := rest.New(&rest.Config{Memory: mem, Store: mem.Store})
	if err != nil {
		panic(err)
	}
	defer handler.Close(ctx)
	server := httptest.NewServer(handler)
	defer server.Close()

	ask := func(path, body string) (answer struct {
		Items []struct{ Outcome string }
		Hits  []struct{ Text string }
	}) {
		r, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			panic(err)
		}
		return answer
	}
	added := ask("/api/v1/add", `{"scope":{"user_id":"ann"},"messages":[{"role":"user","content":"I am allergic to peanuts."}]}`)
	fmt.Println(added.Items[0].Outcome)
	found := ask("/api/v1/search", `{"scope":{"user_id":"ann"},"query":"allergic"}`)
	fmt.Println(found.Hits[0].Text)
	// Output:
	// added
	// I am allergic to peanuts.
}
