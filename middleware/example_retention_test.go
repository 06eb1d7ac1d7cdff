// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/middleware"
)

// A rule says how long memories are kept. A dry run lists those that would go.
func Example_retention() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	mem, err := einomem.Open(ctx, ":memory:", nil, &einomem.Options{
		Facts: mem0.Config{Clock: clock, Retention: &backends.Retention{
			Every: -1, // no sweep in the background
			Rules: []backends.RetentionRule{{OlderThan: 30 * 24 * time.Hour}},
		}},
		Agent: middleware.Config{Clock: clock},
	})
	check(err)
	defer mem.Close(ctx)
	ann := middleware.Scope{UserID: "ann"}
	_, err = mem.Facts.Remember(ctx, ann, "Ann looks for a flat.")
	check(err)
	now = now.Add(40 * 24 * time.Hour)
	_, err = mem.Facts.Remember(ctx, ann, "Ann moved to Oslo.")
	check(err)
	for _, dry := range []bool{true, false} {
		report, err := mem.Facts.Retain(ctx, &backends.RetainRequest{DryRun: dry})
		check(err)
		fmt.Println(report.Erased, "of", report.Memories)
	}
	// Output:
	// map[older:1] of 2
	// map[older:1] of 2
}

// What a session taught is taken back. A dry run says what that would be.
func Example_rollback() {
	ctx := context.Background()
	mem := lunch(middleware.Config{})
	defer mem.Close(ctx)
	prank := "prank"
	talk(asAnn, mem, "I am allergic to peanuts.")
	talk(middleware.WithScope(ctx, middleware.Scope{UserID: "ann", SessionID: prank}), mem, "I love peanuts.")

	report, err := mem.Rollback(ctx, &backends.RollbackRequest{Scope: middleware.Scope{UserID: "ann"}, Session: &prank})
	check(err)
	for _, item := range report.Items {
		fmt.Println(item.Outcome, item.Memory.Text)
	}
	// Output:
	// deleted I love peanuts.
}
