// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package assistant is an agent with a memory, as the examples have it. It is all
// that an agent needs: the store alone differs from one example to the other.
package assistant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// Assistant is an agent with a memory, and what has to be closed after it. It has
// one turn at a time.
type Assistant struct {
	store   store.Store
	backend *mem0.Backend
	mem     *middleware.MemoryMiddleware
	runner  *hooks.Runner
	note    string // the last note that memory injected, to show it
}

// Open puts an agent with a memory together: a backend that learns and finds on
// the store, the middleware, and an agent with one line more than usual. The store
// is closed with the assistant, and at once when it cannot be opened. Which model
// answers is told on stderr.
func Open(ctx context.Context, s store.Store, mode modes.Mode, stderr io.Writer) (a *Assistant, err error) {
	a = &Assistant{store: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(ctx))
			a = nil
		}
	}()
	m, err := chooseModels(ctx, mode, stderr)
	if err != nil {
		return a, err
	}
	a.backend, err = mem0.New(ctx, &mem0.Config{Store: s, Model: m.extract, Embedder: m.embedder, EmbeddingModel: m.embedding})
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

// Say has one turn with the agent on behalf of the scope, and returns its answer.
func (a *Assistant) Say(ctx context.Context, scope middleware.Scope, text string) (string, error) {
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

// Note returns what memory put in front of the last turn; empty for nothing.
func (a *Assistant) Note() string { return a.note }

// Memories returns what is remembered of the scope's user. Learning happens in the
// background: this waits for it.
func (a *Assistant) Memories(ctx context.Context, scope middleware.Scope) ([]backends.Memory, error) {
	if err := a.mem.Flush(ctx); err != nil {
		return nil, err
	}
	page, err := a.backend.List(ctx, &backends.ListRequest{Scope: scope})
	if err != nil {
		return nil, err
	}
	return page.Memories, nil
}

// Close waits until everything said is learnt, then closes what there is, in the
// reverse order of Open. It does so even when the context is over, within a minute.
func (a *Assistant) Close(ctx context.Context) error {
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
	return errors.Join(append(errs, a.store.Close())...)
}

// peek keeps the note that memory injected. Only a demonstration needs it.
func (a *Assistant) peek() adk.AgentMiddleware {
	return adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, state *adk.ChatModelAgentState) error {
		for _, m := range state.Messages {
			if m.Role == schema.User && m.Name == "memory" {
				a.note = m.Content
			}
		}
		return nil
	}}
}
