// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/transcript"
)

// replay is an agent that lives through a transcript: before each call of its
// model, the context is compacted, and what comes out is what it goes on with.
type replay struct {
	name    string
	config  func(*summariser) (*compaction.Config, error) // nil: nothing is compacted
	spent   *spending                                     // by summaries
	budget  compaction.Budget
	archive *archive.Archive

	context []*schema.Message
	sent    []int // tokens sent to the agent's model, a turn
	calls   int   // of the agent's model
	over    int   // turns with a call that did not fit
	took    []time.Duration
}

// run lives through the turns.
func (r *replay) run(ctx context.Context, turns [][]*schema.Message) error {
	compactor, err := r.compactor()
	if err != nil {
		return err
	}
	for t, turn := range turns {
		sent, over := 0, false
		for _, m := range turn {
			if m.Role == schema.Assistant { // the model is asked for it
				if err := r.compact(ctx, compactor); err != nil {
					return fmt.Errorf("%s, turn %d: %w", r.name, t, err)
				}
				usage := r.budget.Usage(r.context)
				over = over || usage.Over() > 0
				sent += usage.Tokens
				r.calls++
			}
			r.context = append(r.context, m)
		}
		r.sent = append(r.sent, sent)
		if over {
			r.over++
		}
	}
	return nil
}

func (r *replay) compactor() (*compaction.Compactor, error) {
	if r.config == nil {
		return nil, nil
	}
	config, err := r.config(&summariser{spent: r.spent})
	if err != nil {
		return nil, err
	}
	return compaction.New(config)
}

func (r *replay) compact(ctx context.Context, c *compaction.Compactor) error {
	if c == nil {
		return nil
	}
	begin := time.Now()
	result, err := c.Compact(ctx, &compaction.Request{Messages: r.context, Archive: r.archive})
	r.took = append(r.took, time.Since(begin))
	if err != nil && !errors.Is(err, compaction.ErrOver) {
		return err
	}
	if err := transcript.Check(result.Messages); err != nil {
		return err
	}
	r.context = result.Messages
	return nil
}

// replays returns the ways to live through a transcript that are compared.
func replays(b compaction.Budget) []*replay {
	with := func(name string, config func(*summariser) (*compaction.Config, error)) *replay {
		return &replay{name: name, budget: b, spent: &spending{}, config: config}
	}
	return []*replay{
		{name: "none", budget: b, spent: &spending{}},
		with("free steps", func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free()}, nil
		}),
		with("free steps, down to half", func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free(), Trigger: 0.5}, nil
		}),
		with("all steps", func(m *summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Default(m)}, nil
		}),
		with("ReMe, auto", func(m *summariser) (*compaction.Config, error) {
			params := compaction.DefaultParams()
			params.MaxTotalTokens = min(params.MaxTotalTokens, b.Limit())
			params.Budget, params.Model = b, m
			return compaction.ReMe(params)
		}),
	}
}

// replayAll lives through the turns in all ways, each with an archive of its own.
func replayAll(ctx context.Context, b compaction.Budget, turns [][]*schema.Message) (all []*replay, err error) {
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		return nil, err
	}
	all = replays(b)
	for i, r := range all {
		if r.archive, err = archives.Of(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("replay-", i)}); err != nil {
			return nil, err
		}
		if err := r.run(ctx, turns); err != nil {
			return nil, err
		}
	}
	return all, nil
}
