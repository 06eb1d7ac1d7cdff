// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Longtask shows an agent with a small window that reads many times what fits in
// it, and still answers from what it has read:
//
//	go run ./examples/longtask
//
// It reads a pile of made-up reports one by one. What does not fit leaves the
// context for the session's archives; then the process forgets everything, opens
// the same file again, and answers questions by searching and paging through what
// left. The size of the context is printed call by call.
//
// OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) has it talk to that model;
// without a key a small built-in one answers.
package main

import (
	"context"
	"errors"
	"flag"
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	window, reports, words int
	seed                   uint64
	verbose                bool
}

// run is the program: 0 is success, 1 a failure, 2 an invalid command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "longtask: %v\nlongtask -h lists the flags\n", err)
		return 2
	}
	if err := (&tour{options: o, out: stdout}).run(ctx, stderr); err != nil {
		fmt.Fprintf(stderr, "longtask: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("longtask", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.window, "window", 8000, "the model's context window, in `tokens`")
	flags.IntVar(&o.reports, "reports", 60, "how many reports there are; at least 8")
	flags.IntVar(&o.words, "words", 900, "how many words a report has, about")
	flags.Uint64Var(&o.seed, "seed", 1, "what the reports are made from")
	flags.BoolVar(&o.verbose, "v", false, "print every call, not only those before which the context shrank")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.reports < 8 || o.words < 50:
		return nil, errors.New("-reports needs at least 8, -words at least 50")
	case o.window < 2000:
		return nil, errors.New("-window needs at least 2000: the tools and the answer take room too")
	}
	return o, nil
}

// tour is one run of the program.
type tour struct {
	options   *options
	out       io.Writer
	corpus    *corpus
	file      string // where the memory is
	answers   model.ToolCallingChatModel
	summaries model.BaseChatModel // nil: nothing is summarised
	largest   int                 // tokens in a context
}

// run reads everything in one process, as it were, and asks in the next.
func (t *tour) run(ctx context.Context, stderr io.Writer) error {
	models := &mem0.Config{}
	var err error
	if t.answers, err = demomodel.Choose(ctx, &demomodel.Model{Reads: readReport}, models, stderr); err != nil {
		return err
	}
	t.summaries = models.Model
	dir, err := os.MkdirTemp("", "longtask")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t.file = filepath.Join(dir, "memory.db")
	t.corpus = newCorpus(t.options.reports, t.options.words, t.options.seed)
	total := compaction.Estimate.Text(strings.Join(t.corpus.reports, "\n"))
	fmt.Fprintf(t.out, "%d reports of %d tokens together, for a window of %d.\n", len(t.corpus.reports), total, t.options.window)

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
