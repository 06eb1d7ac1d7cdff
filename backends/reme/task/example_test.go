// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// open returns task memory in a store of its own. The model is a script, which learns from
// what stands behind the mark LESSON.
func open(ctx context.Context) (*task.Memory, func()) {
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	b, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
	if err != nil {
		log.Fatal(err)
	}
	return b.Task(), func() { _, _ = b.Close(ctx), db.Close() }
}

// An agent learns from what it did, asks before the next task, and reports how it went.
func Example() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "shop"})
	memory, end := open(ctx)
	defer end()

	done := task.Trajectory{Query: "sell a kettle", Score: 1, Messages: []*schema.Message{
		schema.UserMessage("Sell the old kettle."),
		schema.AssistantMessage("LESSON selling something used | Say what is wrong with it before the price.", nil),
	}}
	for range 2 { // the second time nothing is new
		learnt, err := memory.Summarize(ctx, &task.SummaryRequest{Trajectories: []task.Trajectory{done}})
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

// A gate opens to a caller who rings twice. The first attempt fails, what it taught leads to a
// success, and so that is kept.
func ExampleMemory_Retry() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "harbour"})
	memory, end := open(ctx)
	defer end()

	run := func(_ context.Context, a *task.Attempt) (*task.Trajectory, error) {
		did, score := "knock", 0.0
		if strings.Contains(a.Answer, "ring twice") {
			did, score = "ring twice", 1
		}
		fmt.Printf("attempt %d of %d: %s, score %v\n", a.N, a.Of, did, score)
		return &task.Trajectory{Score: score, Messages: []*schema.Message{
			schema.UserMessage("Open the gate."),
			schema.AssistantMessage("LESSON the gate stays shut | A knock is not heard; ring twice.", nil),
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

// What was used often and helped seldom is forgotten; a dry run only reports it.
func ExampleMemory_Forget() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "shop"})
	memory, end := open(ctx)
	defer end()
	learnt, err := memory.Summarize(ctx, &task.SummaryRequest{Candidates: []backends.Memory{
		{WhenToUse: "selling", Text: "Smile."}, {WhenToUse: "packing", Text: "Use paper."},
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
		fmt.Printf("%s used %v times, useful in %v\n", f.Text, f.Metadata["freq"], f.Metadata["utility"])
	}
	fmt.Println(err)
	// Output:
	// Smile. used 5 times, useful in 0
	// <nil>
}

// A skill is a draft until it proves itself. Then agents are offered it, as a SKILL.md too.
func ExampleSkills() {
	ctx := backends.WithScope(context.Background(), backends.Scope{Workspace: "shop"})
	memory, end := open(ctx)
	defer end()
	skills := memory.Skills()
	sell, err := skills.Add(ctx, backends.Scope{}, &task.Skill{
		Name: "sell used things", WhenToUse: "selling something used", Steps: []string{"Say what is wrong with it.", "Then name the price."},
	}, false) // Draft has a model write it down, from attempts and lessons
	fmt.Println(sell.State, err)
	for range 2 {
		proved, err := skills.Record(ctx, &task.SkillOutcome{IDs: []string{sell.ID}, Succeeded: true})
		fmt.Println(proved[0].State, proved[0].Successes, "of", proved[0].Uses, err)
	}
	found, err := skills.Find(ctx, backends.Scope{}, "How do I sell a used lamp?", 1, false)
	fmt.Println(found[0].Steps[0], err)

	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n, err := skills.WriteDir(ctx, backends.Scope{}, dir)
	fmt.Println(n, err)
	written, err := os.ReadFile(filepath.Join(dir, "sell-used-things", "SKILL.md"))
	fmt.Println(string(written), err)
	// Output:
	// draft <nil>
	// draft 1 of 1 <nil>
	// proved 2 of 2 <nil>
	// Say what is wrong with it. <nil>
	// 1 <nil>
	// ---
	// name: sell-used-things
	// description: selling something used
	// metadata:
	//     successes: 2
	//     title: sell used things
	//     uses: 2
	// ---
	//
	// 1. Say what is wrong with it.
	// 2. Then name the price.
	//  <nil>
}
