// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
)

// compactionConfig is what the command compaction measures.
type compactionConfig struct {
	data    string // a file in LoCoMo's format; empty: a made-up chat of that size
	outputs int    // results of tools between the messages
	tokens  int    // of each
	limit   int    // that the context must fit
	runs    int
}

// compactionReport is the result of the command compaction.
type compactionReport struct {
	About []string        `json:"about"`
	Rows  []compactionRow `json:"rows"`
}

// compactionRow is how long the free steps take to make one history fit.
type compactionRow struct {
	History  string          `json:"history"`
	Messages int             `json:"messages"`
	Store    string          `json:"store"`
	Logged   bool            `json:"logged"` // the session's log holds the turns that are over
	Before   int             `json:"before"` // tokens
	After    int             `json:"after"`
	Replaced int             `json:"replaced"`
	Calls    int             `json:"calls"` // of models
	Took     trial.Quantiles `json:"took"`
}

func compactionCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	cfg := &compactionConfig{}
	flags := flag.NewFlagSet("compaction", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&cfg.data, "data", "", "a `file` in LoCoMo's format; without it, a made-up chat of that size")
	flags.IntVar(&cfg.outputs, "outputs", 10, "how many results of tools there are")
	flags.IntVar(&cfg.tokens, "tokens", 50_000, "how many tokens each of them has")
	flags.IntVar(&cfg.limit, "limit", 20_000, "how many tokens the context may have")
	flags.IntVar(&cfg.runs, "runs", 20, "how often each history is compacted, each time into an empty archive")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if min(cfg.outputs, cfg.tokens, cfg.limit, cfg.runs) <= 0 {
		return fmt.Errorf("%w: -outputs, -tokens, -limit and -runs are above 0", errUsage)
	}
	r, err := measureCompaction(ctx, cfg)
	if err != nil {
		return err
	}
	return r.print(out, *asJSON)
}

func measureCompaction(ctx context.Context, cfg *compactionConfig) (*compactionReport, error) {
	histories, err := cfg.histories()
	if err != nil {
		return nil, err
	}
	r := &compactionReport{About: []string{
		fmt.Sprintf("%s, %s/%s, %d processors; %d runs of each sort", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), cfg.runs),
		fmt.Sprintf("%d results of tools of %d tokens each between the messages, a budget of %d; the steps that call no model", cfg.outputs, cfg.tokens, cfg.limit),
		"sqlite: one file, every commit on disk; in the log: the session holds the messages of the turns that are over already, as those of an agent with sessions does",
	}}
	b, err := compaction.Budget{Window: cfg.limit, Answer: -1, Tools: -1, Memories: -1}.WithDefaults()
	if err != nil {
		return nil, err
	}
	for _, place := range []compactionPlace{{name: "memory", open: openMemory}, {name: "sqlite", open: openSQLite}} {
		for _, h := range histories {
			for _, logged := range []bool{false, true} {
				row, err := place.measure(ctx, cfg, b, h, logged)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", place.name, h.name, err)
				}
				r.Rows = append(r.Rows, *row)
			}
		}
	}
	return r, nil
}

// print writes the report as JSON or as a table.
func (r *compactionReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	for _, line := range r.About {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "history\tmessages\tstore\tin the log\ttokens before\tafter\treplaced\tmodel calls\tms p50\tp95\tp99\t")
	for _, row := range r.Rows {
		logged := map[bool]string{true: "yes", false: "no"}[row.Logged]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t\n", row.History, row.Messages, row.Store, logged,
			row.Before, row.After, row.Replaced, row.Calls, row.Took.P50, row.Took.P95, row.Took.P99)
	}
	return w.Flush()
}
