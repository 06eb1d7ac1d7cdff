// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A turn is appended to the session's log; later what was learnt from it is
// stored together with the new watermark, in one write.
func Example() {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil) // or a path: "memory.db"
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ann, err := backends.Scope{UserID: "ann"}.Partition(backends.PartitionUser)
	if err != nil {
		log.Fatal(err)
	}
	session, err := s.Append(ctx, ann, "s1", &store.Append{Entries: []store.Entry{
		{Message: backends.Message{ID: "t1-0", Turn: "t1", Message: schema.UserMessage("I moved to Oslo.")}},
		{Message: backends.Message{ID: "t1-1", Turn: "t1", Message: schema.AssistantMessage("How is it there?", nil)}, Done: true},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("pending:", session.Pending())

	applied, err := s.Apply(ctx, ann, &store.Batch{
		Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "m1", Kind: backends.KindFact, Text: "lives in Oslo"}})},
		Session:   &store.SessionUpdate{Session: "s1", Watermark: &session.LastSeq},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("pending:", applied.Session.Pending())

	changes, err := s.Changes(ctx, ann, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range changes.Records {
		fmt.Println(r.ID, r.Text)
	}
	// Output:
	// pending: true
	// pending: false
	// m1 lives in Oslo
}
