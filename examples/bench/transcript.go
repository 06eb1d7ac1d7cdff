// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/transcript"
)

// transcriptReport is the result of the command transcript.
type transcriptReport struct {
	Turns  int             `json:"turns"`
	Tokens int             `json:"tokens"` // of the whole conversation
	Window int             `json:"window"`
	Limit  int             `json:"limit"` // of the conversation in it
	Rows   []transcriptRow `json:"rows"`
}

// transcriptRow is one way to live through the transcript.
type transcriptRow struct {
	Compaction string          `json:"compaction"`
	Calls      int             `json:"calls"`     // of the agent's model
	Mean       int             `json:"mean"`      // tokens sent to it, a turn
	P95        int             `json:"p95"`       // likewise
	Last       int             `json:"last"`      // in the last turn
	Sent       int             `json:"sent"`      // in all
	Summaries  int             `json:"summaries"` // calls of the model that summarises
	SummaryIn  int             `json:"summary_in"`
	SummaryOut int             `json:"summary_out"`
	Saved      int             `json:"saved"` // tokens that the row "none" needs more, summaries paid
	Over       int             `json:"over"`  // turns with a call that did not fit
	Took       trial.Quantiles `json:"took"`  // by compaction, a call, the stand-in for the model included
}

func transcriptCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("transcript", flag.ContinueOnError)
	flags.SetOutput(errs)
	turns := flags.Int("turns", 200, "how long the conversation is")
	window := flags.Int("window", 32_000, "the model's window in `tokens`")
	seed := flags.Uint64("seed", 1, "what the conversation is made of")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	b, err := compaction.Budget{Window: *window}.WithDefaults()
	if err != nil || *turns <= 0 {
		return fmt.Errorf("%w: -turns is above 0, and -window more than its reserves: %w", errUsage, err)
	}
	r, err := measureTranscript(ctx, b, *turns, *seed)
	if err != nil {
		return err
	}
	return r.print(out, *asJSON)
}

func measureTranscript(ctx context.Context, b compaction.Budget, turns int, seed uint64) (*transcriptReport, error) {
	task := transcript.Task(transcript.Seed(seed), turns)
	all, err := replayAll(ctx, b, task)
	if err != nil {
		return nil, err
	}
	report := &transcriptReport{Turns: turns, Tokens: b.Usage(slices.Concat(task...)).Tokens, Window: b.Window, Limit: b.Limit()}
	for _, r := range all {
		report.Rows = append(report.Rows, r.row())
	}
	none := report.Rows[0].Sent
	for i := range report.Rows {
		row := &report.Rows[i]
		row.Saved = none - row.Sent - row.SummaryIn - row.SummaryOut
	}
	return report, nil
}

func (r *replay) row() transcriptRow {
	row := transcriptRow{
		Compaction: r.name, Calls: r.calls, Last: r.sent[len(r.sent)-1], Over: r.over, Took: trial.QuantilesOf(r.took),
		Summaries: r.spent.calls, SummaryIn: r.spent.in, SummaryOut: r.spent.out,
	}
	for _, n := range r.sent {
		row.Sent += n
	}
	row.Mean = row.Sent / len(r.sent)
	sorted := slices.Sorted(slices.Values(r.sent))
	row.P95 = sorted[int(0.95*float64(len(sorted)-1))]
	return row
}

// print writes the report as JSON or as a table in Markdown.
func (r *transcriptReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	fmt.Fprintf(out, "%d turns of %d tokens in all; a window of %d tokens, %d of them for the conversation. Tokens are estimated.\n\n", r.Turns, r.Tokens, r.Window, r.Limit)
	fmt.Fprintln(out, "| compaction | model calls | tokens a turn, mean | p95 | last | tokens sent | calls for summaries | their tokens | tokens saved | turns that do not fit | compacting, ms a call, p50 | p95 |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, row := range r.Rows {
		saved := 100 * float64(row.Saved) / float64(max(r.Rows[0].Sent, 1))
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %d | %d | %d (%.1f %%) | %d | %.2f | %.2f |\n", row.Compaction, row.Calls,
			row.Mean, row.P95, row.Last, row.Sent, row.Summaries, row.SummaryIn+row.SummaryOut, row.Saved, saved, row.Over, row.Took.P50, row.Took.P95)
	}
	return nil
}
