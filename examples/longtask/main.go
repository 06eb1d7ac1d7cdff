// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Longtask shows an agent with a small window that reads many times its size, and still answers
// from its reading:
//
//	go run ./examples/longtask
//
// It reads a pile of made-up reports one by one. Surplus reports leave the context for the
// session's archives. Then the process forgets everything, opens the same file again, and answers
// questions by searching the archives. It prints the size of the context call by call.
//
// OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) choose a model; without a key a small built-in
// one answers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/demomodel/choose"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := &tour{window: 8000, corpus: newCorpus(60, 90), out: os.Stdout}
	if err := t.run(ctx, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "longtask: %s\n", demomodel.ErrorText(err))
		os.Exit(1)
	}
}

// tour is one run of the program.
type tour struct {
	window    int // the model's, in tokens
	corpus    *corpus
	out       io.Writer
	file      string // the file of the memory
	answers   model.ToolCallingChatModel
	summaries model.BaseChatModel // nil: summaries are off
	largest   int                 // tokens in a context
	calls     int                 // of the model, in this turn
}

// run reads everything in one process, so to speak, and asks in the next.
func (t *tour) run(ctx context.Context, stderr io.Writer) error {
	models := &mem0.Config{}
	var err error
	if t.answers, err = choose.Model(ctx, &demomodel.Model{Reads: readReport}, models, stderr); err != nil {
		return err
	}
	t.summaries = models.Model
	dir, err := os.MkdirTemp("", "longtask")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t.file = filepath.Join(dir, "memory.db")
	total := compaction.Estimate(strings.Join(t.corpus.reports, "\n"))
	fmt.Fprintf(t.out, "%d reports of %d tokens together, for a window of %d.\n", len(t.corpus.reports), total, t.window)

	answer, err := t.ask(ctx, "Read all the reports, one after the other, and tell me when you have.")
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "Clerk: %s\n\nAnother process opens the file. It is given nothing but the new message.\n", answer)
	right := 0
	for _, q := range t.corpus.questions {
		answer, err := t.ask(ctx, q.ask)
		if err != nil {
			return err
		}
		mark := "WRONG"
		if strings.Contains(answer, q.answer) {
			mark = "right"
			right++
		}
		fmt.Fprintf(t.out, "Clerk: %s   [%s: it stood in report %d]\n", answer, mark, q.where)
	}
	fmt.Fprintf(t.out, "\n%d of %d right; the largest context had %d tokens.\n", right, len(t.corpus.questions), t.largest)
	if right < len(t.corpus.questions) {
		return errors.New("not every answer was right")
	}
	return nil
}
