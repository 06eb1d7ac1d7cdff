// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// A store on a client of go-redis. The server here is an imitation in the process;
// yours has an address of its own.
func ExampleNew() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer client.Close()

	s, err := redisstore.New(ctx, client, nil)
	if err != nil {
		log.Fatal(err) // with everything that the server lacks
	}
	defer s.Close()

	ann := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	tea := &store.Record{Memory: backends.Memory{ID: "m1", Kind: backends.KindFact, Text: "Ann likes tea."}}
	applied, err := s.Apply(ctx, ann, &store.Batch{Key: "turn 1", Mutations: []store.Mutation{store.Put(tea)}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", applied.Version)

	// A reader that asks with its last cursor gets what changed since.
	changes, err := s.Changes(ctx, ann, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range changes.Records {
		fmt.Println(r.ID, r.Text)
	}
	// Output:
	// version 1
	// m1 Ann likes tea.
}

// Open takes a URL. A message is stored once, however often it is appended.
func ExampleOpen() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()

	s, err := redisstore.Open(ctx, "redis://"+server.Addr()+"/0", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ann := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	hello := store.Entry{Message: backends.Message{ID: "1", Turn: "t1", Message: schema.UserMessage("hello")}}
	for range 2 {
		session, err := s.Append(ctx, ann, "chat", &store.Append{Entries: []store.Entry{hello}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(session.LastSeq, "message")
	}
	// Output:
	// 1 message
	// 1 message
}
