// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
)

// Callbacks say what was shown, what was learnt, and what failed.
func Example_report() {
	ctx := context.Background()
	mem := lunch(middleware.Config{
		OnNote: func(_ context.Context, n hooks.Note) {
			fmt.Println("shown:", len(n.Hits), "memories of", n.Scope.UserID)
		},
		OnLearned: func(_ context.Context, learnt *backends.AddResponse) {
			for _, item := range learnt.Items {
				fmt.Println("learnt:", item.Outcome, item.Memory.Text)
			}
		},
		OnError: func(_ context.Context, stage string, err error) {
			fmt.Println("failed:", stage, errors.Is(err, backends.ErrNoScope))
		},
	})
	defer mem.Close(ctx)
	talk(asAnn, mem, "I am allergic to peanuts.")
	talk(asAnn, mem, "Am I allergic to something?")
	talk(ctx, mem, "Whose memory is this?")

	health, err := mem.Working().Health(ctx)
	check(err)
	fmt.Println(health.Messages, "messages wait,", health.Failing, "sessions fail")
	// Output:
	// shown: 0 memories of ann
	// learnt: added I am allergic to peanuts.
	// learnt: added Noted.
	// shown: 1 memories of ann
	// learnt: added Am I allergic to something?
	// learnt: unchanged Noted.
	// failed: scope true
	// failed: scope true
	// 0 messages wait, 0 sessions fail
}
