// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// scope is the scope of the session: the second process finds it by these names.
var scope = middleware.Scope{UserID: "ann", AgentID: "clerk", SessionID: "reports"}

// readReport is the name of the clerk's tool to read.
const readReport = "read_report"

const instruction = "You are a careful clerk. Reports that you have read may have left your context: " +
	"search them with grep_working_memory before you say that you do not know."

// ask opens the memory in a file, has one turn with an agent that can read reports, and closes
// everything again. Config.Window alone makes the agent outlive its window.
func (t *tour) ask(ctx context.Context, text string) (answer string, err error) {
	fmt.Fprintf(t.out, "\nUser:  %s\n", text)
	file, err := sqlitestore.Open(ctx, t.file, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: file})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	t.calls = 0
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend,
		Mode:    modes.AgentControl, // a report is not a fact about the user
		Window:  &window.Config{Budget: compaction.Budget{Window: t.window}, Model: t.summaries, OnFit: t.shrunk},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	reader, err := t.corpus.tool()
	if err != nil {
		return "", err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "clerk", Description: "reads reports", Model: t.answers, MaxIterations: 2*len(t.corpus.reports) + 20, Instruction: instruction,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{reader}}},
		Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware()},
	})
	if err != nil {
		return "", err
	}
	runner := mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}))
	said, err := demomodel.Messages(runner.Query(middleware.WithScope(ctx, scope), text))
	if err != nil {
		return "", err
	}
	return said[len(said)-1].Content, nil
}

// tool returns the tool that reads the corpus.
func (c *corpus) tool() (tool.BaseTool, error) {
	type number struct {
		Number int `json:"number" jsonschema:"required" jsonschema_description:"the number of the report, from 1 on"`
	}
	return utils.InferTool(readReport, fmt.Sprintf("Returns one of the %d reports.", len(c.reports)), func(_ context.Context, in number) (string, error) {
		if in.Number < 1 || in.Number > len(c.reports) {
			return fmt.Sprintf("There are reports 1 to %d.", len(c.reports)), nil
		}
		return c.reports[in.Number-1], nil
	})
}

// shrunk is the window's OnFit: it prints the calls of a turn before which the context shrank, and
// how full it is. An agent makes one call at a time.
func (t *tour) shrunk(_ context.Context, _ backends.Scope, r *compaction.Result) {
	t.calls++
	t.largest = max(t.largest, r.After.Tokens)
	var done []string
	for _, s := range r.Steps {
		if s.Replaced > 0 {
			done = append(done, fmt.Sprintf("%s %d", s.Step, s.Replaced))
		}
	}
	if len(done) > 0 {
		fmt.Fprintf(t.out, "  call %3d: %6d tokens → %5d  %5.1f %%  %s\n", t.calls, r.Before.Tokens, r.After.Tokens, r.After.Percent(), strings.Join(done, ", "))
	}
}

// corpus is a pile of made-up reports, larger than any window.
type corpus struct {
	reports   []string
	questions []question
}

// question is a question with its answer in one place of the reports.
type question struct {
	where  int    // the report's number
	fact   string // its text
	ask    string
	answer string // what an answer must contain
}

var remarks = []string{
	"The %s was cleaned and the filters were changed.", "Pressure in the %s stayed within its limits all week.",
	"Two hours were spent on the %s before the rain came.", "The crew asks for spare parts for the %s by the end of the month.",
	"It is not known since when the %s has been noisy.", "Readings of the %s were taken at dawn and at dusk.",
	"The paint on the %s is to be renewed next spring.", "A visitor took photographs of the %s for the local paper.",
}

var things = strings.Fields("compressor turbine gauge intake outlet generator fence ladder crane boiler radio mast culvert sluice gate ventilator relay battery cable trench roof")

// newCorpus makes up n reports of so many lines each.
func newCorpus(n, lines int) *corpus {
	c := &corpus{questions: []question{
		{n / 4, "The inspector found a cracked valve on pump 31 at Pendle station.", "Which pump at Pendle station had a cracked valve?", "pump 31"},
		{n / 2, "柳溪站的阀门编号是7391。", "柳溪站的阀门编号是多少？", "7391"},
		{3 * n / 4, "The calibration code of the Halcyon run is QX-5517.", "What is the calibration code of the Halcyon run?", "QX-5517"},
	}}
	for number := 1; number <= n; number++ {
		report := []string{fmt.Sprintf("Report %d of %d", number, n)}
		for line := range lines {
			report = append(report, fmt.Sprintf(remarks[(number+line)%len(remarks)], things[number*line%len(things)]))
		}
		for _, q := range c.questions {
			if q.where == number {
				report = slices.Insert(report, len(report)/2, q.fact)
			}
		}
		c.reports = append(c.reports, strings.Join(report, "\n"))
	}
	return c
}
