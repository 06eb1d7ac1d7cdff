// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
)

// A session whose log outgrows the model's window: what is shown of it fits, and
// what is not shown can be put back.
func Example() {
	if err := showASession(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// loaded 4 messages, too large: true
	// shown 5 messages, 751 tokens at most: true
	// restored, word for word: true
}

func showASession(ctx context.Context) error {
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return err
	}
	defer db.Close()
	log, err := working.New(ctx, &working.Config{Sessions: db, Backend: nowhere{}}) // any backends.Backend
	if err != nil {
		return err
	}
	defer log.Close(ctx)

	// What an agent said and read in an earlier run.
	page := strings.Repeat("The harbour is closed on Mondays. ", 500)
	ann := backends.Scope{UserID: "ann", SessionID: "harbour"}
	err = log.Append(ctx, &working.Turn{Scope: ann, ID: "t1", Done: true, Messages: []*schema.Message{
		schema.UserMessage("When is the harbour closed?"),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"page":1}`}}}),
		schema.ToolMessage(page, "c1", schema.WithToolName("read")),
		schema.AssistantMessage("On Mondays.", nil),
	}})
	if err != nil {
		return err
	}

	w, err := window.New(&window.Config{Sessions: db, Budget: compaction.Budget{Window: 1000}, HistoryTokens: 10_000})
	if err != nil {
		return err
	}
	history, err := w.History(ctx, ann)
	if err != nil {
		return err
	}
	fmt.Printf("loaded %d messages, too large: %v\n", len(history), w.Usage(history).Over() > 0)
	fitted, err := w.Fit(ctx, ann, append(history, schema.UserMessage("And on Tuesdays?")))
	if err != nil {
		return err
	}
	fmt.Printf("shown %d messages, %d tokens at most: %v\n", len(fitted.Messages), fitted.After.Limit, fitted.After.Over() <= 0)
	full, err := w.Restore(ctx, ann, fitted.Messages)
	if err != nil {
		return err
	}
	fmt.Println("restored, word for word:", full[2].Content == page)
	return nil
}
