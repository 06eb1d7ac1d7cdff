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
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/transcript"
)

// compactionTimes times the steps of compaction that call no model.
type compactionTimes struct {
	outputs int // results of tools between the messages
	tokens  int // of each
	limit   int // that the context must fit
	runs    int // how often each history is compacted
}

// compactionRow is how long it takes to make one history fit, with every archive on disk.
type compactionRow struct {
	before, after, replaced int
	took                    trial.Quantiles
}

func printCompaction(ctx context.Context, b *bench) error {
	m := &compactionTimes{outputs: 10, tokens: 50_000, limit: 20_000, runs: 20}
	chat := m.withOutputs(transcript.Chat(locomoTurns, locomoTokens))
	r, err := m.compact(ctx, chat)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| messages | tokens before | after | replaced | p50 / p99 ms |\n|---|---|---|---|---|\n| %d | %d | %d | %d | %.1f / %.1f |\n",
		len(chat), r.before, r.after, r.replaced, r.took.P50, r.took.P99)
	return nil
}

// A conversation of LoCoMo has this many turns on average, of about so many tokens
// (its ten conversations, counted by compaction.Estimate).
const (
	locomoTurns  = 588
	locomoTokens = 28
)

// withOutputs puts an exchange with a huge result behind a user's message, as often as
// configured, the last time at the end: there the agent works.
func (m *compactionTimes) withOutputs(chat []*schema.Message) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You are a helpful assistant.")}
	put := 0
	for i, said := range chat {
		out = append(out, said)
		if said.Role == schema.User && put < m.outputs-1 && i*m.outputs >= (put+1)*len(chat)-len(chat)/2 {
			put++
			out = append(out, transcript.Reading(put, m.tokens)...)
		}
	}
	out = append(out, schema.UserMessage("What do the reports have in common?"))
	for ; put < m.outputs; put++ {
		out = append(out, transcript.Reading(put+1, m.tokens)...)
	}
	return out
}

// compact compacts a history some times, each time in a session of its own.
func (m *compactionTimes) compact(ctx context.Context, messages []*schema.Message) (row *compactionRow, err error) {
	s, err := sqliteFile().open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: s})
	if err != nil {
		return nil, err
	}
	compactor, err := compaction.New(&compaction.Config{
		Budget: compaction.Budget{Window: m.limit, Answer: -1, Tools: -1, Memories: -1}, Steps: compaction.Free(),
	})
	if err != nil {
		return nil, err
	}
	row = &compactionRow{}
	var times []time.Duration
	for run := range m.runs {
		x, err := archives.Of(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("run-", run)})
		if err != nil {
			return nil, err
		}
		var result *compaction.Result
		took, err := trial.Time(func() (err error) {
			result, err = compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: x})
			return err
		})
		if err != nil {
			return nil, err
		}
		times = append(times, took)
		row.before, row.after, row.replaced = result.Before.Tokens, result.After.Tokens, 0
		for _, step := range result.Steps {
			row.replaced += step.Replaced
		}
	}
	row.took = trial.QuantilesOf(times)
	return row, nil
}
