// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
)

func ExampleScope_Partition() {
	scope := backends.Scope{Namespace: "shop", UserID: "ann", SessionID: "monday"}
	p, err := scope.Partition(backends.PartitionUser)
	fmt.Println(p, err)

	_, err = scope.Partition(backends.PartitionWorkspace)
	fmt.Println(errors.Is(err, backends.ErrNoScope), err)

	_, err = backends.Scope{UserID: "*"}.Partition(backends.PartitionUser)
	fmt.Println(errors.Is(err, backends.ErrInvalid))
	// Output:
	// shop/user/ann <nil>
	// true workspace partition: no scope: set Scope.Workspace
	// true
}

func ExampleParseFilter() {
	f, err := backends.ParseFilter(map[string]any{
		"city": []any{"Hangzhou", "Beijing"},
		"age":  map[string]any{"gte": 18},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	match, err := f.Compile()
	fmt.Println(match(&backends.Memory{Metadata: map[string]any{"city": "Hangzhou", "age": 41}}), err)
	fmt.Println(match(&backends.Memory{Metadata: map[string]any{"city": "Hangzhou"}}))
	// Output:
	// true <nil>
	// false
}
