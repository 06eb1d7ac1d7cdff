// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/middleware"
)

// Users say what is not to be remembered, and programs do, too. Passwords never reach the store.
func Example_private() {
	ctx := context.Background()
	mem := lunch(middleware.Config{})
	defer mem.Close(ctx)

	talk(asAnn, mem, "Don't remember this: I am looking for another job.")
	talk(middleware.Incognito(asAnn), mem, "I plan a surprise for Ben.")
	secret := schema.UserMessage("My account is 12345.")
	messages, err := mem.Prepare(asAnn, []*schema.Message{middleware.Private(secret)})
	check(err)
	check(mem.Finish(asAnn, append(messages, schema.AssistantMessage("I see.", nil))))
	talk(asAnn, mem, "The database password is xK9#mQ2vL, and the server is in Oslo.")

	known, err := mem.Facts.List(ctx, &backends.ListRequest{Scope: middleware.Scope{UserID: "ann"}})
	check(err)
	for _, m := range known.Memories {
		fmt.Println(m.Origin.Role+":", m.Text)
	}
	// Output:
	// user: The database password is [redacted:password], and the server is in Oslo.
	// assistant: Noted.
}

// A program is asked before an agent's tool deletes something.
func Example_confirm() {
	ctx := context.Background()
	mem := lunch(middleware.Config{DeleteTool: true, Confirm: func(_ context.Context, c backends.Change) (bool, error) {
		fmt.Println(c.Tool, "asks to delete:", c.Delete[0].Text)
		return false, nil
	}})
	defer mem.Close(ctx)
	fact, err := mem.Facts.Remember(ctx, middleware.Scope{UserID: "ann"}, "Ann is allergic to peanuts.")
	check(err)
	fmt.Println(use(asAnn, mem, "delete_memory", fmt.Sprintf(`{"id":%q}`, fact.Memory.ID)))
	// Output:
	// delete_memory asks to delete: Ann is allergic to peanuts.
	// The user declined this change: nothing was changed. Do not try again; say so if it matters.
}
