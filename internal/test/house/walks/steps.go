// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

var scope = backends.Scope{UserID: "ann", SessionID: "s1", Workspace: "w"}

// A conversation is a middleware over a backend that knows twenty facts and learns with one
// call of a model.
type conversation struct{ memory *middleware.MemoryMiddleware }

func newConversation(ctx context.Context, file string) (*conversation, error) {
	db, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	backend, err := mem0.New(ctx, &mem0.Config{Store: db, Model: testkit.New(testkit.Learn)})
	if err != nil {
		return nil, err
	}
	for i := range 20 {
		if _, err := backend.Remember(ctx, scope, fmt.Sprintf("Ann keeps %d kayaks in the harbour of town %d", i, i)); err != nil {
			return nil, err
		}
	}
	memory, err := middleware.New(ctx, &middleware.Config{Backend: backend, AwaitWrite: true})
	return &conversation{memory}, err
}

// note is the memory that a question is answered with.
func (c *conversation) note(ctx context.Context, n int) (func() error, error) {
	return func() error {
		messages, err := c.memory.Prepare(ctx, []*schema.Message{schema.UserMessage(fmt.Sprintf("Where does Ann keep her kayaks in town %d?", n))})
		if err != nil {
			return err
		}
		for _, m := range messages {
			if strings.Contains(m.Content, "kayaks in the harbour") {
				return nil
			}
		}
		return errors.New("no message names the kayaks")
	}, nil
}

// fact is a turn that teaches one.
func (c *conversation) fact(ctx context.Context, n int) (func() error, error) {
	text := fmt.Sprintf("Ann's boat number %d is red", n+5)
	turn, err := c.memory.Prepare(ctx, []*schema.Message{schema.UserMessage("FACT " + text)})
	return func() error {
		return c.memory.Finish(ctx, append(turn, schema.AssistantMessage("Noted.", nil)))
	}, err
}

// experience is a backend that learns from trajectories.
type experience struct{ backend *reme.Backend }

func newExperience(ctx context.Context, file string) (*experience, error) {
	db, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	backend, err := reme.New(ctx, &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
	return &experience{backend}, err
}

// lesson is a trajectory that teaches one.
func (e *experience) lesson(ctx context.Context, n int) (func() error, error) {
	request := &task.SummaryRequest{Scope: scope, Trajectories: []task.Trajectory{{TaskID: fmt.Sprint("t", n), Score: 1, Messages: []*schema.Message{
		schema.UserMessage("Refund order 12"),
		schema.AssistantMessage(fmt.Sprintf("LESSON refunding order %d | check the date of purchase first, rule %d", n, n), nil),
	}}}}
	return func() error {
		learnt, err := e.backend.Task().Summarize(ctx, request)
		if err == nil && len(learnt.Memories) == 0 {
			err = errors.New("no task memory was made")
		}
		return err
	}, nil
}
