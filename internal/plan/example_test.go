// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"log"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// A store keeps records in a map: it plans, compares, writes.
func Example() {
	records := map[string]*store.Record{
		"1": {Memory: backends.Memory{ID: "1", Text: "lives in Beijing", Version: 4}},
	}
	b := &store.Batch{Mutations: []store.Mutation{
		store.Supersede("1", &store.Record{Memory: backends.Memory{ID: "2", Text: "lives in Shanghai"}}),
		store.Increment("2", "said", 1),
	}}
	todo, err := plan.Batch(b, &plan.Input{
		Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Next: 8,
		Record: func(id string) (*store.Record, error) { return records[id], nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range todo.Checks {
		fmt.Printf("needs %s at version %d\n", c.ID, c.Version)
	}
	for _, w := range todo.Writes {
		records[w.ID] = w.Record
		fmt.Printf("writes %s at version %d: %s, active %t, %v\n", w.ID, w.Record.Version, w.Record.Text, w.Record.Active(), w.Record.Metadata)
	}
	for _, e := range todo.Events {
		fmt.Printf("tells %s: %s\n", e.MemoryID, e.Type)
	}
	// Output:
	// needs 1 at version 4
	// needs 2 at version 0
	// writes 2 at version 8: lives in Shanghai, active true, map[said:1]
	// writes 1 at version 8: lives in Beijing, active false, map[]
	// tells 2: added
	// tells 1: superseded
}
