// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/reflection"
)

// tidy prints the plan of a tidying, carries it out, or takes it back.
func tidy(ctx context.Context, c *call) (err error) {
	both, facts, err := c.both(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, facts.Close(ctx)) }()
	cfg := &reflection.Config{Backend: both}
	if chat, _ := openai.FromEnv(); chat != nil {
		if cfg.Model, err = openai.NewChatModel(ctx, chat); err != nil {
			return err
		}
	}
	r, err := reflection.New(cfg)
	if err != nil {
		return err
	}
	if id := c.String("undo"); id != "" {
		return c.print(r.Undo(ctx, c.whose.Scope(), id, false))
	}
	plan, err := c.plan(ctx, r)
	if err != nil {
		return err
	}
	if c.String("plan") == "" && (c.Bool("dry-run") || !c.Bool("yes")) {
		if c.Bool("json") {
			return c.print(plan, nil)
		}
		_, err = fmt.Fprintf(c.out, "%snothing was done: repeat with -yes, or keep the plan by -json and do it by -plan\n", plan)
		return err
	}
	return c.print(r.Apply(ctx, plan, false))
}

// both returns the facts and the experience of the store as one backend, and the facts to close.
func (c *call) both(ctx context.Context) (both, facts backends.Backend, err error) {
	if facts, err = mem0.New(ctx, &mem0.Config{Store: c.db}); err != nil {
		return nil, nil, err
	}
	return backends.Join(facts, c.reme), facts, nil
}

// plan returns the plan in the file that the flags name, which has to be of the same owner, or
// drafts one.
func (c *call) plan(ctx context.Context, r *reflection.Reflector) (*reflection.Plan, error) {
	file := c.String("plan")
	if file == "" {
		q := &reflection.Request{Scope: c.whose.Scope()}
		for _, rule := range c.StringSlice("rule") {
			q.Rules = append(q.Rules, reflection.Rule(rule))
		}
		return r.Draft(ctx, q)
	}
	plan := &reflection.Plan{}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, plan)
	}
	if err == nil && plan.Partition != *c.whose {
		err = usage("the plan is about %s, and not about %s", where(plan.Partition), where(*c.whose))
	}
	return plan, err
}
