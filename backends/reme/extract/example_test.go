// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

func Example() {
	// A model that follows a script; any model of Eino takes its place.
	m := testkit.New(
		testkit.Call("1", "extract_experiences", `{"experiences":[{"when_to_use":"a door is locked","experience":"Look for the key before pushing."},
			{"when_to_use":"always","experience":"Do your best."}]}`),
		testkit.Call("2", "extract_verdicts", `{"verdicts":[{"candidate":1,"is_valid":true,"score":0.8},{"candidate":2,"is_valid":false,"score":0.1,"feedback":"empty phrase"}]}`),
	)
	models, err := flow.New(&flow.Config{Name: "example", Model: m, Tools: extract.AnswerTools()})
	if err != nil {
		panic(err)
	}
	e, err := extract.New(&extract.Config{Models: models})
	if err != nil {
		panic(err)
	}
	attempt := trajectory.Trajectory{TaskID: "door", Score: 1, Messages: []*schema.Message{
		schema.UserMessage("Open the door."), schema.AssistantMessage("The key is under the mat. The door is open.", nil),
	}}
	ctx, run := context.Background(), models.Begin()
	found, err := e.Extract(ctx, run, []trajectory.Trajectory{attempt})
	if err != nil {
		panic(err)
	}
	kept, err := e.Validate(ctx, run, found)
	if err != nil {
		panic(err)
	}
	for _, c := range kept {
		fmt.Printf("%s: %s (%v, %s)\n", c.WhenToUse, c.Content, *c.Quality, c.Source)
	}
	report := run.Report()
	fmt.Println(report.Stage(extract.StageSuccess).Out, "found,", report.Stage(extract.StageValidate).Dropped, "dropped,", report.Usage.ModelCalls, "calls")
	// Output:
	// a door is locked: Look for the key before pushing. (0.8, success)
	// 2 found, 1 dropped, 2 calls
}
