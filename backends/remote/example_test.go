// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
)

// A mem0 server behind the same interface as memory in the process.
func Example() {
	mux := http.NewServeMux() // stands for a mem0 server
	mux.HandleFunc("POST /memories", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"results": [{"id": "1", "memory": "Sails on the Oslofjord", "event": "ADD"}]}`)
	})
	mux.HandleFunc("POST /search", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"results": [{"id": "1", "memory": "Sails on the Oslofjord", "user_id": "ann", "score": 0.8}]}`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()

	ctx, scope := context.Background(), backends.Scope{UserID: "ann"}
	memory, err := remote.NewMem0(&remote.Config{BaseURL: srv.URL, APIKey: "m0-key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	added, err := memory.Add(ctx, &backends.AddRequest{Scope: scope, Messages: []backends.Message{{Message: schema.UserMessage("I sail on the Oslofjord.")}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(added.Items[0].Outcome, added.Items[0].Memory.Text)
	found, err := memory.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "Where does she sail?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f %s\n", found.Hits[0].Score, found.Hits[0].Text)
	// Output:
	// added Sails on the Oslofjord
	// 0.8 Sails on the Oslofjord
}
