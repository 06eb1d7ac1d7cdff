// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

// exampleMemory is task memory in a store of its own. The model is a script.
func exampleMemory(ctx context.Context) (*task.Memory, func()) {
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: db, Keys: keeper.Keys})
	if err != nil {
		log.Fatal(err)
	}
	k, err := keeper.New(&keeper.Config{Name: "example", Store: db, Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}
	models, err := flow.New(&flow.Config{Name: "example", Model: newBrain(), Tools: append(task.AnswerTools(), extract.AnswerTools()...)})
	if err != nil {
		log.Fatal(err)
	}
	extractor, err := extract.New(&extract.Config{Models: models})
	if err != nil {
		log.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, nil))
	m, err := task.New(&task.Config{Keeper: k, Models: models, Extractor: extractor, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	return m, func() { _, _ = ranker.Close(), db.Close() }
}

// An agent learns from what it did, asks before the next task, and tells how it went.
func Example() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "shop"})
	memory, end := exampleMemory(ctx)
	defer end()

	done := trajectory.Trajectory{Query: "sell a kettle", Score: 1, Messages: []*schema.Message{
		schema.UserMessage("Sell the old kettle."),
		schema.AssistantMessage("LESSON selling something used | Say what is wrong with it before the price.", nil),
	}}
	for range 2 { // the second time nothing is new
		learnt, err := memory.Summarize(ctx, &task.SummaryRequest{Trajectories: []trajectory.Trajectory{done}})
		fmt.Println(learnt.Items[0].Outcome, len(learnt.Memories), err)
	}

	known, err := memory.Retrieve(ctx, &task.RetrieveRequest{Query: "How do I sell a used lamp?"})
	fmt.Println(known.Answer, err)

	counted, err := memory.Record(ctx, &task.RecordRequest{IDs: known.IDs(), AllUseful: true})
	fmt.Println(counted.Recorded[0].Freq, counted.Recorded[0].Utility, err)
	// Output:
	// added 1 <nil>
	// unchanged 0 <nil>
	// Memory 1
	//   When to use: selling something used
	//   Experience: Say what is wrong with it before the price. <nil>
	// 1 1 <nil>
}

// A gate opens to whoever rings twice. The first attempt fails, its lesson leads to a
// success, and so the lesson is kept.
func ExampleMemory_Retry() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "harbour"})
	memory, end := exampleMemory(ctx)
	defer end()

	run := func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
		did, score := "knock", 0.0
		if strings.Contains(a.Answer, "ring twice") {
			did, score = "ring twice", 1
		}
		fmt.Printf("attempt %d of %d: %s, score %v\n", a.N, a.Of, did, score)
		return &trajectory.Trajectory{Score: score, Messages: []*schema.Message{
			schema.UserMessage("Open the gate."),
			schema.AssistantMessage("LESSON the gate stays shut | Nobody hears a knock; ring twice.", nil),
		}}, nil
	}
	for range 2 {
		resp, err := memory.Retry(ctx, &task.RetryRequest{Query: "open the gate that stays shut", Run: run})
		fmt.Println("succeeded:", resp.Succeeded, "attempts:", resp.Attempts, err)
	}
	// Output:
	// attempt 1 of 3: knock, score 0
	// attempt 2 of 3: ring twice, score 1
	// succeeded: true attempts: 2 <nil>
	// attempt 1 of 3: ring twice, score 1
	// succeeded: true attempts: 1 <nil>
}

// What was used often and helped seldom is forgotten; a dry run only tells.
func ExampleMemory_Forget() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "shop"})
	memory, end := exampleMemory(ctx)
	defer end()
	learnt, err := memory.Summarize(ctx, &task.SummaryRequest{Candidates: []extract.Candidate{
		{WhenToUse: "selling", Content: "Smile."}, {WhenToUse: "packing", Content: "Use paper."},
	}})
	if err != nil {
		log.Fatal(err)
	}
	smile, paper := learnt.Memories[0].ID, learnt.Memories[1].ID
	for range 5 {
		if _, err := memory.Record(ctx, &task.RecordRequest{IDs: []string{smile, paper}, Useful: []string{paper}}); err != nil {
			log.Fatal(err)
		}
	}
	gone, err := memory.Forget(ctx, &task.ForgetRequest{DryRun: true})
	for _, f := range gone.Deleted {
		fmt.Printf("%s used %v times, useful in %v\n", f.Text, f.Freq, f.Utility)
	}
	fmt.Println(err)
	// Output:
	// Smile. used 5 times, useful in 0
	// <nil>
}
