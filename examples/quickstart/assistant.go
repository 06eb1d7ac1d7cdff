// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// assistant is an agent with a memory, and what has to be closed after it.
type assistant struct {
	file    *sqlitestore.Store
	backend *mem0.Backend
	mem     *middleware.MemoryMiddleware
	runner  *hooks.Runner
	note    string // the last note that memory injected, to show it
}

// open puts an agent with a memory together: a store, a backend that learns and
// finds, the middleware, and an agent with one line more than usual.
func open(ctx context.Context, path string, mode modes.Mode, stderr io.Writer) (a *assistant, err error) {
	m, err := chooseModels(ctx, mode, stderr)
	if err != nil {
		return nil, err
	}
	a = &assistant{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
			a = nil
		}
	}()
	if a.file, err = sqlitestore.Open(ctx, path, nil); err != nil {
		return a, err
	}
	a.backend, err = mem0.New(ctx, &mem0.Config{Store: a.file, Model: m.extract, Embedder: m.embedder, EmbeddingModel: m.embedding})
	if err != nil {
		return a, err
	}
	a.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: a.backend,
		Mode:    mode,
		TopK:    20, // without a model memories are single messages: short, and many
	})
	if err != nil {
		return a, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "remembers what it is told",
		Instruction: "You are a helpful assistant. Answer in the user's language, in one or two sentences.",
		Model:       m.chat,
		Middlewares: []adk.AgentMiddleware{a.mem.AgentMiddleware(), a.peek()},
	})
	if err != nil {
		return a, err
	}
	a.runner = a.mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}))
	return a, nil
}

// say has one turn with the agent on behalf of the scope.
func (a *assistant) say(ctx context.Context, scope middleware.Scope, text string) (string, error) {
	a.note = ""
	events := a.runner.Query(middleware.WithScope(ctx, scope), text)
	answer := ""
	for {
		event, ok := events.Next()
		if !ok {
			break
		}
		if event.Err != nil {
			return "", fmt.Errorf("asking the agent: %w", event.Err)
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		m, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return "", fmt.Errorf("asking the agent: %w", err)
		}
		if m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
			answer = m.Content
		}
	}
	if answer == "" {
		return "", errors.New("asking the agent: it gave no answer")
	}
	return answer, nil
}

// close waits until everything said is learnt, then closes what open opened, in
// the reverse order. It does so even when the context is over, within a minute.
func (a *assistant) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	if a.mem != nil {
		err := a.mem.Flush(ctx)
		if closed := a.mem.Close(ctx); closed != nil {
			err = closed // it names what Flush could not write, too
		}
		errs = append(errs, err)
	}
	if a.backend != nil {
		errs = append(errs, a.backend.Close(ctx))
	}
	if a.file != nil {
		errs = append(errs, a.file.Close())
	}
	return errors.Join(errs...)
}

// peek keeps the note that memory injected. Only a demonstration needs it.
func (a *assistant) peek() adk.AgentMiddleware {
	return adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, state *adk.ChatModelAgentState) error {
		for _, m := range state.Messages {
			if m.Role == schema.User && m.Name == "memory" {
				a.note = m.Content
			}
		}
		return nil
	}}
}
