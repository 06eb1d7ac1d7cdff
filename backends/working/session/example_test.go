// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/session"
)

// A conversation that goes on the next day: what was said is loaded, the older
// part of it as a summary.
func Example() {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	must(err)
	defer func() { _ = db.Close() }()

	// Yesterday. Usually hooks or middleware of this module write the log.
	ann := backends.Scope{UserID: "ann", SessionID: "lisbon"}
	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: &learner{}, Sweep: -1, Idle: time.Hour})
	must(err)
	for i, turn := range [][2]string{
		{"We are four people.", "Noted."}, {"Two rooms, by the sea.", "I will look for some."}, {"Which one is near the station?", "Casa Azul."},
	} {
		must(mem.Append(ctx, &working.Turn{Scope: ann, ID: fmt.Sprint("t", i), Done: true, Messages: []*schema.Message{
			schema.UserMessage(turn[0]), schema.AssistantMessage(turn[1], nil),
		}}))
	}
	must(mem.Close(ctx))

	sessions, err := session.New(&session.Config{Sessions: db})
	must(err)
	must(sessions.Rename(ctx, ann, "Rooms in Lisbon"))
	_, err = sessions.CommitSummary(ctx, ann, &session.Summary{Upto: 2, Text: "Four people travel. (log-1-2)"})
	must(err)

	// Today, maybe in another process: room for 20 tokens.
	list, err := sessions.List(ctx, &session.ListRequest{Scope: backends.Scope{UserID: "ann"}})
	must(err)
	fmt.Printf("%s: %d messages\n\n", list.Sessions[0].Title, list.Sessions[0].Messages)
	history, err := sessions.Load(ctx, &session.LoadRequest{Scope: ann, Tokens: 20})
	must(err)
	for _, m := range history.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Content)
	}
	// Output:
	// Rooms in Lisbon: 6 messages
	//
	// user: Four people travel. (log-1-2)
	// user: [2 earlier messages of this conversation are not shown. They are kept under log-3-4.]
	// user: Which one is near the station?
	// assistant: Casa Azul.
}
