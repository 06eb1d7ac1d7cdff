// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

// A tool is called as a model would, with JSON. Whose memory it is comes from the
// context.
func ExampleNew() {
	backend := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return hits(r.Scope.UserID + " likes green tea"), nil
	}}
	tools, err := toolkit.New(context.Background(), &toolkit.Config{
		Backend: backend,
		Scope: func(ctx context.Context) (backends.Scope, error) {
			s, ok := backends.ScopeFrom(ctx)
			if !ok {
				return s, backends.ErrNoScope
			}
			return s, nil
		},
	})
	if err != nil {
		panic(err)
	}
	ctx := backends.WithScope(context.Background(), backends.Scope{UserID: "ann"})
	for i, arguments := range []string{`{"keywords":["drinks"],"user_id":"bob"}`, `{"thinking":"she asked for it","content":["ann moved to Rome"]}`} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(ctx, arguments)
		fmt.Println(out, err)
	}
	// Output:
	// - [id-ann likes green tea] 2026-03-01 12:00: ann likes green tea <nil>
	// Successfully recorded to memory (rationale: she asked for it):
	// - added: [id-ann moved to Rome] ann moved to Rome <nil>
}
