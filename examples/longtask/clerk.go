// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// clerk is an agent that reads reports, and what has to be closed after it.
type clerk struct {
	file    *sqlitestore.Store
	backend backends.Backend
	mem     *middleware.MemoryMiddleware
	runner  *hooks.Runner
}

// newClerk opens the agent on a file. All that makes it outlive its window is
// Config.Window.
func newClerk(ctx context.Context, file string, o *options, c *corpus, t *progress) (k *clerk, err error) {
	k = &clerk{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close(ctx))
		}
	}()
	if k.file, err = sqlitestore.Open(ctx, file, nil); err != nil {
		return k, err
	}
	if k.backend, err = mem0.New(ctx, &mem0.Config{Store: k.file}); err != nil {
		return k, err
	}
	k.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: k.backend,
		Mode:    modes.AgentControl, // what was read is no fact about the user
		Window:  &window.Config{Budget: compaction.Budget{Window: o.window}, Model: o.summaries, OnFit: t.fitted},
	})
	if err != nil {
		return k, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "clerk", Description: "reads reports", Model: o.answers, MaxIterations: 2*len(c.reports) + 20,
		Instruction: "You are a careful clerk. Reports that you have read may have left your context: search them with grep_working_memory before you say that you do not know.",
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{c.tool()}}},
		Middlewares: []adk.AgentMiddleware{k.mem.AgentMiddleware()},
	})
	if err != nil {
		return k, err
	}
	k.runner = k.mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}))
	return k, nil
}

// say has one turn with the clerk.
func (k *clerk) say(ctx context.Context, t *progress, text string) (answer string, err error) {
	t.begin(text)
	events := k.runner.Query(middleware.WithScope(ctx, scope), text)
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			return "", e.Err
		}
		if e.Output == nil || e.Output.MessageOutput == nil {
			continue
		}
		m, err := e.Output.MessageOutput.GetMessage()
		if err != nil {
			return "", err
		}
		if m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
			answer = m.Content
		}
	}
	return answer, nil
}

func (k *clerk) close(ctx context.Context) error {
	var errs []error
	if k.mem != nil {
		errs = append(errs, k.mem.Close(ctx))
	}
	if k.backend != nil {
		errs = append(errs, k.backend.Close(ctx))
	}
	if k.file != nil {
		errs = append(errs, k.file.Close())
	}
	return errors.Join(errs...)
}

// readReport is the name of the tool that the clerk reads by.
const readReport = "read_report"

// tool returns the tool that reads the corpus.
func (c *corpus) tool() tool.BaseTool {
	type number struct {
		Number int `json:"number" jsonschema:"required" jsonschema_description:"the number of the report, from 1 on"`
	}
	t, err := utils.InferTool(readReport, fmt.Sprintf("Returns one of the %d reports.", len(c.reports)), func(_ context.Context, in number) (string, error) {
		if in.Number < 1 || in.Number > len(c.reports) {
			return fmt.Sprintf("There are reports 1 to %d.", len(c.reports)), nil
		}
		return c.reports[in.Number-1], nil
	})
	if err != nil { // a fixed struct always has a schema
		slog.Error("longtask", "err", err)
	}
	return t
}
