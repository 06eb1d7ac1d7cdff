// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Quickstart shows an agent that remembers. Without arguments it holds a short conversation in two
// sessions, with the store closed in between. It shows its memories and the note in front of the
// second question:
//
//	go run ./examples/quickstart
//
// With -say it takes one turn and prints the answer, so that each turn may be
// another process:
//
//	go run ./examples/quickstart -db memory.db -user ann -say "I am allergic to peanuts."
//	go run ./examples/quickstart -db memory.db -user ann -say "What am I allergic to?"
//
// With -chat it is a conversation in the terminal. It shows new memories; /memory lists all, /note
// shows the last note, /forget erases. The next conversation on the same file remembers it:
//
//	go run ./examples/quickstart -chat -db memory.db
//
// OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_EMBEDDING_MODEL) choose a model; by
// default a small built-in one answers.
//
// Start with talk: it has everything that an agent with a memory needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem"
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/demomodel/choose"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "quickstart: %s\n", demomodel.ErrorText(err))
		os.Exit(1)
	}
}

// talk opens the memory in a file, has a conversation, and closes the memory, which waits for the
// end of learning.
func talk(ctx context.Context, db string, mode modes.Mode, stderr io.Writer, converse func(*assistant) error) (err error) {
	// The model of the environment, or the built-in one. Yours is any Eino chat model; as
	// Facts.Model it extracts facts, too.
	a, options := &assistant{}, &einomem.Options{}
	chatModel, err := choose.Model(ctx, &demomodel.Model{Notes: mode == modes.AgentControl}, &options.Facts, stderr)
	if err != nil {
		return err
	}
	options.Agent = middleware.Config{
		Mode:   mode,
		OnNote: func(_ context.Context, n hooks.Note) { a.shown = n.Text },
		OnLearned: func(_ context.Context, learnt *backends.AddResponse) { // in the background
			a.mu.Lock()
			defer a.mu.Unlock()
			a.learnt = append(a.learnt, learnt.Items...)
		},
	}
	mem, err := einomem.Open(ctx, db, options.Facts.Model, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish(ctx, mem)) }()

	// An agent with one line more than usual.
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "remembers what it is told",
		Instruction: "You are a helpful assistant. Answer in the user's language, in one or two sentences.",
		Model:       mem.WrapModel(chatModel),
		Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware()},
	})
	if err != nil {
		return err
	}
	a.memory, a.extracts = mem, options.Facts.Model != nil
	a.runner = mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}))
	return converse(a)
}

// finish waits for the end of learning, even after an interrupt.
func finish(ctx context.Context, mem *einomem.Memory) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return mem.Close(ctx)
}

// assistant is an agent with a memory, and what memory reported.
type assistant struct {
	memory   *einomem.Memory
	extracts bool // a model extracts facts
	runner   *hooks.Runner
	shown    string // the note and the tool answers of the last turn

	mu     sync.Mutex // guards learnt
	learnt []backends.Item
}

// ask has one turn with the agent and returns its answer. messages are the conversation, the
// question last.
func (a *assistant) ask(ctx context.Context, messages []adk.Message) (answer string, err error) {
	a.shown = ""
	said, err := demomodel.Messages(a.runner.Run(ctx, messages))
	if err != nil {
		return "", fmt.Errorf("asking the agent: %w", err)
	}
	for _, m := range said {
		answer = m.Content         // the last one is the answer
		if m.Role == schema.Tool { // all tools are memory's
			a.shown += "\n" + m.ToolName + " answered:\n" + m.Content
		}
	}
	return answer, nil
}
