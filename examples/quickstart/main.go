// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Quickstart shows an agent that remembers. Without arguments it holds a short
// conversation in two sessions, with the store closed in between, and shows what
// was remembered and what memory put in front of the second question:
//
//	go run ./examples/quickstart
//
// With -say it takes one turn and prints the answer, so that each turn may be
// another process:
//
//	go run ./examples/quickstart -db memory.db -user ann -say "I am allergic to peanuts."
//	go run ./examples/quickstart -db memory.db -user ann -say "What am I allergic to?"
//
// With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_EMBEDDING_MODEL)
// it talks to that model; without, to a small built-in one.
//
// Where to look: talk is all that an agent with a memory needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "quickstart: %v\n", err)
		os.Exit(1)
	}
}

// conversation is what one user says in one session, and where it is remembered.
type conversation struct {
	db    string // the file that keeps the memory
	mode  modes.Mode
	scope middleware.Scope // whose memory
	said  []string
	title string // of a part of the tour, which prints more than the answers
	list  bool   // print what is remembered of the user at the end
}

// talk opens the memory, has one turn after the other, and closes the memory,
// which waits until everything that was said is learnt.
func (c *conversation) talk(ctx context.Context, stdout, stderr io.Writer) (err error) {
	// A backend that learns and finds, on a store.
	file, err := sqlitestore.Open(ctx, c.db, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	config := &mem0.Config{Store: file}
	// The model of the environment, or the built-in one. Yours is any Eino chat model;
	// as config.Model it extracts facts, too.
	chat, err := demomodel.Choose(ctx, &demomodel.Model{Notes: c.mode == modes.AgentControl}, config, stderr)
	if err != nil {
		return err
	}
	backend, err := mem0.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(context.WithoutCancel(ctx))) }()

	// The middleware, and an agent with one line more than usual.
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend, Mode: c.mode,
		TopK: 20, // without a model memories are single messages: short, and many
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish(ctx, mem)) }()
	note := ""
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "remembers what it is told",
		Instruction: "You are a helpful assistant. Answer in the user's language, in one or two sentences.",
		Model:       chat,
		Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware(), keepNote(&note)},
	})
	if err != nil {
		return err
	}
	runner := mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}))

	if c.title != "" {
		fmt.Fprintf(stdout, "== %s\n\n", c.title)
	}
	for _, said := range c.said {
		note = ""
		answer, err := ask(middleware.WithScope(ctx, c.scope), runner, said)
		if err != nil {
			return fmt.Errorf("asking the agent: %w", err)
		}
		if c.title != "" {
			answer = shown(c.scope.UserID, said, note, answer)
		}
		if _, err := fmt.Fprintln(stdout, answer); err != nil {
			return err
		}
	}
	if !c.list {
		return nil
	}
	if err := mem.Flush(ctx); err != nil { // learning happens in the background: wait for it
		return err
	}
	return list(ctx, backend, c.scope.UserID, stdout)
}

// finish waits until everything that was said is learnt, even after an interrupt.
func finish(ctx context.Context, mem *middleware.MemoryMiddleware) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	flushed := mem.Flush(ctx)
	if closed := mem.Close(ctx); closed != nil {
		return closed // it names what Flush could not write, too
	}
	return flushed
}

// ask has one turn with the agent and returns its answer.
func ask(ctx context.Context, runner *hooks.Runner, said string) (answer string, err error) {
	events := runner.Query(ctx, said)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return "", event.Err
		}
		m, _, err := adk.GetMessage(event)
		if err != nil {
			return "", err
		}
		if m != nil && m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
			answer = m.Content
		}
	}
	if answer == "" {
		return "", errors.New("it gave no answer")
	}
	return answer, nil
}
