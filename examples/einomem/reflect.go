// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/einomem/einomem/backends/reflection"
)

// tidy prints the plan of a tidying, or carries it out.
func tidy(ctx context.Context, c *call) error {
	r, err := c.reflector()
	if err != nil {
		return err
	}
	plan, err := c.plan(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case !c.dry:
		return c.print(r.Apply(ctx, plan, false))
	case c.json:
		return c.print(plan, nil)
	}
	c.printed = true
	_, err = fmt.Fprint(c.out, plan)
	return err
}

// reflector tidies facts and experience.
func (c *call) reflector() (*reflection.Reflector, error) {
	cfg := &reflection.Config{Backend: c.Backend}
	if c.model != nil {
		cfg.Model = c.model
	}
	return reflection.New(cfg)
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
