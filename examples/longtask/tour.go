// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
)

// scope is whose session it is: the second process finds it by these names.
var scope = middleware.Scope{UserID: "ann", AgentID: "clerk", SessionID: "reports"}

// tour reads everything in one process, as it were, and asks in the next.
func tour(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	models := &mem0.Config{}
	answers, err := demomodel.Choose(ctx, &demomodel.Model{Reads: readReport}, models, stderr)
	if err != nil {
		return err
	}
	o.answers, o.summaries = answers, models.Model
	dir, err := os.MkdirTemp("", "longtask")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "memory.db")
	c := newCorpus(o.reports, o.words, o.seed)
	total := 0
	for _, r := range c.reports {
		total += compaction.Estimate.Text(r)
	}
	fmt.Fprintf(stdout, "%d reports of %d tokens together, for a window of %d.\n", len(c.reports), total, o.window)

	t := &progress{out: stdout, verbose: o.verbose}
	if err := with(ctx, file, o, c, t, func(k *clerk) error {
		answer, err := k.say(ctx, t, "Read all the reports, one after the other, and tell me when you have.")
		if err == nil {
			fmt.Fprintf(stdout, "Clerk: %s\n", answer)
		}
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nAnother process opens the file. It is given nothing but the new message.\n")
	right := 0
	for _, q := range c.questions {
		if err := with(ctx, file, o, c, t, func(k *clerk) error {
			answer, err := k.say(ctx, t, q.ask)
			mark := "WRONG"
			if strings.Contains(answer, q.answer) {
				mark = "right"
				right++
			}
			fmt.Fprintf(stdout, "Clerk: %s   [%s: it stood in report %d]\n", answer, mark, q.where)
			return err
		}); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "\n%d of %d right; the largest context had %d tokens.\n", right, len(c.questions), t.largest)
	if right < len(c.questions) {
		return errors.New("not every answer was right")
	}
	return nil
}

// with opens a clerk on the file for as long as f works with it.
func with(ctx context.Context, file string, o *options, c *corpus, t *progress, f func(*clerk) error) (err error) {
	k, err := newClerk(ctx, file, o, c, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close(ctx)) }()
	return f(k)
}
